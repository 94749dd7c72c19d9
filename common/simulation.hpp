// simulation.hpp: the program's side of the CPU simulator (simulator/README.md). On a GPU all of this says
// nothing.
#pragma once
#include <cstdint>
#include <string>

#include "../simulator/simulator_api.h"
#include "statistics.hpp"

/// What the simulator counted in one launch of a variant.
using Counts = LadderSimulatorCounts;
inline double per_request(uint64_t count, uint64_t requests) {
    return requests ? static_cast<double>(count) / static_cast<double>(requests) : NOT_KNOWN;
}

/// Are we running under the CPU simulator (simulator/README.md)?
bool simulated();

namespace simulation {

/// Starts this program again under the simulator, with the same arguments. Returns only where that fails: the
/// reason.
std::string start(char** argv);

void reset_counts();
Counts counts();
uint64_t faults();
/// Why the last launch could not be simulated, or null.
const char* not_simulated();

/// The source lines of one variant with their counts, the most expensive first.
std::string explain();

}  // namespace simulation
