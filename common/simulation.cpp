#include "simulation.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <vector>

#include "../simulator/simulator_api.h"
#include "device_info.hpp"

namespace {

// The simulator's function of this name, or null on a GPU.
template <typename Function>
Function* simulator_function(Function*, const char* name) {
    return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}
#define SIMULATOR(name) simulator_function(static_cast<decltype(&name)>(nullptr), #name)

double per_request(uint64_t count, uint64_t requests) {
    return requests ? static_cast<double>(count) / static_cast<double>(requests)
                    : std::numeric_limits<double>::quiet_NaN();
}

struct Line {
    std::string kernel, file;
    int line;
    LadderSimulatorCounts counts;

    uint64_t excess() const {
        return counts.shared_load_wavefronts - counts.shared_load_ideal + counts.shared_store_wavefronts -
               counts.shared_store_ideal + counts.global_load_sectors - counts.global_load_ideal +
               counts.global_store_sectors - counts.global_store_ideal;
    }
    uint64_t requests() const {
        return counts.shared_load_requests + counts.shared_store_requests + counts.global_load_requests +
               counts.global_store_requests;
    }
};

std::string source_line(const std::string& file, int line) {
    std::ifstream in(file);
    std::string text;
    for (int i = 0; i < line && std::getline(in, text); ++i) {
    }
    return in ? text.substr(std::min(text.find_first_not_of(" \t"), text.size())) : "";
}

std::string access(const char* what, uint64_t requests, uint64_t cost, uint64_t ideal, const char* unit) {
    if (!requests) return "";
    return fmt::format("  {}: {:.2f} {} a request (ideal {:.2f}, {} requests)", what,
                       per_request(cost, requests), unit, per_request(ideal, requests), requests);
}

}  // namespace

std::string simulation::start(char** argv) {
    namespace fs = std::filesystem;
    const char* chosen = std::getenv("LADDER_SIMULATOR");
    const fs::path here = fs::read_symlink("/proc/self/exe").parent_path();
    const fs::path library =
        fs::absolute(chosen ? fs::path(chosen) : here.parent_path() / "simulator/libladder_simulator.so");
    if (!fs::exists(library))
        return fmt::format("--simulate: {} is not there (build the target ladder_simulator)",
                           library.string());
    setenv("LD_PRELOAD", library.c_str(), 1);
    execv("/proc/self/exe", argv);
    return fmt::format("--simulate: cannot start the program again: {}", std::strerror(errno));
}

void simulation::reset_counts() {
    SIMULATOR(ladder_simulator_reset_counts)();
}

Counts simulation::counts() {
    LadderSimulatorCounts c{};
    SIMULATOR(ladder_simulator_counts)(&c);
    return {per_request(c.shared_load_wavefronts, c.shared_load_requests),
            per_request(c.shared_load_ideal, c.shared_load_requests),
            per_request(c.shared_store_wavefronts, c.shared_store_requests),
            per_request(c.shared_store_ideal, c.shared_store_requests),
            per_request(c.global_load_sectors, c.global_load_requests),
            per_request(c.global_load_ideal, c.global_load_requests),
            per_request(c.global_store_sectors, c.global_store_requests),
            per_request(c.global_store_ideal, c.global_store_requests),
            static_cast<int64_t>(c.branches),
            static_cast<int64_t>(c.divergent_branches)};
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
        for (const std::string& what : {access("shared loads", c.shared_load_requests,
                                               c.shared_load_wavefronts, c.shared_load_ideal, "wavefronts"),
                                        access("shared stores", c.shared_store_requests,
                                               c.shared_store_wavefronts, c.shared_store_ideal, "wavefronts"),
                                        access("global loads", c.global_load_requests, c.global_load_sectors,
                                               c.global_load_ideal, "sectors"),
                                        access("global stores", c.global_store_requests,
                                               c.global_store_sectors, c.global_store_ideal, "sectors"),
                                        c.divergent_branches ? fmt::format("  branches: {} of {} divergent",
                                                                           c.divergent_branches, c.branches)
                                                             : ""})
            if (!what.empty()) text += "    " + what + "\n";
    }
    return text;
}
