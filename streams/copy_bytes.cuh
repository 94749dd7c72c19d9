// copy_bytes.cuh: bytes to copy, and a copy by the threads of a kernel, from or to memory that is not the GPU's own.
#pragma once
#include <cstdint>
#include <vector>

#include "fill.hpp"

/// n seeded bytes, in ints. None of them is 0xFF: what poison() leaves is wrong in every byte.
inline std::vector<int> seeded_bytes(int64_t n, uint64_t seed) {
    std::vector<int> values(n / 4 + (n % 4 != 0));
    fill_small_integers(values.data(), static_cast<int64_t>(values.size()), 1 << 30, seed);
    for (int& value : values) value &= 0x7F7F7F7F;
    return values;
}

/// Copies n bytes, 16 at a time; both pointers are multiples of 16. Either may be memory of another GPU, or of the host,
/// that is mapped into this GPU's addresses.
__global__ void copy_bytes(const char* from, char* to, int64_t n) {
    const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
    const int64_t thread = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
    for (int64_t i = thread; i < n / 16; i += step)
        reinterpret_cast<uint4*>(to)[i] = reinterpret_cast<const uint4*>(from)[i];
    for (int64_t i = n / 16 * 16 + thread; i < n; i += step) to[i] = from[i];
}
