// plane.cuh: what the programs in two dimensions share: the star's formula, and rows of cells in packs.
#pragma once
#include "packs.cuh"

/// The star of radius 1. at(dx, dy): the cell so far away.
template <typename T, typename At>
__device__ T five_points(const Coefficients<T>& c, const At& at) {
    return c[0] * at(0, 0) + c[1] * at(-1, 0) + c[2] * at(1, 0) + c[3] * at(0, -1) + c[4] * at(0, 1);
}

/// What a thread needs of a row: a pack, and the cell on either side of it.
template <typename T, int V>
struct Row {
    Pack<T, V> own;
    T west, east;

    /// Cell j of -1..V; j is a constant once loops are unrolled.
    __device__ T operator[](int j) const { return j < 0 ? west : j < V ? own.at[j] : east; }
};

/// Row y around the pack that starts at x, under the rule; y may be any, x is in the domain.
template <int V, typename T>
__device__ Row<T, V> read_row(const T* in, const Domain& d, int x, int64_t y) {
    int64_t west = x - 1, east = x + V;
    const bool has_west = d.place(west, d.nx), has_east = d.place(east, d.nx);
    if (!d.place(y, d.ny)) return {};
    const T* const cells = &in[d.index(0, y)];
    return {*reinterpret_cast<const Pack<T, V>*>(&cells[x]), has_west ? cells[west] : T(0),
            has_east ? cells[east] : T(0)};
}

/// Stores the pack of new cells at (x, y), if that is in the domain; those that the rule leaves alone as they were.
template <typename T, int V>
__device__ void store_pack(T* out, const Domain& d, int x, int y, Pack<T, V> result,
                           const Pack<T, V>& before) {
    if (x >= d.nx || y >= d.ny) return;
    if (d.boundary == Boundary::keep && !(d.inner_x(x, x + V, 1) && d.inner_y(y, y + 1, 1))) {
#pragma unroll
        for (int j = 0; j < V; ++j)
            if (d.stays(x + j, y, 1)) result.at[j] = before.at[j];
    }
    *reinterpret_cast<Pack<T, V>*>(&out[d.index(x, y)]) = result;
}
