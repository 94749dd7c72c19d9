// fma_ceiling.cuh: what the cores can do. The ceiling of this family: as many multiply-adds as the product takes, in
// registers, nothing else.
#pragma once
#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

#include "device_memory.cuh"
#include "parallel.hpp"
#include "verify.hpp"

constexpr int FMA_THREADS = 512, FMA_BLOCKS_PER_MULTIPROCESSOR = 2;  // 32 warps: eight for each scheduler
constexpr int FMA_CHAINS = 8;  // of each thread, independent of each other: a result takes four cycles

/// Where a chain starts: 32 x FMA_CHAINS different values, so that the host can follow them all.
template <typename T>
__host__ __device__ T fma_start(int lane, int chain) {
    return static_cast<T>(lane * FMA_CHAINS + chain + 1) / static_cast<T>(32 * FMA_CHAINS + 1);
}

/// x becomes x x - 1.9, over and over: it never settles, so that the cores work on changing digits, as they do in a
/// product of random matrices. One rounding a step, the same on every IEEE 754 machine.
template <typename T>
__host__ __device__ T fma_step(T x) {
    if constexpr (std::is_same_v<T, float>)
        return fmaf(x, x, -1.9f);
    else
        return fma(x, x, -1.9);
}

template <typename T>
__global__ void __launch_bounds__(FMA_THREADS) fma_chains(int64_t steps, T* ends) {
    T x[FMA_CHAINS];
#pragma unroll
    for (int c = 0; c < FMA_CHAINS; ++c) x[c] = fma_start<T>(threadIdx.x % 32, c);
#pragma unroll 8
    for (int64_t step = 0; step < steps; ++step)
#pragma unroll
        for (int c = 0; c < FMA_CHAINS; ++c) x[c] = fma_step(x[c]);
    T sum = 0;
#pragma unroll
    for (int c = 0; c < FMA_CHAINS; ++c) sum += x[c];
    ends[blockIdx.x * static_cast<int64_t>(FMA_THREADS) + threadIdx.x] = sum;
}

/// The work of the ceiling, and its check.
template <typename T>
class FmaCeiling {
 public:
    FmaCeiling(double multiplications, int multiprocessors)
        : blocks(FMA_BLOCKS_PER_MULTIPROCESSOR * multiprocessors),
          steps(static_cast<int64_t>(std::ceil(multiplications / (1.0 * blocks * FMA_THREADS * FMA_CHAINS)))),
          ends(int64_t{blocks} * FMA_THREADS) {}

    void launch() { fma_chains<<<blocks, FMA_THREADS>>>(steps, ends.data()); }
    void poison() { ends.poison(); }
    /// Every thread's sum, bit for bit.
    Comparison check() {
        if (want.empty()) {
            want.resize(32);
            parallel_ranges(
                32,
                [&](int64_t begin, int64_t end) {
                    for (int64_t lane = begin; lane < end; ++lane) {
                        T sum = 0;
                        for (int c = 0; c < FMA_CHAINS; ++c) {
                            T x = fma_start<T>(static_cast<int>(lane), c);
                            for (int64_t step = 0; step < steps; ++step) x = fma_step(x);
                            sum += x;
                        }
                        want[lane] = sum;
                    }
                },
                std::max<int64_t>(1, 100000 / (steps + 1)));
        }
        std::vector<T> got(ends.count());
        ends.download(got.data());
        return compare(
            ends.count(), 0, [&](int64_t i) { return got[i]; }, [&](int64_t i) { return want[i % 32]; });
    }

 private:
    const int blocks;
    const int64_t steps;
    DeviceBuffer<T> ends;
    std::vector<T> want;
};
