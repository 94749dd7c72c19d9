#include "simulation.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

namespace {

// The simulator's function of this name, or null on a GPU.
template <typename Function>
Function* simulator_function(Function*, const char* name) {
    return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}
#define SIMULATOR(name) simulator_function(static_cast<decltype(&name)>(nullptr), #name)

struct Line {
    std::string kernel, file;
    int line;
    LadderSimulatorCounts counts;

    uint64_t sum(uint64_t LadderSimulatorTraffic::*field) const {
        uint64_t all = 0;
        for (const LadderSimulatorTraffic& t : counts.traffic) all += t.*field;
        return all;
    }
    uint64_t requests() const { return sum(&LadderSimulatorTraffic::requests); }
    uint64_t excess() const {
        return sum(&LadderSimulatorTraffic::units) - sum(&LadderSimulatorTraffic::ideal);
    }
};

std::string source_line(const std::string& file, int line) {
    std::ifstream in(file);
    std::string text;
    for (int i = 0; i < line && std::getline(in, text); ++i) {
    }
    return in ? text.substr(std::min(text.find_first_not_of(" \t"), text.size())) : "";
}

}  // namespace

bool simulated() {
    return SIMULATOR(ladder_simulator_counts) != nullptr;
}

std::string simulation::start(char** argv) {
    namespace fs = std::filesystem;
    const char* chosen = std::getenv("LADDER_SIMULATOR");
    const fs::path here = fs::read_symlink("/proc/self/exe").parent_path();
    const fs::path library =
        fs::absolute(chosen ? fs::path(chosen) : here.parent_path() / "simulator/libladder_simulator.so");
    // exec keeps the process id: with this one's in the mark, this is the second start, and the first had no effect.
    const char* mark = "LADDER_SIMULATOR_STARTED";
    const std::string self = std::to_string(getpid());
    if (const char* started = std::getenv(mark); started && started == self)
        return fmt::format("--simulate: {} cannot be preloaded: is it the simulator, built for this machine?",
                           library.string());
    const int file = open(library.c_str(), O_RDONLY);  // stays open over exec
    if (file < 0)
        return fmt::format("--simulate: {}: {} (build the target ladder_simulator)", library.string(),
                           std::strerror(errno));
    // LD_PRELOAD is split at spaces and colons and knows $ORIGIN: the path itself may have all of them.
    std::string preload = fmt::format("/proc/self/fd/{}", file);
    if (const char* others = std::getenv("LD_PRELOAD"); others && *others)
        preload = fmt::format("{}:{}", others, preload);
    setenv("LD_PRELOAD", preload.c_str(), 1);
    setenv(mark, self.c_str(), 1);
    execv("/proc/self/exe", argv);
    return fmt::format("--simulate: cannot start the program again: {}", std::strerror(errno));
}

void simulation::reset_counts() {
    SIMULATOR(ladder_simulator_reset_counts)();
}

Counts simulation::counts() {
    Counts c{};
    SIMULATOR(ladder_simulator_counts)(&c);
    return c;
}

uint64_t simulation::faults() {
    return simulated() ? SIMULATOR(ladder_simulator_faults)() : 0;
}

const char* simulation::not_simulated() {
    return simulated() ? SIMULATOR(ladder_simulator_not_simulated)() : nullptr;
}

std::string simulation::explain() {
    std::vector<Line> lines;
    SIMULATOR(ladder_simulator_visit_lines)
    (
        [](void* context, const char* kernel, const char* file, int line,
           const LadderSimulatorCounts* counts) {
            static_cast<std::vector<Line>*>(context)->push_back({kernel, file, line, *counts});
        },
        &lines);
    lines.erase(std::remove_if(lines.begin(), lines.end(),
                               [](const Line& l) { return !l.requests() && !l.counts.divergent_branches; }),
                lines.end());
    std::sort(lines.begin(), lines.end(), [](const Line& a, const Line& b) {
        return std::make_pair(b.excess(), a.line) < std::make_pair(a.excess(), b.line);
    });
    std::string text;
    for (const Line& l : lines) {
        const auto& c = l.counts;
        text += fmt::format("  {}:{}  {}\n", std::filesystem::path(l.file).filename().string(), l.line,
                            source_line(l.file, l.line));
        for (int k = 0; k < 4; ++k) {
            const LadderSimulatorTraffic& t = c.traffic[k];
            if (!t.requests) continue;
            std::string name = LADDER_SIMULATOR_TRAFFIC[k].name;
            std::replace(name.begin(), name.end(), '_', ' ');
            text += fmt::format("      {}s: {:.2f} {} a request (ideal {:.2f}, {} requests)\n", name,
                                per_request(t.units, t.requests), LADDER_SIMULATOR_TRAFFIC[k].unit,
                                per_request(t.ideal, t.requests), t.requests);
        }
        if (c.divergent_branches)
            text += fmt::format("      branches: {} of {} divergent\n", c.divergent_branches, c.branches);
    }
    return text;
}
