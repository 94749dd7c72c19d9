// What is kept of the counts for each kernel and line, and how it is told.
#include <cxxabi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "counts.h"

namespace ladder {
Tally* Profile::of(const Function& function) {
    auto& list = functions[&function];
    if (list.empty()) list.resize(function.code.size());
    return list.data();
}

std::map<const Function*, Profile>& profiles() {
    static auto* all = new std::map<const Function*, Profile>;
    return *all;
}
void reset_profiles() { profiles().clear(); }

namespace {
constexpr struct {
    const char* name;
    uint64_t LadderSimulatorCounts::*field;
} kFields[] = {{"shared_load_requests", &LadderSimulatorCounts::shared_load_requests},
               {"shared_load_wavefronts", &LadderSimulatorCounts::shared_load_wavefronts},
               {"shared_load_ideal", &LadderSimulatorCounts::shared_load_ideal},
               {"shared_store_requests", &LadderSimulatorCounts::shared_store_requests},
               {"shared_store_wavefronts", &LadderSimulatorCounts::shared_store_wavefronts},
               {"shared_store_ideal", &LadderSimulatorCounts::shared_store_ideal},
               {"global_load_requests", &LadderSimulatorCounts::global_load_requests},
               {"global_load_sectors", &LadderSimulatorCounts::global_load_sectors},
               {"global_load_ideal", &LadderSimulatorCounts::global_load_ideal},
               {"global_store_requests", &LadderSimulatorCounts::global_store_requests},
               {"global_store_sectors", &LadderSimulatorCounts::global_store_sectors},
               {"global_store_ideal", &LadderSimulatorCounts::global_store_ideal},
               {"branches", &LadderSimulatorCounts::branches},
               {"divergent_branches", &LadderSimulatorCounts::divergent_branches},
               {"warp_instructions", &LadderSimulatorCounts::warp_instructions},
               {"thread_instructions", &LadderSimulatorCounts::thread_instructions},
               {"launches", &LadderSimulatorCounts::launches}};
/// The first fields come in threes, a kind of traffic each: requests, units and ideal.
struct Row {
    const char *what, *unit;
    int field;
};
constexpr Row kRows[] = {{"shared loads", "wavefronts", 0},
                         {"shared stores", "wavefronts", 3},
                         {"global loads", "sectors", 6},
                         {"global stores", "sectors", 9}};

void accumulate(LadderSimulatorCounts& c, const Tally& t) {
    for (const Row& row : kRows) {
        const auto& traffic = t.traffic[row.field / 3];
        c.*kFields[row.field].field += traffic.requests;
        c.*kFields[row.field + 1].field += traffic.units;
        c.*kFields[row.field + 2].field += traffic.ideal;
    }
    c.branches += t.branches;
    c.divergent_branches += t.divergent;
    c.warp_instructions += t.warps;
    c.thread_instructions += t.threads;
}

using Lines = std::map<std::pair<std::string, int>, LadderSimulatorCounts>;

Lines lines_of(const Profile& profile) {
    Lines lines;
    for (const auto& [function, tallies] : profile.functions)
        for (size_t i = 0; i < tallies.size(); ++i) {
            if (!tallies[i].warps) continue;
            const Instruction& in = function->code[i];
            auto& c = lines[{source_file(in), in.line}];
            accumulate(c, tallies[i]);
            c.launches = profile.launches;
        }
    return lines;
}

/// The third of a row's fields is the ideal, the second what it really was.
uint64_t excess(const LadderSimulatorCounts& c) {
    uint64_t sum = 0;
    for (const Row& row : kRows) sum += c.*kFields[row.field + 1].field - c.*kFields[row.field + 2].field;
    return sum;
}

void print_counts(const LadderSimulatorCounts& c) {
    for (const Row& row : kRows)
        if (uint64_t requests = c.*kFields[row.field].field)
            std::printf("    %-14s %12lu requests  %8.2f %s a request (ideal %.2f)\n", row.what, requests,
                        double(c.*kFields[row.field + 1].field) / double(requests), row.unit,
                        double(c.*kFields[row.field + 2].field) / double(requests));
    if (c.branches) std::printf("    %-14s %12lu of %lu\n", "divergent", c.divergent_branches, c.branches);
}
}  // namespace

LadderSimulatorCounts counts_of(const Profile& profile) {
    LadderSimulatorCounts c{};
    for (const auto& [function, tallies] : profile.functions)
        for (const Tally& t : tallies) accumulate(c, t);
    c.launches = profile.launches;
    return c;
}

void log_launch(const std::string& kernel, const LadderSimulatorCounts& before,
                const LadderSimulatorCounts& after) {
    static std::FILE* file = [] {
        const char* path = std::getenv("LADDER_SIMULATOR_LAUNCHES");
        return path ? std::fopen(path, "a") : nullptr;
    }();
    if (!file) return;
    std::fprintf(file, "{\"kernel\": \"%s\"", kernel.c_str());
    for (auto [name, field] : kFields)
        std::fprintf(file, ", \"%s\": %lu", name, after.*field - before.*field);
    std::fputs("}\n", file);
    std::fflush(file);
}

LadderSimulatorCounts total_counts() {
    LadderSimulatorCounts sum{};
    for (const auto& [kernel, profile] : profiles()) {
        LadderSimulatorCounts c = counts_of(profile);
        for (auto [name, field] : kFields) sum.*field += c.*field;
    }
    return sum;
}

std::string readable_name(const std::string& mangled) {
    int status = 0;
    char* text = abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status);
    std::string name = status == 0 ? text : mangled;
    std::free(text);
    int depth = 0;
    for (size_t i = 0; i < name.size(); ++i) {
        if (name.compare(i, 21, "(anonymous namespace)") == 0) i += 21;
        if (name[i] == '<') ++depth;
        if (name[i] == '>') --depth;
        if (name[i] == '(' && depth == 0) {
            name.resize(i);
            break;
        }
    }
    // The result's type comes first where the name is that of a template.
    size_t end = name.find_first_of("< ");
    return end != std::string::npos && name[end] == ' ' ? name.substr(end + 1) : name;
}

void print_profiles() {
    std::printf("\nLadder simulator: what the memory system of an H200 would count (of PTX; no times)\n");
    for (const auto& [kernel, profile] : profiles()) {
        LadderSimulatorCounts c = counts_of(profile);
        std::printf("\n%s: %lu launches, %lu warp instructions, %.1f lanes active\n",
                    readable_name(kernel->name).c_str(), c.launches, c.warp_instructions,
                    double(c.thread_instructions) / double(std::max<uint64_t>(1, c.warp_instructions)));
        print_counts(c);
        Lines lines = lines_of(profile);
        std::vector<Lines::iterator> worst;
        for (auto it = lines.begin(); it != lines.end(); ++it)
            if (excess(it->second) || it->second.divergent_branches) worst.push_back(it);
        std::sort(worst.begin(), worst.end(),
                  [](auto a, auto b) { return excess(a->second) > excess(b->second); });
        for (size_t k = 0; k < std::min<size_t>(worst.size(), 5); ++k) {
            std::printf("  %s:%d\n", worst[k]->first.first.c_str(), worst[k]->first.second);
            print_counts(worst[k]->second);
        }
    }
}
}  // namespace ladder

using namespace ladder;
extern "C" {
void ladder_simulator_reset_counts() { reset_profiles(); }
void ladder_simulator_counts(LadderSimulatorCounts* counts) { *counts = total_counts(); }
void ladder_simulator_visit_lines(void (*visit)(void*, const char*, const char*, int,
                                                const LadderSimulatorCounts*),
                                  void* context) {
    for (const auto& [kernel, profile] : profiles()) {
        std::string name = readable_name(kernel->name);
        for (const auto& [place, counts] : lines_of(profile))
            visit(context, name.c_str(), place.first.c_str(), place.second, &counts);
    }
}
}
