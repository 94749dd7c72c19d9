// packs.cuh: elements, 16 bytes at a time, from any start.
#pragma once
#include <cuda_runtime.h>

#include <cstdint>

#include "pack.cuh"

/// n elements as whole packs at addresses that are multiples of 16, and the few before and behind them.
struct Split {
    int head;
    int64_t packs;
    int tail;
};

template <typename T>
__host__ __device__ Split split(uintptr_t address, int64_t n) {
    const int64_t to_boundary = (16 - address % 16) % 16 / sizeof(T);
    const int64_t head = to_boundary < n ? to_boundary : n, rest = n - head;
    return {static_cast<int>(head), rest / Pack<T>::V, static_cast<int>(rest % Pack<T>::V)};
}

#ifdef __CUDACC__
/// A pack that is read once: the caches may let go of it first.
template <typename T>
__device__ Pack<T> load_once(const Pack<T>* pack) {
    const uint4 bits = __ldcs(reinterpret_cast<const uint4*>(pack));
    return *reinterpret_cast<const Pack<T>*>(&bits);
}
#endif
