// packs.cuh: cells in packs of 16 bytes.
#pragma once
#include "stencil.cuh"

/// V cells side by side, loaded and stored by one instruction of 16 bytes; or one cell, where rows do not start at
/// multiples of 16 bytes.
template <typename T, int V>
struct alignas(V * sizeof(T)) Pack {
    T at[V];
};

/// Calls f(std::integral_constant<int, V>) with the cells in a pack that rows of this domain allow.
template <typename T, typename F>
void with_packs(const Domain& d, const F& f) {
    constexpr int V = 16 / sizeof(T);
    if (d.nx % V == 0)
        f(std::integral_constant<int, V>());
    else
        f(std::integral_constant<int, 1>());
}

/// The V cells from (x, y, z) on, under the rule where they are not all there.
template <int V, typename T>
__device__ Pack<T, V> read_pack(const T* in, const Domain& d, int x, int y, int z = 0) {
    if (x >= 0 && x + V <= d.nx && y >= 0 && y < d.ny && z >= 0 && z < d.nz)
        return *reinterpret_cast<const Pack<T, V>*>(&in[d.index(x, y, z)]);
    Pack<T, V> pack;
#pragma unroll
    for (int j = 0; j < V; ++j) pack.at[j] = d.read(in, x + j, y, z);
    return pack;
}
