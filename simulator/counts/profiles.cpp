#include "counts/profiles.hpp"

#include <cxxabi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

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
void reset_profiles() {
    profiles().clear();
}

namespace {
void accumulate(LadderSimulatorCounts& c, const Tally& t) {
    for (int k = 0; k < 4; ++k) {
        c.traffic[k].requests += t.traffic[k].requests;
        c.traffic[k].units += t.traffic[k].units;
        c.traffic[k].ideal += t.traffic[k].ideal;
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

uint64_t excess(const LadderSimulatorCounts& c) {
    uint64_t sum = 0;
    for (const LadderSimulatorTraffic& t : c.traffic) sum += t.units - t.ideal;
    return sum;
}

void print_counts(const LadderSimulatorCounts& c) {
    for (int k = 0; k < 4; ++k) {
        const LadderSimulatorTraffic& t = c.traffic[k];
        if (!t.requests) continue;
        std::string name = LADDER_SIMULATOR_TRAFFIC[k].name;
        std::replace(name.begin(), name.end(), '_', ' ');
        std::printf("    %-14s %12lu requests  %8.2f %s a request (ideal %.2f)\n", (name + "s").c_str(),
                    t.requests, double(t.units) / double(t.requests), LADDER_SIMULATOR_TRAFFIC[k].unit,
                    double(t.ideal) / double(t.requests));
    }
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
    auto write = [](const std::string& name, uint64_t value) {
        std::fprintf(file, ", \"%s\": %lu", name.c_str(), value);
    };
    for (int k = 0; k < 4; ++k) {
        const std::string name = LADDER_SIMULATOR_TRAFFIC[k].name;
        write(name + "_requests", after.traffic[k].requests - before.traffic[k].requests);
        write(name + "_" + LADDER_SIMULATOR_TRAFFIC[k].unit,
              after.traffic[k].units - before.traffic[k].units);
        write(name + "_ideal", after.traffic[k].ideal - before.traffic[k].ideal);
    }
    write("branches", after.branches - before.branches);
    write("divergent_branches", after.divergent_branches - before.divergent_branches);
    write("warp_instructions", after.warp_instructions - before.warp_instructions);
    write("thread_instructions", after.thread_instructions - before.thread_instructions);
    write("launches", after.launches - before.launches);
    std::fputs("}\n", file);
    std::fflush(file);
}

LadderSimulatorCounts total_counts() {
    LadderSimulatorCounts sum{};
    for (const auto& [kernel, profile] : profiles()) {
        for (const auto& [function, tallies] : profile.functions)
            for (const Tally& t : tallies) accumulate(sum, t);
        sum.launches += profile.launches;
    }
    return sum;
}

std::string readable_name(const std::string& mangled) {
    int status = 0;
    char* text = abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status);
    std::string name = status == 0 ? text : mangled;
    std::free(text);
    const std::string unnamed = "(anonymous namespace)::";
    for (size_t at; (at = name.find(unnamed)) != std::string::npos;) name.erase(at, unnamed.size());
    int depth = 0;
    for (size_t i = 0; i < name.size(); ++i) {
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

std::string readable_variable(const std::string& mangled) {
    int status = 0;
    char* text = abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status);
    if (status != 0) return mangled;
    const std::string name = text;
    std::free(text);
    const size_t scope = name.rfind("::");
    return "shared variable " + (scope == std::string::npos ? name : name.substr(scope + 2));
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
void ladder_simulator_reset_counts() {
    reset_profiles();
}
void ladder_simulator_counts(LadderSimulatorCounts* counts) {
    *counts = total_counts();
}
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
