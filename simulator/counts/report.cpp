#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <vector>

#include "machine/machine.hpp"
#include "simulator_api.h"

namespace ladder {
namespace {
struct Seen {
    uint64_t times = 0;
    std::string place;
};
std::map<std::pair<std::string, std::string>, Seen>& seen() {
    static auto* all = new std::map<std::pair<std::string, std::string>, Seen>;
    return *all;
}
uint64_t total = 0, suppressed = 0;

/// Faults that the user judges benign: a kind, and a part of the kernel's name or of the place.
struct Suppression {
    std::string kind, text;
};
const std::vector<Suppression>& suppressions() {
    static const auto* all = [] {
        auto* list = new std::vector<Suppression>;
        const char* path = std::getenv("LADDER_SIMULATOR_SUPPRESS");
        if (!path || !*path) return list;
        std::ifstream file(path);
        int number = 0;
        for (std::string line; std::getline(file, line);) {
            ++number;
            if (line.empty() || line[0] == '#') continue;
            const size_t colon = line.find(": ");
            if (colon == std::string::npos || colon + 2 == line.size()) {
                std::fprintf(stderr, "ladder simulator: %s:%d: a line is KIND: TEXT\n", path, number);
                std::_Exit(2);
            }
            list->push_back({line.substr(0, colon), line.substr(colon + 2)});
        }
        if (number == 0) {
            std::fprintf(
                stderr, "ladder simulator: LADDER_SIMULATOR_SUPPRESS: %s cannot be read or is empty\n", path);
            std::_Exit(2);
        }
        return list;
    }();
    return *all;
}
bool is_suppressed(const char* kind, const std::string& kernel, const std::string& place) {
    return std::any_of(suppressions().begin(), suppressions().end(), [&](const Suppression& s) {
        return s.kind == kind &&
               (kernel.find(s.text) != std::string::npos || place.find(s.text) != std::string::npos);
    });
}

/// Counts the fault; true if it is the first at its place.
bool first(const Fault& fault, const std::string& place, int times) {
    total += times;
    Seen& s = seen()[{fault.kind, place}];
    s.times += times;
    s.place = place;
    return s.times == static_cast<uint64_t>(times);
}
void print(const Fault& fault, const std::string& details) {
    std::string allocation = fault.allocation.empty() ? "" : "    allocation  " + fault.allocation + "\n";
    std::fflush(stdout);
    std::fprintf(stderr, "ladder simulator: fault: %s\n%s%s    %s\n", fault.kind, details.c_str(),
                 allocation.c_str(), fault.sentence.c_str());
}
}  // namespace

void report(Warp& w, const Instruction& in, int lane, const Fault& fault, int times) {
    std::string place = source_place(in);
    if (!suppressions().empty() && is_suppressed(fault.kind, readable_name(w.block->launch->name), place)) {
        suppressed += times;
        return;
    }
    if (!first(fault, place, times)) return;
    const unsigned t = w.id * LANES + lane, *b = w.block->id, *d = w.block->launch->block;
    print(fault, say("    kernel      ", readable_name(w.block->launch->name), "\n    at          ", place,
                     "  (", in.text, ")\n    thread      block (", b[0], ",", b[1], ",", b[2], ") thread (",
                     t % d[0], ",", t / d[0] % d[1], ",", t / (d[0] * d[1]), ")\n"));
}

void stop(Warp& w, const Instruction& in, StopCode error, const Fault& fault, int times) {
    report(w, in, w.first(), fault, times);
    throw LaunchStop{error};
}

void report_host(const std::string& call, const Fault& fault) {
    const std::string place = fault.allocation.empty() ? call : call + ", " + fault.allocation;
    if (first(fault, place, 1)) print(fault, "    call        " + call + "\n");
}

void read_suppressions() {
    suppressions();
}

uint64_t fault_count() {
    return total;
}

void print_fault_summary() {
    if (suppressed) std::fprintf(stderr, "ladder simulator: %lu suppressed\n", suppressed);
    if (total == 0) return;
    auto number = [](uint64_t n, const char* of) { return say(n, " ", of, n == 1 ? "" : "s"); };
    std::fprintf(stderr, "ladder simulator: %s at %s\n", number(total, "fault").c_str(),
                 number(seen().size(), "place").c_str());
    for (const auto& [key, s] : seen())
        if (s.times > 1)
            std::fprintf(stderr, "    %s, %s: %lu times\n", key.first.c_str(), s.place.c_str(), s.times);
}
}  // namespace ladder

extern "C" uint64_t ladder_simulator_faults() {
    return ladder::fault_count();
}
