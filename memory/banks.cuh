// banks.cuh: patterns of access to shared memory, and the kernels that measure what one costs. For banks.cu
// and bank_size.cu.
#pragma once
#include <algorithm>
#include <cmath>
#include <set>

#include "memory.cuh"

constexpr int BANKS = 32, BANK_BYTES = 4, SHARED_BYTES = 32 * 1024;
constexpr int LINE = BANKS * BANK_BYTES;  // a word in each bank: what one wavefront can bring
constexpr int STREAM_WARPS = 32;
constexpr int CHAIN = 0, LOADS = 1, STORES = 2;  // which kernel a clock belongs to

/// Which element of shared memory each lane asks for. When all warps store at once, each stores `shift`
/// elements further on, so that no two share one: that turns all banks by the same number, and so changes
/// no conflict.
struct Pattern {
    int element[WARP_SIZE], shift[STREAM_WARPS];
    int distinct;  ///< elements; where lanes share one, nothing is stored: it would be a race
    bool stores() const { return distinct == WARP_SIZE; }
};

template <typename ElementOfLane>
Pattern pattern_of(ElementOfLane element_of_lane) {
    Pattern p{};
    for (int lane = 0; lane < WARP_SIZE; ++lane) p.element[lane] = element_of_lane(lane);
    p.distinct = static_cast<int>(std::set<int>(p.element, p.element + WARP_SIZE).size());
    // The first shift that fits, for one warp after the other.
    std::vector<bool> taken(SHARED_BYTES / sizeof(uint4));
    int shift = 0;
    for (int warp = 0; warp < STREAM_WARPS && p.stores(); ++warp) {
        const auto fits = [&] {
            return std::none_of(p.element, p.element + WARP_SIZE, [&](int e) { return taken.at(e + shift); });
        };
        while (!fits()) ++shift;
        for (const int e : p.element) taken.at(e + shift) = true;
        p.shift[warp] = shift;
    }
    return p;
}

inline Pattern stride_of(int elements) {
    return pattern_of([=](int lane) { return lane * elements; });
}
/// N lanes at N different words of a bank, and the next N lanes in the next bank: elements 32 apart lie in
/// one bank, whatever their size.
inline Pattern ways_of(int n) {
    return pattern_of([=](int lane) { return lane / n + lane % n * WARP_SIZE; });
}

// Volatile for the assembler too (ld.volatile, not only asm volatile). Without it ptxas, which sees that no
// one stores in between, loads once for the whole loop, makes a 16-byte load of which 4 bytes are used a
// 4-byte one, and drops all stores but the last. With it the machine code has an LDS, LDS.64 or LDS.128 for
// each load that is written here, and likewise STS.
__device__ inline void load_shared(uint32_t address, uint32_t& v) {
    asm volatile("ld.volatile.shared.u32 %0, [%1];" : "=r"(v) : "r"(address));
}
__device__ inline void load_shared(uint32_t address, uint2& v) {
    asm volatile("ld.volatile.shared.v2.u32 {%0, %1}, [%2];" : "=r"(v.x), "=r"(v.y) : "r"(address));
}
__device__ inline void load_shared(uint32_t address, uint4& v) {
    asm volatile("ld.volatile.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "r"(address));
}
__device__ inline void store_shared(uint32_t address, uint32_t v) {
    asm volatile("st.volatile.shared.u32 [%0], %1;" ::"r"(address), "r"(v) : "memory");
}
__device__ inline void store_shared(uint32_t address, uint2 v) {
    asm volatile("st.volatile.shared.v2.u32 [%0], {%1, %2};" ::"r"(address), "r"(v.x), "r"(v.y) : "memory");
}
__device__ inline void store_shared(uint32_t address, uint4 v) {
    asm volatile("st.volatile.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(v.x), "r"(v.y),
                 "r"(v.z), "r"(v.w)
                 : "memory");
}

__device__ inline uint32_t first_of(uint32_t v) {
    return v;
}
__device__ inline uint32_t first_of(uint2 v) {
    return v.x;
}
__device__ inline uint32_t first_of(uint4 v) {
    return v.x;
}
__device__ inline void set_all(uint32_t& word, uint32_t v) {
    word = v;
}
__device__ inline void set_all(uint2& word, uint32_t v) {
    word = make_uint2(v, v);
}
__device__ inline void set_all(uint4& word, uint32_t v) {
    word = make_uint4(v, v, v, v);
}

/// Latency: each load gives the address of the next one, a line further on in the same bank. So the pattern
/// stays what it was.
template <typename Word>
__global__ void load_chain(Pattern pattern, int steps, uint32_t* end, long long* clocks) {
    __shared__ __align__(LINE) uint32_t words[SHARED_BYTES / 4];
    const auto base = static_cast<uint32_t>(__cvta_generic_to_shared(words));
    for (int i = threadIdx.x; i < SHARED_BYTES / 4; i += WARP_SIZE)
        words[i] = base + (i * 4 + LINE) % SHARED_BYTES;
    __syncwarp();

    uint32_t address = base + pattern.element[threadIdx.x] * sizeof(Word);
    const long long start = clock64();
#pragma unroll 16
    for (int i = 0; i < steps; ++i) {
        Word v;
        load_shared(address, v);
        address = first_of(v);
    }
    // The store waits for the last load, and the clock is read behind the store.
    *static_cast<volatile uint32_t*>(&end[threadIdx.x]) = address - base;
    const long long stop = clock64();
    if (threadIdx.x == 0) clocks[CHAIN] = stop - start;
}

/// Throughput: all warps load, over and over, and no load waits for another one.
template <typename Word>
__global__ void __launch_bounds__(STREAM_WARPS* WARP_SIZE)
    load_stream(Pattern pattern, int steps, uint32_t* sums, long long* clocks) {
    __shared__ __align__(LINE) uint32_t words[SHARED_BYTES / 4];
    for (int i = threadIdx.x; i < SHARED_BYTES / 4; i += blockDim.x) words[i] = i;
    __syncthreads();

    const auto base = static_cast<uint32_t>(__cvta_generic_to_shared(words));
    const uint32_t address = base + pattern.element[threadIdx.x % WARP_SIZE] * sizeof(Word);
    uint32_t sum = 0;
    const long long start = clock64();
    __syncthreads();  // behind the clock: no other warp is ahead of it
#pragma unroll 8
    for (int i = 0; i < steps; ++i) {
        Word v;
        load_shared(address, v);
        sum += total_of(v);
    }
    *static_cast<volatile uint32_t*>(&sums[threadIdx.x]) = sum;
    __syncthreads();
    const long long stop = clock64();
    if (threadIdx.x == 0) clocks[LOADS] = stop - start;
}

/// The same for stores; each warp has memory of its own.
template <typename Word>
__global__ void __launch_bounds__(STREAM_WARPS* WARP_SIZE)
    store_stream(Pattern pattern, int steps, uint32_t* last, long long* clocks) {
    __shared__ __align__(LINE) uint32_t words[SHARED_BYTES / 4];
    const auto base = static_cast<uint32_t>(__cvta_generic_to_shared(words));
    const int element = pattern.shift[threadIdx.x / WARP_SIZE] + pattern.element[threadIdx.x % WARP_SIZE];
    const uint32_t address = base + element * sizeof(Word);
    Word v;
    set_all(v, threadIdx.x);
    __syncthreads();
    const long long start = clock64();
    __syncthreads();
#pragma unroll 8
    for (int i = 0; i < steps; ++i) store_shared(address, v);
    // A load waits for the stores before it.
    load_shared(address, v);
    *static_cast<volatile uint32_t*>(&last[threadIdx.x]) = total_of(v);
    __syncthreads();
    const long long stop = clock64();
    if (threadIdx.x == 0) clocks[STORES] = stop - start;
}

/// What the programs on banks have in common: --type is the element, --steps the requests of a warp.
class Banks : public Memory {
 public:
    Banks(const char* name, const char* about, int argc, char** argv) : Memory(name, about, argc, argv) {
        program.command_line.types({"float", "double", "float4"});
        program.command_line.size("--steps", steps, 1, 4096, 8, "requests of a warp");
        family.columns = {
            {"load latency", "cycles"}, {"load", "cycles a request"}, {"store", "cycles a request"}};
        family.layout = [this] {
            Layout layout;
            layout.headline = (family.set.empty() ? "shared memory" : family.set) + ", " +
                              program.options.type + ", " + std::to_string(steps) + " requests a warp";
            layout.out = WARP_SIZE + 2 * STREAM_THREADS;
            layout.clocks = 3;
            return layout;
        };
    }

    /// `before` runs ahead of the kernels.
    Entry& pattern(
        const std::string& name, const std::string& note, const Pattern& p,
        const std::function<void()>& before = [] {}) {
        Entry& v = variant(name, note, [=](const Buffers& t) {
            before();
            if (program.options.type == "float") launch<uint32_t>(p, t);
            if (program.options.type == "double") launch<uint2>(p, t);
            if (program.options.type == "float4") launch<uint4>(p, t);
        });
        v.expected = [=](int64_t i) { return expected(p, i); };
        v.read = [=](const std::vector<long long>& clocks) { return readings(p, clocks); };
        return v;
    }

 private:
    static constexpr int STREAM_THREADS = STREAM_WARPS * WARP_SIZE;
    int64_t steps = 1024;

    int element_bytes() const {
        return program.options.type == "float" ? 4 : program.options.type == "double" ? 8 : 16;
    }

    template <typename Word>
    void launch(const Pattern& p, const Buffers& t) const {
        const int n = static_cast<int>(steps);
        load_chain<Word><<<1, WARP_SIZE>>>(p, n, t.out, t.clocks);
        load_stream<Word><<<1, STREAM_THREADS>>>(p, n, t.out + WARP_SIZE, t.clocks);
        if (p.stores())
            store_stream<Word><<<1, STREAM_THREADS>>>(p, n, t.out + WARP_SIZE + STREAM_THREADS, t.clocks);
    }

    uint32_t expected(const Pattern& p, int64_t i) const {
        const auto n = static_cast<uint32_t>(steps), words = static_cast<uint32_t>(element_bytes() / 4);
        const uint32_t first = p.element[i % WARP_SIZE] * words;  // word of the lane's element
        if (i < WARP_SIZE) return (first * 4 + n * LINE) % SHARED_BYTES;
        if (i < WARP_SIZE + STREAM_THREADS) return n * (words * first + words * (words - 1) / 2);
        if (!p.stores()) return 0xFFFFFFFF;  // stays as it was
        return words * static_cast<uint32_t>(i - WARP_SIZE - STREAM_THREADS);
    }

    std::vector<Reading> readings(const Pattern& p, const std::vector<long long>& clocks) const {
        // A wavefront takes a cycle at least, and brings no more than a line.
        const double least = std::max<double>(1, p.distinct * element_bytes() / LINE);
        const auto cycles = [&](int kernel, int of_warps) {
            return static_cast<double>(clocks[kernel]) / static_cast<double>(steps * of_warps);
        };
        return {{cycles(CHAIN, 1), least},
                {cycles(LOADS, STREAM_WARPS), least},
                {p.stores() ? cycles(STORES, STREAM_WARPS) : std::nan(""), least}};
    }
};
