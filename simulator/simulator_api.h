// simulator_api.h: what a program may ask the simulator that it runs under.
//
// The simulator is loaded in the place of libcudart; a program finds these functions by
// dlsym(RTLD_DEFAULT, name) and gets null for each on a real GPU. Plain C types only: nothing of the
// simulator is linked into a program.
#pragma once
#include <cstdint>

extern "C" {

/// What the memory system of the chip would have counted. A request is one warp instruction with at least one
/// active lane. The ideal is the least that the bytes asked for could cost: for shared memory one wavefront
/// for each distinct 128 bytes asked, for global memory one sector for each distinct 32 bytes asked.
struct LadderSimulatorTraffic {
    uint64_t requests, units, ideal;  ///< units: wavefronts of shared memory, sectors of global memory
};
/// The kinds of traffic, as indices of LadderSimulatorCounts::traffic, and what a unit of each is called.
enum LadderSimulatorKind { SHARED_LOAD, SHARED_STORE, GLOBAL_LOAD, GLOBAL_STORE };
constexpr struct {
    const char *name, *unit;
} LADDER_SIMULATOR_TRAFFIC[] = {{"shared_load", "wavefronts"},
                                {"shared_store", "wavefronts"},
                                {"global_load", "sectors"},
                                {"global_store", "sectors"}};
struct LadderSimulatorCounts {
    LadderSimulatorTraffic traffic[4];
    uint64_t branches,
        divergent_branches;  ///< conditional branches run by a warp; those whose lanes disagreed
    uint64_t warp_instructions, thread_instructions;
    uint64_t launches;
};

/// Sets all counts, those of the lines too, to zero. Faults stay.
void ladder_simulator_reset_counts();

/// The sum over all launches since the last reset.
void ladder_simulator_counts(LadderSimulatorCounts* counts);

/// Calls visit once for each source line that a kernel ran since the last reset, in no special order.
/// `kernel` is the demangled name without its parameters, `file` the path that -lineinfo recorded.
void ladder_simulator_visit_lines(void (*visit)(void* context, const char* kernel, const char* file, int line,
                                                const LadderSimulatorCounts* counts),
                                  void* context);

/// The number of faults found since the program began. Their texts go to stderr as they are found.
uint64_t ladder_simulator_faults();

/// Why the last launch could not be simulated ("cp.async.bulk.tensor, vec.cu:41: needs an sm_90 GPU"), or
/// null. Such a launch returned cudaErrorNotSupported and ran nothing.
const char* ladder_simulator_not_simulated();
}
