// simulation.hpp: the program's side of the CPU simulator (simulator/README.md). On a GPU all of this says
// nothing.
#pragma once
#include <cstdint>
#include <string>

#include "benchmark.hpp"

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
