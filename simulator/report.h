// Faults: one clear block of text for each, the same place counted and not repeated.
#pragma once
#include <cstdint>
#include <string>

#include "program.h"

namespace ladder {

struct Fault {
    const char* kind;        ///< "out of bounds"
    std::string sentence;    ///< what is wrong
    std::string allocation;  ///< what memory, or empty
};

/// A fault of a kernel's instruction, found in `lane` of the warp; `times` lanes had it.
void report(Warp& warp, const Instruction& in, int lane, const Fault& fault, int times = 1);
/// A fault of the host program's calls.
void report_host(const std::string& call, const Fault& fault);

uint64_t fault_count();
/// Prints how often each fault was seen again.
void print_fault_summary();

}  // namespace ladder
