// What is kept of the counts for each kernel and line, and how it is told.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "counts/counts.hpp"

namespace ladder {
/// The tallies of one kernel: those of its entry function and of the functions that it calls.
struct Profile {
    const Function* kernel = nullptr;
    uint64_t launches = 0;
    std::map<const Function*, std::vector<Tally>> functions;
    Tally* of(const Function& function);
};

/// All kernels since the last reset.
std::map<const Function*, Profile>& profiles();
void reset_profiles();
LadderSimulatorCounts total_counts();
LadderSimulatorCounts counts_of(const Profile& profile);
/// Appends a line of JSON to the file that LADDER_SIMULATOR_LAUNCHES names, if any: what one launch added.
void log_launch(const std::string& kernel, const LadderSimulatorCounts& before,
                const LadderSimulatorCounts& after);
/// "transposeTiled<1>" for a mangled kernel name.
std::string readable_name(const std::string& mangled);
/// "shared variable tile" for the mangled name of a function's variable.
std::string readable_variable(const std::string& mangled);
/// The tables that LADDER_SIMULATOR_REPORT=1 asks for.
void print_profiles();
}  // namespace ladder
