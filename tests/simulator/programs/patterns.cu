// One warp, one memory access with given offsets: what the chip, or the simulator, charges for it.
//
//   patterns --list    index, pattern and access of each launch, tab-separated; needs no GPU
//   patterns           all launches, in the order of that list: launch number = index
//
// How the counters isolate the access: the offsets come from constant memory, which neither side counts as
// shared or global. A kernel has one access of its kind and direction, and only that counter is looked at:
//   ld.shared    the memory is filled by stores before, the result goes out by a global store
//   st.shared    the load that keeps the compiler from dropping the store stands in a branch that is never
//   taken ld.global    the result goes out by a global store st.global    the value is a constant
// Several lanes of some patterns store to one cell: a race by the rules, whose result nobody reads.
//
// With LADDER_PATTERNS_OUT=FILE under the simulator, FILE gets index, access and value: the wavefronts of the
// shared access, the sectors of the global one.
#include <cuda_runtime.h>
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "../../../simulator/simulator_api.h"

namespace {

constexpr int LANES = 32;
constexpr int ELEMENTS = 1024;  // every offset is smaller; 16 KiB of 16-byte elements
constexpr int MAX_PATTERNS = 128;

struct Pattern {
    std::string name;
    std::vector<int> offsets;  // in elements of the access; negative: the lane does not take part
};

/// None of these is among the patterns from which the rule of counting was drawn.
std::vector<Pattern> makePatterns() {
    std::vector<Pattern> patterns;
    auto add = [&](const std::string& name, const std::function<int(int)>& offset) {
        Pattern pattern{name, {}};
        for (int lane = 0; lane < LANES; ++lane) pattern.offsets.push_back(offset(lane));
        patterns.push_back(pattern);
    };
    for (int stride : {5, 6, 7, 9, 10, 12, 14, 16, 17, 20, 24, 28, 31})
        add("stride " + std::to_string(stride), [=](int l) { return stride * l; });

    add("rotated by 7", [](int l) { return (l + 7) % 32; });
    add("rotated by 20", [](int l) { return (l + 20) % 32; });
    add("times 5 modulo 32", [](int l) { return 5 * l % 32; });
    add("times 11 plus 3 modulo 32", [](int l) { return (11 * l + 3) % 32; });
    add("bits reversed",
        [](int l) { return (l & 1) << 4 | (l & 2) << 2 | (l & 4) | (l & 8) >> 2 | (l & 16) >> 4; });
    for (int bit : {2, 3, 4, 8, 15, 16})
        add("lane xor " + std::to_string(bit), [=](int l) { return l ^ bit; });
    add("halves interleaved", [](int l) { return l % 16 * 2 + l / 16; });
    add("quarters interleaved", [](int l) { return l % 8 * 4 + l / 8; });
    add("reversed, stride 3", [](int l) { return 3 * (31 - l); });

    // Several lanes at one address.
    add("lane / 3", [](int l) { return l / 3; });
    add("lane % 3", [](int l) { return l % 3; });
    add("lane % 5", [](int l) { return l % 5; });
    add("lane % 12", [](int l) { return l % 12; });
    add("half of the warp at 0", [](int l) { return l < 16 ? 0 : l; });
    add("every fourth at 0", [](int l) { return l % 4 == 0 ? 0 : l; });
    add("last lane at 0", [](int l) { return l == 31 ? 0 : l; });
    add("two addresses in one bank", [](int l) { return l % 2 * 32; });
    add("three addresses in one bank", [](int l) { return l % 3 * 32; });
    add("eight addresses in one bank", [](int l) { return l % 8 * 32; });
    add("two addresses, halves", [](int l) { return l / 16 * 32; });

    // The pairings by which wide accesses are merged, and near misses of them.
    add("pairs by bit 0", [](int l) { return l & ~1; });
    add("pairs by bit 1", [](int l) { return l & ~2; });
    add("pairs by bit 2", [](int l) { return l & ~4; });
    add("pairs by bit 3", [](int l) { return l & ~8; });
    add("pairs by bit 4, stride 3", [](int l) { return (l & ~16) * 3; });
    add("pairs by bits 0 and 1", [](int l) { return l & ~3; });
    add("pairs by bits 0 and 2", [](int l) { return l & ~5; });
    add("pairs by bits 1 and 2", [](int l) { return l & ~6; });
    add("bit 0 below 16, bit 1 above", [](int l) { return l < 16 ? l & ~1 : l & ~2; });
    add("bit 0 below 8, bit 1 to 15", [](int l) { return l < 8 ? l & ~1 : l < 16 ? l & ~2 : l; });
    add("bit 0 but for one lane", [](int l) { return l == 9 ? 9 : l & ~1; });
    add("bit 1 but for one lane", [](int l) { return l == 22 ? 22 : l & ~2; });
    add("pairs by bit 0, stride 16", [](int l) { return l / 2 * 16; });
    add("pairs by bit 1, stride 16", [](int l) { return ((l & 1) | l / 4 * 2) * 16; });
    add("pairs by bit 0, stride 32", [](int l) { return l / 2 * 32; });
    add("pairs by bit 1, dense", [](int l) { return (l & 1) | l / 4 * 2; });
    add("pairs by bit 0, odd lanes idle in the upper half",
        [](int l) { return l >= 16 && l % 2 ? -1 : l / 2; });
    add("pairs by bit 1, lanes of one pair idle", [](int l) { return l == 5 || l == 7 ? -1 : l & ~2; });
    add("pairs by bit 0, one partner idle", [](int l) { return l == 12 ? -1 : l / 2 * 4; });

    // Half and quarter warps against each other.
    add("halves one bank apart", [](int l) { return l % 16 + l / 16 * 17; });
    add("second half reversed", [](int l) { return l < 16 ? l : 47 - l; });
    add("quarters 9 apart", [](int l) { return l % 8 + l / 8 * 9; });
    add("quarters 20 apart", [](int l) { return l % 8 + l / 8 * 20; });
    add("odd quarters 32 on", [](int l) { return l % 8 + l / 8 % 2 * 32 + l / 16 * 8; });
    add("stride 4 within quarters", [](int l) { return l % 8 * 4 + l / 8 * 64; });
    add("stride 2 within halves", [](int l) { return l % 16 * 2 + l / 16 * 128; });

    // Some lanes only.
    for (int lanes : {4, 15, 17, 24, 31})
        add("first " + std::to_string(lanes) + " lanes", [=](int l) { return l < lanes ? l : -1; });
    add("upper half", [](int l) { return l >= 16 ? l : -1; });
    add("last lane", [](int l) { return l == 31 ? 31 : -1; });
    add("lanes 0 and 31", [](int l) { return l % 31 == 0 ? l : -1; });
    add("one lane of each quarter", [](int l) { return l % 8 == 0 ? l : -1; });
    add("one lane of each quarter, one bank", [](int l) { return l % 8 == 3 ? l * 32 : -1; });
    add("lanes 1 of 4", [](int l) { return l % 4 == 1 ? l : -1; });
    add("lanes 0 and 1 of 4, dense", [](int l) { return l % 4 < 2 ? l / 4 * 2 + l % 4 : -1; });
    add("lanes 0 to 3 of 8", [](int l) { return l % 8 < 4 ? l : -1; });
    add("odd lanes, stride 32", [](int l) { return l % 2 ? 32 * (l / 2) : -1; });
    add("first and last quarter", [](int l) { return l < 8 || l >= 24 ? 2 * l : -1; });
    add("every third lane", [](int l) { return l % 3 == 0 ? l : -1; });

    // Not on a sector's border, or only in part on it.
    for (int shift : {1, 3, 5, 6, 7, 13})
        add("shifted by " + std::to_string(shift), [=](int l) { return l + shift; });
    add("stride 2 from 1", [](int l) { return 2 * l + 1; });
    add("stride 3 from 5", [](int l) { return 3 * l + 5; });
    add("stride 8 from 7", [](int l) { return 8 * l + 7; });
    add("rows of 5 in 33", [](int l) { return l / 5 * 33 + l % 5; });
    add("rows of 12 in 37", [](int l) { return l / 12 * 37 + l % 12 + 2; });

    // A fixed generator, so that every machine sees the same offsets.
    for (int seed = 1; seed <= 16; ++seed) {
        const int ranges[] = {16, 40, 64, 100, 200, 512, 1000, ELEMENTS};
        int range = ranges[seed % 8];
        bool idle = seed % 4 == 3;
        unsigned state = 2654435761u * unsigned(seed);
        add("random " + std::to_string(seed) + " below " + std::to_string(range) +
                (idle ? ", some idle" : ""),
            [=](int) mutable {
                state = 1664525u * state + 1013904223u;
                return idle && (state >> 30) == 0 ? -1 : int((state >> 8) % unsigned(range));
            });
    }
    return patterns;
}

__constant__ short offsets[MAX_PATTERNS][LANES];

template <class V>
__global__ void sharedLoad(int pattern, V* out) {
    __shared__ V s[ELEMENTS];
    for (int i = threadIdx.x; i < ELEMENTS; i += LANES) s[i] = V{};
    __syncwarp();
    int k = offsets[pattern][threadIdx.x];
    if (k >= 0) out[threadIdx.x] = s[k];
}

template <class V>
__global__ void sharedStore(int pattern, V* out, bool never) {
    __shared__ V s[ELEMENTS];
    int k = offsets[pattern][threadIdx.x];
    if (k >= 0) s[k] = V{};
    __syncwarp();
    if (never) out[threadIdx.x] = s[31 - threadIdx.x];
}

template <class V>
__global__ void globalLoad(int pattern, V* out, V* memory) {
    int k = offsets[pattern][threadIdx.x];
    if (k >= 0) out[threadIdx.x] = memory[k];
}

template <class V>
__global__ void globalStore(int pattern, V* memory) {
    int k = offsets[pattern][threadIdx.x];
    if (k >= 0) memory[k] = V{};
}

const char* const accesses[] = {"ld.shared.4",  "ld.shared.8",  "ld.shared.16", "st.shared.4",
                                "st.shared.8",  "st.shared.16", "ld.global.4",  "ld.global.8",
                                "ld.global.16", "st.global.4",  "st.global.8",  "st.global.16"};

template <class V>
void launchWidth(int kind, int pattern, void* out, void* memory) {
    V *o = static_cast<V*>(out), *m = static_cast<V*>(memory);
    switch (kind) {
        case 0:
            sharedLoad<V><<<1, LANES>>>(pattern, o);
            break;
        case 1:
            sharedStore<V><<<1, LANES>>>(pattern, o, false);
            break;
        case 2:
            globalLoad<V><<<1, LANES>>>(pattern, o, m);
            break;
        case 3:
            globalStore<V><<<1, LANES>>>(pattern, m);
            break;
    }
}

/// `access` is an index into `accesses`: the kind and, within it, the width.
void launch(int access, int pattern, void* out, void* memory) {
    if (access % 3 == 0) launchWidth<float>(access / 3, pattern, out, memory);
    if (access % 3 == 1) launchWidth<float2>(access / 3, pattern, out, memory);
    if (access % 3 == 2) launchWidth<float4>(access / 3, pattern, out, memory);
}

bool check(cudaError_t error) {
    if (error != cudaSuccess) std::fprintf(stderr, "patterns: %s\n", cudaGetErrorString(error));
    return error == cudaSuccess;
}

}  // namespace

int main(int argc, char** argv) {
    const std::vector<Pattern> patterns = makePatterns();
    if (argc == 2 && !std::strcmp(argv[1], "--list")) {
        int index = 0;
        for (const Pattern& pattern : patterns)
            for (const char* access : accesses)
                std::printf("%d\t%s\t%s\n", index++, pattern.name.c_str(), access);
        return 0;
    }

    static short host[MAX_PATTERNS][LANES];
    for (size_t p = 0; p < patterns.size(); ++p) {
        for (int lane = 0; lane < LANES; ++lane) {
            int offset = patterns[p].offsets[lane];
            if (p >= MAX_PATTERNS || offset >= ELEMENTS) {
                std::fprintf(stderr, "patterns: '%s' does not fit\n", patterns[p].name.c_str());
                return 2;
            }
            host[p][lane] = short(offset);
        }
    }
    void *out = nullptr, *memory = nullptr;
    if (!check(cudaMemcpyToSymbol(offsets, host, sizeof host))) return 1;
    if (!check(cudaMalloc(&out, LANES * sizeof(float4)))) return 1;
    if (!check(cudaMalloc(&memory, ELEMENTS * sizeof(float4)))) return 1;
    if (!check(cudaMemset(memory, 0, ELEMENTS * sizeof(float4)))) return 1;

    auto reset = reinterpret_cast<void (*)()>(dlsym(RTLD_DEFAULT, "ladder_simulator_reset_counts"));
    auto read =
        reinterpret_cast<void (*)(LadderSimulatorCounts*)>(dlsym(RTLD_DEFAULT, "ladder_simulator_counts"));
    const char* path = std::getenv("LADDER_PATTERNS_OUT");
    std::FILE* file = path && reset && read ? std::fopen(path, "w") : nullptr;
    if (path && !file) {
        std::fprintf(stderr,
                     "patterns: LADDER_PATTERNS_OUT needs the simulator and a file that can be written\n");
        return 2;
    }

    int index = 0;
    bool ok = true;
    for (size_t p = 0; p < patterns.size(); ++p) {
        for (int access = 0; access < int(std::size(accesses)); ++access, ++index) {
            if (file) reset();
            launch(access, int(p), out, memory);
            ok = check(cudaGetLastError()) && ok;
            if (!file) continue;
            LadderSimulatorCounts counts{};
            read(&counts);
            std::fprintf(file, "%d\t%s\t%llu\n", index, accesses[access],
                         static_cast<unsigned long long>(counts.traffic[access / 3].units));
        }
    }
    ok = check(cudaDeviceSynchronize()) && ok;
    if (file) std::fclose(file);
    ok = check(cudaFree(out)) && ok;
    ok = check(cudaFree(memory)) && ok;
    std::printf("patterns: %d launches, %s\n", index, ok ? "done" : "with errors");
    return ok ? 0 : 1;
}
