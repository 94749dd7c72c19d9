#include "report.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <tuple>

#include "machine.h"
#include "simulator_api.h"

namespace ladder {
namespace {

struct Seen {
    uint64_t times = 0;
    std::string place;
};
using Key = std::tuple<std::string, std::string>;
std::map<Key, Seen>& seen() {
    static auto* all = new std::map<Key, Seen>;
    return *all;
}
uint64_t total = 0;

/// Counts the fault; true if it is the first at its place.
bool first(const char* kind, const std::string& place, int times) {
    total += static_cast<uint64_t>(times);
    Seen& s = seen()[{kind, place}];
    bool fresh = s.times == 0;
    s.times += static_cast<uint64_t>(times);
    s.place = place;
    return fresh;
}

}  // namespace

void report(Warp& w, const Instruction& in, int lane, const Fault& fault, int times) {
    const Launch& launch = *w.block->launch;
    std::string place = source_place(in);
    if (!first(fault.kind, place, times)) return;
    unsigned t = static_cast<unsigned>(w.id * kLanes + std::max(lane, 0));
    const unsigned *b = w.block->id, *d = launch.block;
    std::fflush(stdout);
    std::fprintf(stderr,
                 "ladder simulator: fault: %s\n"
                 "    kernel      %s\n"
                 "    at          %s  (%s)\n"
                 "    thread      block (%u,%u,%u) thread (%u,%u,%u)\n",
                 fault.kind, readable_name(launch.name).c_str(), place.c_str(), in.text.c_str(), b[0], b[1],
                 b[2], t % d[0], t / d[0] % d[1], t / (d[0] * d[1]));
    if (!fault.allocation.empty()) std::fprintf(stderr, "    allocation  %s\n", fault.allocation.c_str());
    std::fprintf(stderr, "    %s\n", fault.sentence.c_str());
}

void report_host(const std::string& call, const Fault& fault) {
    if (!first(fault.kind, call + fault.allocation, 1)) return;
    std::fflush(stdout);
    std::fprintf(stderr, "ladder simulator: fault: %s\n    call        %s\n", fault.kind, call.c_str());
    if (!fault.allocation.empty()) std::fprintf(stderr, "    allocation  %s\n", fault.allocation.c_str());
    std::fprintf(stderr, "    %s\n", fault.sentence.c_str());
}

uint64_t fault_count() {
    return total;
}

void print_fault_summary() {
    if (total == 0) return;
    std::fprintf(stderr, "ladder simulator: %lu faults at %zu places\n", static_cast<unsigned long>(total),
                 seen().size());
    for (const auto& [key, s] : seen())
        if (s.times > 1)
            std::fprintf(stderr, "    %s, %s: %lu times\n", std::get<0>(key).c_str(), s.place.c_str(),
                         static_cast<unsigned long>(s.times));
}

}  // namespace ladder

extern "C" uint64_t ladder_simulator_faults() {
    return ladder::fault_count();
}
