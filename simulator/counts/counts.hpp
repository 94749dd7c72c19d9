// What the memory system of the chip would count for one warp's access, and the tallies kept of it.
#pragma once
#include <cstdint>

#include "ptx/program.hpp"
#include "simulator_api.h"

namespace ladder {
/// Shared memory: the wavefronts of one access, 32 banks of 4 bytes. Lanes outside of `active` are ignored.
int shared_wavefronts(const uint64_t* address, Mask active, int bytes, bool load);
/// Global memory: how many different 32-byte sectors one access touches.
int global_sectors(const uint64_t* address, Mask active, int bytes);
/// How many different bytes the lanes ask for.
int distinct_bytes(const uint64_t* address, Mask active, int bytes);

/// Which of the counts an instruction's memory accesses belong to: the rows of LADDER_SIMULATOR_TRAFFIC.
enum class Traffic : uint8_t { SharedLoad, SharedStore, GlobalLoad, GlobalStore, Kinds };

/// Everything counted for one instruction of one kernel.
struct Tally {
    uint64_t warps = 0, threads = 0, branches = 0, divergent = 0;
    LadderSimulatorTraffic traffic[static_cast<int>(Traffic::Kinds)] = {};

    void add(Traffic kind, const uint64_t* address, Mask active, int bytes);
};

}  // namespace ladder
