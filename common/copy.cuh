// copy.cuh: the copy that memory-bound families are measured against: bytes in, the same bytes out.
#pragma once
#include "grid.cuh"

/// Copies `bytes` (a multiple of 4), one Word a thread: 4, 8 or 16 bytes. With 16 it is as fast as bytes
/// move.
template <typename Word>
__global__ void copy_words(const void* in, void* out, int64_t bytes) {
    const int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
    const int64_t words = bytes / sizeof(Word);
    if (i < words) {
        static_cast<Word*>(out)[i] = static_cast<const Word*>(in)[i];
    } else {
        // Up to three threads more copy what is left, 4 bytes each.
        const int64_t rest = words * (sizeof(Word) / 4) + (i - words);
        if (rest < bytes / 4) static_cast<uint32_t*>(out)[rest] = static_cast<const uint32_t*>(in)[rest];
    }
}

template <typename Word>
void launch_copy(const void* in, void* out, int64_t bytes) {
    constexpr int threads = 256;
    const int64_t work =
        bytes / static_cast<int64_t>(sizeof(Word)) + bytes % static_cast<int64_t>(sizeof(Word)) / 4;
    copy_words<Word><<<grid_of_tiles(ceil_div(work, threads), 1), threads>>>(in, out, bytes);
}
