// Copies under way to shared memory, and the mbarriers at which they land.
#pragma once
#include "access.h"
#include "opcodes.h"

namespace ladder {
/// Issues a lane's copy of `bytes` to `offset` in a block's shared memory. Behind the first `valid` bytes come zeros. It
/// lands when the phase of `by` completes; without one, when its group is waited for.
void issue(Warp& w, const Instruction& in, int lane, Block* to, uint64_t offset, const char* from, int bytes,
           int valid, Mbarrier* by);

/// The mbarrier that a lane's address names. Stops the launch if there is none.
Mbarrier& mbarrier_at(Warp& w, const Instruction& in, int lane, Reach& r);
/// Goes on to the next phase if nothing is missing, and lands what waited for it.
void complete_phase(Warp& w, Mbarrier& m);

/// cp.async.bulk, of bytes and of boxes of a tensor.
Handler select_bulk(Opcode& op);
}  // namespace ladder
