// The opcodes that integers and floats share, as integers do them.
#pragma once
#include "opcodes.h"

namespace ladder {

Handler integer_add(Opcode& op);
Handler integer_sub(Opcode& op);
Handler integer_mul(Opcode& op);
Handler integer_mad(Opcode& op);
Handler integer_div(Opcode& op);
Handler integer_min(Opcode& op);
Handler integer_max(Opcode& op);
Handler integer_neg(Opcode& op);
Handler integer_abs(Opcode& op);

}  // namespace ladder
