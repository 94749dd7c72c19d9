// packs.cuh: cells in packs of 16 bytes, for vectorized loads and stores.
#pragma once
#include "pack.cuh"
#include "stencil.cuh"

/// Calls f(std::integral_constant<int, V>) with the cells in a pack that rows of this domain allow: 16 bytes
/// where a row is a multiple of them, or else one. So V divides nx, and a pack is in the domain or beyond it.
template <typename T, typename F>
void with_packs(const Domain& d, const F& f) {
    constexpr int V = 16 / sizeof(T);
    if (d.nx % V == 0)
        f(std::integral_constant<int, V>());
    else
        f(std::integral_constant<int, 1>());
}

/// The packs of halo on either side of a tile in shared memory whose cells reach R cells far: as many as fill sectors of 32
/// bytes, so that a sector lies there as it does in global memory. (A copy fetches one for each sector that it fills.)
template <int R, int V, typename T, int SECTOR = 32 / sizeof(T)>
constexpr int HALO_PACKS = V == 1 ? R : ceil_div(R, SECTOR) * (SECTOR / V);

/// The pack whose first cell is (x, y, z), under the rule.
template <int V, typename T>
__device__ Pack<T, V> read_pack(const T* in, const Domain& d, int64_t x, int64_t y, int64_t z = 0) {
    const bool beyond = x < 0 || x >= d.nx;
    if (!d.place(x, d.nx) || !d.place(y, d.ny) || !d.place(z, d.nz)) return {};
    const T* const cell = &in[d.index(x, y, z)];
    if (beyond && d.boundary == Boundary::clamp) {  // V times the nearest cell
        Pack<T, V> pack;
        for (int j = 0; j < V; ++j) pack.at[j] = *cell;
        return pack;
    }
    return *reinterpret_cast<const Pack<T, V>*>(cell);
}
