// advance.cuh: the kernel of this family's pipelines and chains.
#pragma once
#include "advance.hpp"
#include "grid.cuh"

constexpr int THREADS = 256;

/// Blocks of THREADS for one element a thread.
inline unsigned blocks_for(int64_t elements) {
    return static_cast<unsigned>(ceil_div(elements, THREADS));
}

/// c = a after `rounds` such steps: a kernel that takes as long as it is told.
__global__ void advance(const int* a, int* c, int64_t n, int rounds) {
    const int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
    if (i >= n) return;
    uint32_t x = static_cast<uint32_t>(a[i]);
    for (int r = 0; r < rounds; ++r) x = x * MULTIPLIER + INCREMENT;
    c[i] = static_cast<int>(x);
}
