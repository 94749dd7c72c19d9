// latency.cu: how long does a load take, from where?
//
// Idea:   a chain: each load gives the address of the next one, so nothing overlaps, and the time by the
//         number of loads is the latency. The global chains go through all lines of a working set in random
//         order; each launch goes on where the last one stopped. Before the clock is read, all lines are
//         loaded once and half of the chain is followed: where the working set fits, there it is found.
//         global: in L1, then L2, then DRAM; global_l2: never in L1.
// --bytes the working set of the global chains. The sweep's sizes draw the curve.
// near, far: the fastest and the slowest tenth of single loads, with a clock read on either side (so some
//         cycles more than in a chain). In an L2 of two halves the far one answers later.
// ns:     the whole chain by the GPU's timer.
// Checked: where each chain ends.
// Text 3: "20 to 30 times lower than global memory": than loads that miss every cache; an L2 or L1 hit is
// another matter.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "memory.cuh"

constexpr int LINE = 128, SINGLE_LOADS = 1024, THREADS = 256;
constexpr int64_t LARGEST_CACHE = 256 << 20;
constexpr int LINES = 8, HOP = 5;  // the small chains: 1 KB, from line l to line (l + HOP) % LINES
constexpr int CYCLES = 0, NANOSECONDS = 1, SINGLES = 2;  // what lies where in the clocks

__constant__ uint32_t constant_chain[LINES * LINE / 4];  // byte offsets

// Where a load goes. The address of the next one is what it brings, ready to use.
struct Shared {
    using Address = uint32_t;
    __device__ static Address next(Address p) {
        asm volatile("ld.shared.u32 %0, [%1];" : "=r"(p) : "r"(p));
        return p;
    }
};
struct Constant {
    using Address = uint32_t;
    __device__ static Address next(Address p) {
        return *reinterpret_cast<const uint32_t*>(reinterpret_cast<const char*>(constant_chain) + p);
    }
};
struct Global {
    using Address = uint64_t;
    __device__ static Address next(Address p) {
        asm volatile("ld.global.u64 %0, [%1];" : "=l"(p) : "l"(p));
        return p;
    }
};
struct GlobalPastL1 {
    using Address = uint64_t;
    __device__ static Address next(Address p) {
        asm volatile("ld.global.cg.u64 %0, [%1];" : "=l"(p) : "l"(p));
        return p;
    }
};

__device__ inline long long timer_ns() {
    long long ns;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
    return ns;
}

/// Follows a chain: `steps` loads to warm up, `steps` on the clock. The store waits for the last load, and
/// the clock is read behind the store.
template <typename Where>
__device__ typename Where::Address follow(typename Where::Address p, int steps, long long* clocks) {
    __shared__ volatile typename Where::Address last;
    for (int i = 0; i < steps; ++i) p = Where::next(p);
    last = p;
    const long long start_ns = timer_ns(), start = clock64();
#pragma unroll 16
    for (int i = 0; i < steps; ++i) p = Where::next(p);
    last = p;
    const long long stop = clock64(), stop_ns = timer_ns();
    clocks[CYCLES] = stop - start;
    clocks[NANOSECONDS] = stop_ns - start_ns;
    return p;
}

__global__ void shared_latency(int steps, uint32_t* end, long long* clocks) {
    __shared__ uint32_t chain[LINES * LINE / 4];
    const auto base = static_cast<uint32_t>(__cvta_generic_to_shared(chain));
    for (int l = 0; l < LINES; ++l) chain[l * LINE / 4] = base + (l + HOP) % LINES * LINE;
    *end = (follow<Shared>(base, steps, clocks) - base) / LINE;
}

__global__ void constant_latency(int steps, uint32_t* end, long long* clocks) {
    *end = follow<Constant>(0, steps, clocks) / LINE;
}

/// All threads read the working set once, where it can fit into a cache at all; then one of them follows
/// the chain.
template <typename Where>
__global__ void global_latency(const char* base, int64_t lines, uint32_t first, int steps, uint32_t* end,
                               long long* clocks) {
    __shared__ int singles[SINGLE_LOADS];
    __shared__ volatile uint64_t last;
    for (int64_t l = threadIdx.x; l < lines && lines * LINE <= LARGEST_CACHE; l += blockDim.x)
        if (Where::next(reinterpret_cast<uint64_t>(base) + l * LINE) == 0)
            last = 0;  // never so: the load stays
    __syncthreads();
    if (threadIdx.x > 0) return;

    uint64_t p = follow<Where>(reinterpret_cast<uint64_t>(base) + uint64_t{first} * LINE, steps, clocks);
    for (int i = 0; i < SINGLE_LOADS; ++i) {
        const long long start = clock64();
        p = Where::next(p);
        last = p;
        singles[i] = static_cast<int>(clock64() - start);
    }
    for (int i = 0; i < SINGLE_LOADS; ++i) clocks[SINGLES + i] = singles[i];
    *end = static_cast<uint32_t>((p - reinterpret_cast<uint64_t>(base)) / LINE);
}

/// The line at order[k] leads to the one at order[k + 1], the last to the first.
__global__ void link(const uint32_t* order, int64_t lines, char* base) {
    const int64_t k = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (k >= lines) return;
    const uint64_t next =
        reinterpret_cast<uint64_t>(base) + uint64_t{order[k + 1 < lines ? k + 1 : 0]} * LINE;
    *reinterpret_cast<uint64_t*>(base + uint64_t{order[k]} * LINE) = next;
}

class Latency : public Memory {
 public:
    Latency(int argc, char** argv)
        : Memory("latency", "Cycles that a load takes: shared, constant, L1, L2, DRAM.", argc, argv) {
        program.command_line.size("--bytes", bytes, LINE, int64_t{1} << 36, 16384,
                                  "working set of the global chains");
        program.command_line.size("--steps", steps, 1, 1 << 20, 64, "loads on the clock");
        for (const char* size : {"64Ki", "1Mi", "24Mi", "48Mi", "128Mi", "1Gi"})
            program.sweep_sizes.push_back(std::string("--bytes ") + size);
        program.test_sizes = {"--bytes 128 --steps 1", "--bytes 255 --steps 3", "--bytes 256 --steps 17",
                              "--bytes 1000 --steps 5", "--bytes 65536 --steps 40"};
        program.large_sizes = {"--bytes 8Gi"};
        family.columns = {{"latency", "cycles"}, {"time", "ns"}, {"near", "cycles"}, {"far", "cycles"}};
        family.layout = [this] {
            Layout layout;
            layout.headline = std::to_string(bytes) + " bytes, " + std::to_string(steps) + " loads";
            layout.in = bytes / LINE * (LINE / 4);
            layout.clocks = SINGLES + SINGLE_LOADS;
            layout.host_bytes = sizeof(order[0]) * static_cast<double>(bytes / LINE);
            return layout;
        };
        family.fill = [this](const Buffers& t) { link_chains(t); };
    }

    void small_chain(const std::string& name, const std::string& note,
                     void (*kernel)(int, uint32_t*, long long*)) {
        Entry& v = variant(name, note, [=](const Buffers& t) {
            kernel<<<1, 1>>>(static_cast<int>(steps), t.out, t.clocks);
        });
        v.expected = [=](int64_t) { return static_cast<uint32_t>(2 * steps * HOP % LINES); };
        v.read = [=](const std::vector<long long>& clocks) { return readings(clocks, false); };
    }

    void global_chain(const std::string& name, const std::string& note,
                      void (*kernel)(const char*, int64_t, uint32_t, int, uint32_t*, long long*)) {
        Entry& v = variant(name, note, [=](const Buffers& t) {
            // As much L1 as there is.
            CHECK_CUDA_CALL(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                                                 cudaSharedmemCarveoutMaxL1));
            kernel<<<1, THREADS>>>(reinterpret_cast<const char*>(t.in), order.size(), order[position],
                                   static_cast<int>(steps), t.out, t.clocks);
            position = (position + 2 * steps + SINGLE_LOADS) % static_cast<int64_t>(order.size());
        });
        v.expected = [=](int64_t) { return order[position]; };
        v.read = [=](const std::vector<long long>& clocks) { return readings(clocks, true); };
    }

 private:
    int64_t bytes = int64_t{1} << 30, steps = 8192;
    std::vector<uint32_t> order;  ///< of the lines, in the global chain
    /// Where the global chains go on, both from one place: what the one has just loaded must not be what the
    /// other one asks for.
    int64_t position = 0;

    void link_chains(const Buffers& t) {
        std::vector<uint32_t> chain(LINES * LINE / 4, 0);
        for (int l = 0; l < LINES; ++l) chain[l * LINE / 4] = (l + HOP) % LINES * LINE;
        CHECK_CUDA_CALL(cudaMemcpyToSymbol(constant_chain, chain.data(), chain.size() * 4));
        order.resize(t.in_words * 4 / LINE);
        std::iota(order.begin(), order.end(), 0);
        std::shuffle(order.begin(), order.end(), std::mt19937_64(t.seed));
        DeviceBuffer<uint32_t> on_device(static_cast<int64_t>(order.size()));
        on_device.upload(order.data());
        link<<<static_cast<unsigned>(ceil_div(order.size(), 256)), 256>>>(on_device.data(), order.size(),
                                                                          reinterpret_cast<char*>(t.in));
        CHECK_KERNEL();
    }

    std::vector<Reading> readings(const std::vector<long long>& clocks, bool singles) const {
        const auto each = [&](long long total) {
            return static_cast<double>(total) / static_cast<double>(steps);
        };
        std::vector<long long> sorted(clocks.begin() + SINGLES, clocks.end());
        std::sort(sorted.begin(), sorted.end());
        const auto tenth = [&](int n) {
            return singles ? static_cast<double>(sorted[sorted.size() * n / 10]) : std::nan("");
        };
        return {{each(clocks[CYCLES]), 1}, {each(clocks[NANOSECONDS])}, {tenth(1), 1}, {tenth(9), 1}};
    }
};

int main(int argc, char** argv) {
    Latency ladder(argc, argv);
    ladder.small_chain("shared", "a chain in shared memory", shared_latency);
    ladder.small_chain("constant", "a chain in constant memory, 1 KB", constant_latency);
    ladder.global_chain("global", "a chain through --bytes, by L1", global_latency<Global>);
    ladder.global_chain("global_l2", "the same, past L1", global_latency<GlobalPastL1>);
    return ladder.run();
}
