// bandwidth.cu: bytes a second from shared memory, L1, L2 and DRAM.
//
// Idea:   one block of 1024 threads a multiprocessor; each thread has eight loads of 16 bytes in flight. All
//         variants read the same number of bytes; what differs is from how small a region: 64 KB that every
//         block reads over and over stay in L1, 16 MB in L2, and the whole input is in DRAM. The shared
//         variant copies 32 KB to shared memory first.
// B/clk:  bytes a cycle and multiprocessor, by the multiprocessor's own clock: independent of how fast it
//         runs. Shared memory and L1 are one array with one port of 128 bytes, so 128 is the most that either
//         can give.
// GB/s:   over the whole launch, by the harness. All but DRAM's are marked: they do not come from memory.
// Checked: the sum of what each block reads.
// Text 3: "ten times the bandwidth of global memory": the ratio is in the lesson's table.
#include <algorithm>
#include <atomic>

#include "memory.cuh"
#include "parallel.hpp"

constexpr int THREADS = 1024, IN_FLIGHT = 8;
constexpr int64_t VECTOR = sizeof(uint4);
constexpr int64_t L1_REGION = 65536 / VECTOR, L2_REGION = (16 << 20) / VECTOR, SHARED_REGION = 32768 / VECTOR;
constexpr double PORT_BYTES = 128;

// ld.volatile, so that ptxas does not load once what it sees does not change (banks.cuh).
struct FromShared {
    __device__ static uint4 load(const uint4* p) {
        uint4 v;
        asm volatile("ld.volatile.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                     : "r"(static_cast<uint32_t>(__cvta_generic_to_shared(p))));
        return v;
    }
};
struct ThroughL1 {
    __device__ static uint4 load(const uint4* p) { return *p; }
};
struct PastL1 {
    __device__ static uint4 load(const uint4* p) { return __ldcg(p); }
};

/// Which vectors a block reads: round and round a region (a power of two), `shift` further on than the block
/// before; or, where each block has a region of its own, the one that starts at block * own.
struct Round {
    unsigned region, shift;
    int64_t own;
    __host__ __device__ unsigned operator()(int64_t block, unsigned i) const {
        return (i + static_cast<unsigned>(block) * shift) & (region - 1);
    }
};

template <typename From>
__device__ uint32_t read_round(const uint4* data, Round round, unsigned vectors) {
    uint32_t sum = 0;
    unsigned i = threadIdx.x;
#pragma unroll 1
    for (; i + (IN_FLIGHT - 1) * THREADS < vectors; i += IN_FLIGHT * THREADS) {
        uint4 v[IN_FLIGHT];
#pragma unroll
        for (int k = 0; k < IN_FLIGHT; ++k) v[k] = From::load(data + round(blockIdx.x, i + k * THREADS));
#pragma unroll
        for (int k = 0; k < IN_FLIGHT; ++k) sum += v[k].x + v[k].y + v[k].z + v[k].w;
    }
#pragma unroll 1
    for (; i < vectors; i += THREADS) {
        const uint4 v = From::load(data + round(blockIdx.x, i));
        sum += v.x + v.y + v.z + v.w;
    }
    return sum;
}

/// `staged`: the region is copied to shared memory before the clock starts.
template <typename From, bool staged>
__global__ void __launch_bounds__(THREADS)
    read_region(const uint4* in, Round round, unsigned vectors, uint32_t* sums, long long* clocks) {
    __shared__ uint4 tile[staged ? SHARED_REGION : 1];
    __shared__ uint32_t block_sum;
    if (threadIdx.x == 0) block_sum = 0;
    if (staged)
        for (unsigned i = threadIdx.x; i < round.region; i += THREADS) tile[i] = in[i];
    __syncthreads();
    const long long start = clock64();
    __syncthreads();  // behind the clock: no other warp is ahead of it
    const uint32_t sum = read_round<From>(staged ? tile : in + blockIdx.x * round.own, round, vectors);
    atomicAdd(&block_sum, sum);
    __syncthreads();
    const long long stop = clock64();
    if (threadIdx.x == 0) {
        sums[blockIdx.x] = block_sum;
        clocks[blockIdx.x] = stop - start;
    }
}

using Kernel = void (*)(const uint4* in, Round round, unsigned vectors, uint32_t* sums, long long* clocks);

/// The sum of the words that each block reads.
std::vector<uint32_t> reference(Round round, int64_t blocks, int64_t vectors, uint64_t seed) {
    std::vector<std::atomic<uint32_t>> sums(blocks);
    parallel_ranges(blocks * vectors, [&](int64_t begin, int64_t end) {
        for (int64_t at = begin; at < end;) {
            const int64_t block = at / vectors, until = std::min(end, (block + 1) * vectors);
            uint32_t sum = 0;
            for (; at < until; ++at) {
                const int64_t word =
                    4 * (block * round.own + round(block, static_cast<unsigned>(at - block * vectors)));
                for (int w = 0; w < 4; ++w) sum += word_at(seed, word + w);
            }
            sums[block] += sum;
        }
    });
    return {sums.begin(), sums.end()};
}

class Bandwidth : public Memory {
 public:
    Bandwidth(int argc, char** argv)
        : Memory("bandwidth", "Reads as fast as shared memory, L1, L2 and DRAM give.", argc, argv) {
        program.command_line.size("--bytes", bytes, VECTOR, int64_t{1} << 32, 65536,
                                  "that each multiprocessor reads");
        program.sweep_sizes = {"--bytes 8Mi", "--bytes 32Mi"};
        program.test_sizes = {"--bytes 16",    "--bytes 48",     "--bytes 16368",
                              "--bytes 16400", "--bytes 131056", "--bytes 200000"};
        family.ceiling = "dram";
        family.columns = {{"B/clk", "a multiprocessor"}};
        family.layout = [this] {
            Layout layout;
            layout.headline = std::to_string(bytes) + " bytes a multiprocessor";
            layout.in = blocks() * vectors() * 4;
            layout.out = layout.clocks = blocks();
            layout.bytes = layout.working_set = static_cast<double>(blocks() * vectors() * VECTOR);
            return layout;
        };
    }

    /// `round_of`: where the blocks read, once the options are known.
    Entry& reads(const std::string& name, const std::string& note, Kernel kernel,
                 const std::function<Round()>& round_of) {
        Entry& v = variant(name, note, [=](const Buffers& t) {
            // As much L1 as there is, beside what the kernel itself shares.
            CHECK_CUDA_CALL(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                                                 cudaSharedmemCarveoutMaxL1));
            kernel<<<static_cast<unsigned>(blocks()), THREADS>>>(reinterpret_cast<const uint4*>(t.in),
                                                                 round_of(), static_cast<unsigned>(vectors()),
                                                                 t.out, t.clocks);
        });
        v.check = [=](const std::vector<uint32_t>& out) {
            const std::vector<uint32_t> sums =
                reference(round_of(), blocks(), vectors(), program.options.seed);
            return compare(
                blocks(), 0, [&](int64_t b) { return out[b]; }, [&](int64_t b) { return sums[b]; });
        };
        v.read = [=](const std::vector<long long>& clocks) {
            double rate = 0;
            for (const long long c : clocks)
                rate += static_cast<double>(vectors() * VECTOR) / static_cast<double>(c);
            return std::vector<Reading>{{rate / static_cast<double>(blocks()), 0, PORT_BYTES}};
        };
        return v;
    }
    /// Reads a region over and over: it stays where it is said to be.
    void stays(const std::string& name, const std::string& note, Kernel kernel,
               const std::function<Round()>& round_of) {
        reads(name, note, kernel, round_of).working_set = 1;
    }

    int64_t vectors() const { return bytes / VECTOR; }
    int64_t blocks() const { return program.device.multiprocessors; }
    /// As much of the region as there is to read, so that small runs stay small.
    unsigned at_most(int64_t region) const {
        unsigned fits = 1;
        while (2 * fits <= std::min(region, vectors())) fits *= 2;
        return fits;
    }

 private:
    int64_t bytes = 32 << 20;
};

int main(int argc, char** argv) {
    Bandwidth ladder(argc, argv);
    ladder.stays("shared", "32 KB in shared memory", read_region<FromShared, true>, [&] {
        return Round{ladder.at_most(SHARED_REGION), 0, 0};
    });
    ladder.stays("l1", "64 KB, the same for all", read_region<ThroughL1, false>, [&] {
        return Round{ladder.at_most(L1_REGION), 0, 0};
    });
    // Each block starts elsewhere, or all would ask for the same line at once.
    ladder.stays("l2", "16 MB, past L1", read_region<PastL1, false>, [&] {
        const unsigned region = ladder.at_most(L2_REGION);
        return Round{region, region / static_cast<unsigned>(ladder.blocks()), 0};
    });
    ladder
        .reads("dram", "all of the input once: the ceiling", read_region<PastL1, false>,
               [&] {
                   return Round{1u << 31, 0, ladder.vectors()};
               })
        .role = Role::ceiling;
    return ladder.run();
}
