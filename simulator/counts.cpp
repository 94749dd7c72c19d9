#include "counts.h"

#include <cxxabi.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>

namespace ladder {
namespace {

constexpr int kBanks = 32, kSector = 32, kWavefrontBytes = 128;

bool contiguous(const uint64_t* address, Mask active, int bytes) {
    if (active != ~0u) return false;
    bool all = true;
    for (int l = 0; l < kLanes; ++l) all &= address[l] == address[0] + static_cast<uint64_t>(l) * bytes;
    return all;
}

/// The most different words that any bank is asked for.
int busiest_bank(const uint64_t* address, Mask active, int bytes) {
    uint32_t words[kBanks][kBanks * 4];
    uint8_t used[kBanks] = {};
    int worst = 0;
    for (; active; active &= active - 1) {
        int l = std::countr_zero(active);
        for (uint64_t w = address[l] / 4, end = (address[l] + bytes - 1) / 4; w <= end; ++w) {
            int bank = static_cast<int>(w % kBanks), k = 0;
            while (k < used[bank] && words[bank][k] != static_cast<uint32_t>(w)) ++k;
            if (k < used[bank]) continue;
            words[bank][used[bank]++] = static_cast<uint32_t>(w);
            worst = std::max<int>(worst, used[bank]);
        }
    }
    return worst;
}

/// Do all active lanes of `part` name the same address as their neighbour lane^distance, where that one is
/// active?
bool paired(const uint64_t* address, Mask active, Mask part, int distance) {
    for (Mask m = active & part; m; m &= m - 1) {
        int l = std::countr_zero(m), other = l ^ distance;
        if ((active >> other & 1) && address[other] != address[l]) return false;
    }
    return true;
}

}  // namespace

// Wide accesses go in parts: 8 bytes by half warps, 16 bytes by quarter warps. Measured on an H200: a load of
// which all neighbours (lane^1, or lane^2) agree is served in half as many parts.
int shared_wavefronts(const uint64_t* address, Mask active, int bytes, bool load) {
    if (contiguous(address, active, bytes)) return bytes <= 4 ? 1 : bytes / 4;
    if (bytes <= 4) return busiest_bank(address, active, bytes);
    auto merges = [&](Mask part) {
        return load && (paired(address, active, part, 1) || paired(address, active, part, 2));
    };
    int total = 0;
    if (bytes == 8) {
        if (merges(~0u)) return busiest_bank(address, active, bytes);
        for (Mask half : {0x0000ffffu, 0xffff0000u}) total += busiest_bank(address, active & half, bytes);
        return total;
    }
    for (Mask half : {0x0000ffffu, 0xffff0000u}) {
        if (merges(half)) {
            total += busiest_bank(address, active & half, bytes);
            continue;
        }
        for (Mask quarter : {half & 0x00ff00ffu, half & 0xff00ff00u})
            total += busiest_bank(address, active & quarter, bytes);
    }
    return total;
}

int global_sectors(const uint64_t* address, Mask active, int bytes) {
    if (contiguous(address, active, bytes))
        return static_cast<int>((address[kLanes - 1] + bytes - 1) / kSector - address[0] / kSector + 1);
    uint64_t sectors[kLanes * 2];
    int n = 0;
    bool sorted = true;
    for (; active; active &= active - 1) {
        int l = std::countr_zero(active);
        for (uint64_t s = address[l] / kSector, end = (address[l] + bytes - 1) / kSector; s <= end; ++s) {
            if (n && sectors[n - 1] == s) continue;
            sorted &= !n || sectors[n - 1] < s;
            sectors[n++] = s;
        }
    }
    if (sorted) return n;
    std::sort(sectors, sectors + n);
    return static_cast<int>(std::unique(sectors, sectors + n) - sectors);
}

int distinct_bytes(const uint64_t* address, Mask active, int bytes) {
    if (contiguous(address, active, bytes)) return kLanes * bytes;
    uint64_t sorted[kLanes];
    int n = 0, total = 0;
    for (; active; active &= active - 1) sorted[n++] = address[std::countr_zero(active)];
    std::sort(sorted, sorted + n);
    for (int k = 0; k < n; ++k)
        total += k + 1 < n ? static_cast<int>(std::min<uint64_t>(bytes, sorted[k + 1] - sorted[k])) : bytes;
    return total;
}

void Tally::add(Traffic kind, const uint64_t* address, Mask active, int bytes) {
    auto& t = traffic[static_cast<int>(kind)];
    bool shared = kind == Traffic::SharedLoad || kind == Traffic::SharedStore;
    int unit = shared ? kWavefrontBytes : kSector;
    ++t.requests;
    t.units += shared ? shared_wavefronts(address, active, bytes, kind == Traffic::SharedLoad)
                      : global_sectors(address, active, bytes);
    t.ideal += (distinct_bytes(address, active, bytes) + unit - 1) / unit;
}

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

void accumulate(LadderSimulatorCounts& c, const Tally& t) {
    const auto& [sl, ss, gl, gs] = t.traffic;
    c.shared_load_requests += sl.requests;
    c.shared_load_wavefronts += sl.units;
    c.shared_load_ideal += sl.ideal;
    c.shared_store_requests += ss.requests;
    c.shared_store_wavefronts += ss.units;
    c.shared_store_ideal += ss.ideal;
    c.global_load_requests += gl.requests;
    c.global_load_sectors += gl.units;
    c.global_load_ideal += gl.ideal;
    c.global_store_requests += gs.requests;
    c.global_store_sectors += gs.units;
    c.global_store_ideal += gs.ideal;
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
            auto file = function->module->files.find(in.file);
            auto& c = lines[{file == function->module->files.end() ? "?" : file->second, in.line}];
            accumulate(c, tallies[i]);
            c.launches = profile.launches;
        }
    return lines;
}

uint64_t excess(const LadderSimulatorCounts& c) {
    return c.shared_load_wavefronts - c.shared_load_ideal + c.shared_store_wavefronts - c.shared_store_ideal +
           c.global_load_sectors - c.global_load_ideal + c.global_store_sectors - c.global_store_ideal;
}

void print_row(const char* what, uint64_t requests, uint64_t units, uint64_t ideal, const char* unit) {
    if (requests == 0) return;
    std::printf("    %-14s %12lu requests  %8.2f %s a request (ideal %.2f)\n", what,
                static_cast<unsigned long>(requests), double(units) / double(requests), unit,
                double(ideal) / double(requests));
}

void print_counts(const LadderSimulatorCounts& c) {
    print_row("shared loads", c.shared_load_requests, c.shared_load_wavefronts, c.shared_load_ideal,
              "wavefronts");
    print_row("shared stores", c.shared_store_requests, c.shared_store_wavefronts, c.shared_store_ideal,
              "wavefronts");
    print_row("global loads", c.global_load_requests, c.global_load_sectors, c.global_load_ideal, "sectors");
    print_row("global stores", c.global_store_requests, c.global_store_sectors, c.global_store_ideal,
              "sectors");
    if (c.branches)
        std::printf("    %-14s %12lu of %lu\n", "divergent", static_cast<unsigned long>(c.divergent_branches),
                    static_cast<unsigned long>(c.branches));
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
#define FIELD(name) \
    std::fprintf(file, ", \"" #name "\": %lu", static_cast<unsigned long>(after.name - before.name));
    FIELD(shared_load_requests)
    FIELD(shared_load_wavefronts)
    FIELD(shared_load_ideal)
    FIELD(shared_store_requests)
    FIELD(shared_store_wavefronts)
    FIELD(shared_store_ideal)
    FIELD(global_load_requests)
    FIELD(global_load_sectors)
    FIELD(global_load_ideal)
    FIELD(global_store_requests)
    FIELD(global_store_sectors)
    FIELD(global_store_ideal)
    FIELD(branches)
    FIELD(divergent_branches)
    FIELD(warp_instructions)
    FIELD(thread_instructions)
    FIELD(launches)
#undef FIELD
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
    for (size_t i = 0; i < name.size(); ++i) {
        if (name[i] == '<') break;
        if (name[i] == ' ') return name.substr(i + 1);
    }
    return name;
}

void print_profiles() {
    std::printf("\nLadder simulator: what the memory system of an H200 would count (of PTX; no times)\n");
    for (const auto& [kernel, profile] : profiles()) {
        LadderSimulatorCounts c = counts_of(profile);
        std::printf("\n%s: %lu launches, %lu warp instructions, %.1f lanes active\n",
                    readable_name(kernel->name).c_str(), static_cast<unsigned long>(c.launches),
                    static_cast<unsigned long>(c.warp_instructions),
                    c.warp_instructions ? double(c.thread_instructions) / double(c.warp_instructions) : 0.0);
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
