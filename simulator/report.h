// Faults: one clear block of text for each, the same place counted and not repeated.
#pragma once
#include <cstdint>
#include <string>

#include "program.h"

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
    kErrorIllegalAddress = 700,
    kErrorLaunchTimeout = 702,
    kErrorAssert = 710,
    kErrorIllegalInstruction = 715,
    kErrorMisaligned = 716,
    kErrorLaunchFailure = 719
};

/// A fault of a kernel's instruction, found in `lane` of the warp; `times` lanes had it.
void report(Warp& warp, const Instruction& in, int lane, const Fault& fault, int times = 1);
/// The same, in the first executing lane; it ends the launch.
[[noreturn]] void stop(Warp& warp, const Instruction& in, StopCode error, const Fault& fault, int times = 1);
/// A fault of the host program's calls.
void report_host(const std::string& call, const Fault& fault);

uint64_t fault_count();
/// Prints how often each fault was seen again.
void print_fault_summary();

/// Texts and numbers, one after the other.
template <class... Parts> std::string say(const Parts&... parts) {
    std::string text;
    auto add = [&](const auto& part) {
        if constexpr (std::is_arithmetic_v<std::decay_t<decltype(part)>>) text += std::to_string(part);
        else text += part;
    };
    (add(parts), ...);
    return text;
}
}  // namespace ladder
