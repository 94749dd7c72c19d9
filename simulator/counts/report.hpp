// Faults: one clear block of text for each, the same place counted and not repeated.
#pragma once
#include <cstdint>
#include <string>

#include "ptx/program.hpp"

namespace ladder {
struct Fault {
    const char* kind;             ///< "out of bounds"
    std::string sentence;         ///< what is wrong
    std::string allocation = {};  ///< what memory, or empty
};

/// Thrown to end a launch after a fault; the code is a cudaError_t.
struct LaunchStop {
    int error;
};
enum StopCode : int {
    ERROR_ILLEGAL_ADDRESS = 700,
    ERROR_LAUNCH_TIMEOUT = 702,
    ERROR_ASSERT = 710,
    ERROR_ILLEGAL_INSTRUCTION = 715,
    ERROR_MISALIGNED = 716,
    ERROR_LAUNCH_FAILURE = 719
};

/// A fault of a kernel's instruction, found in `lane` of the warp; `times` lanes had it.
void report(Warp& warp, const Instruction& in, int lane, const Fault& fault, int times = 1);
/// The same, in the first executing lane; it ends the launch.
[[noreturn]] void stop(Warp& warp, const Instruction& in, StopCode error, const Fault& fault, int times = 1);
/// A fault of the host program's calls.
void report_host(const std::string& call, const Fault& fault);

/// Reads the file that LADDER_SIMULATOR_SUPPRESS names, if any. A bad one ends the program with 2.
void read_suppressions();

uint64_t fault_count();
/// Prints how often each fault was seen again.
void print_fault_summary();

/// Texts and numbers, one after the other.
template <class... Parts>
std::string say(const Parts&... parts) {
    std::string text;
    auto add = [&](const auto& part) {
        if constexpr (std::is_arithmetic_v<std::decay_t<decltype(part)>>)
            text += std::to_string(part);
        else
            text += part;
    };
    (add(parts), ...);
    return text;
}
}  // namespace ladder
