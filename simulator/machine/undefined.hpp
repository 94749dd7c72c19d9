// Values that nothing has defined: those that a shuffle takes from a lane that takes no part, and local
// variables that are read before they are written. They may travel through registers; a fault is their use: a
// store, an address, a branch.
#pragma once
#include "machine/warp.hpp"

namespace ladder {
/// Says of which executing lanes a register's value is undefined, and by which instruction; of the others it
/// is not.
void set_undefined(Warp& w, int offset, Mask lanes, const Instruction& by);
/// The lanes in which a register's value is undefined.
Mask undefined_lanes(const Warp& w, int offset);

/// Before an instruction runs: the lanes in which what it makes is undefined, since what it takes is. Reports
/// a use.
void follow_undefined(Warp& w, const Instruction& in);
/// The same for an exchange between lanes, when it is complete: one lane's undefined value makes all
/// results so.
void follow_exchange(Warp& w, const Instruction& in);
/// The lanes whose value in `offset` is undefined when a kernel stores it. Reported for memory that
/// others see.
Mask store_undefined(Warp& w, const Instruction& in, int offset, bool seen_by_others);
}  // namespace ladder
