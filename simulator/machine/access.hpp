// From the addresses of 32 lanes to host memory, with every check on the way.
#pragma once
#include "machine/machine.hpp"

namespace ladder {
/// Where the lanes of one access reach.
struct Reach {
    uint64_t address[LANES];  ///< global: as asked for; shared: offset in the block's memory
    char* host[LANES];
    Region* region[LANES];  ///< null for local memory and parameters
    Block* owner[LANES];    ///< whose shared memory it is, or null
    Space space;            ///< of the first active lane
};

/// Resolves the addresses of the executing lanes. Reports what is wrong with them and throws LaunchStop.
void reach(Warp& w, const Instruction& in, int which, int bytes, Reach& r);
/// The same for addresses that are in `r` already.
void resolve(Warp& w, const Instruction& in, Space space, int bytes, Reach& r);
/// The addresses that an operand names.
void compute_addresses(Warp& w, const Address& a, Reach& r);

/// Checks one access for races, bytes never written and copies in flight, and notes what it writes.
void observe(Warp& w, const Instruction& in, Reach& r, int bytes, bool reads, bool writes);
/// The same for one lane.
void observe_lane(Warp& w, const Instruction& in, Reach& r, int lane, int bytes, bool reads, bool writes);

/// Local memory: the lanes whose `bytes` at `at` of the access nothing has written; and that all lanes but
/// those of `undefined` have written them.
Mask unwritten_local(Warp& w, const Reach& r, int at, int bytes);
void write_local(Warp& w, const Reach& r, int at, int bytes, Mask undefined);
/// Forgets what the executing lanes wrote to a part of their local memory.
void forget_local(Warp& w, size_t begin, size_t end);

/// Counts the access for its source line.
void count(Warp& w, const Reach& r, int bytes, bool load);

/// All of it for a load or a store.
void access(Warp& w, const Instruction& in, int which, int bytes, bool load, Reach& r);

/// Host memory of a lane's generic address with `bytes` readable, or null.
char* host_of(Warp& w, int lane, uint64_t generic, size_t bytes);
}  // namespace ladder
