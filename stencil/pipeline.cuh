// pipeline.cuh: several time steps of the 2-D 5-point stencil in one pass, in registers. temporal_2d.cu tells the idea.
#pragma once
#include "stencil.cuh"

/// One step of one cell. At the edge the rule holds anew in every step: beyond it stand zeros, or the cell itself as it
/// is now; or the cell stays. Under `periodic` there is nothing to do: what a tile has beyond the edge are cells like all
/// others, and advance with them.
template <bool EDGE, typename T>
__device__ T five_points(T centre, T west, T east, T north, T south, int x, int y, const Domain& d,
                         const Coefficients<T>& c) {
    if (EDGE) {
        if (d.stays(x, y, 1)) return centre;
        if (d.boundary == Boundary::zero || d.boundary == Boundary::clamp) {
            const T beyond = d.boundary == Boundary::clamp ? centre : T(0);
            if (x == 0) west = beyond;
            if (x == d.nx - 1) east = beyond;
            if (y == 0) north = beyond;
            if (y == d.ny - 1) south = beyond;
        }
    }
    return fma(c[4], south, fma(c[2], east, fma(c[1], west, fma(c[0], centre, c[3] * north))));
}

/// What a lane holds of a row: 16 bytes.
template <typename T>
struct alignas(16) Pack {
    static constexpr int V = 16 / sizeof(T);
    T at[V];
};

/// One step of a row of the warp's strip. x: of the lane's first cell.
template <bool EDGE, typename T>
__device__ Pack<T> step_row(const Pack<T>& north, const Pack<T>& row, const Pack<T>& south, int x, int y,
                            const Domain& d, const Coefficients<T>& c) {
    constexpr int V = Pack<T>::V;
    const T west = __shfl_up_sync(~0u, row.at[V - 1], 1), east = __shfl_down_sync(~0u, row.at[0], 1);
    Pack<T> next;
#pragma unroll
    for (int j = 0; j < V; ++j)
        next.at[j] =
            five_points<EDGE>(row.at[j], j > 0 ? row.at[j - 1] : west, j < V - 1 ? row.at[j + 1] : east,
                              north.at[j], south.at[j], x + j, y, d, c);
    return next;
}

template <bool EDGE, typename T>
__device__ Pack<T> load_row(const T* in, int x, int y, const Domain& d) {
    if (!EDGE) return *reinterpret_cast<const Pack<T>*>(&in[d.index(x, y)]);
    Pack<T> row;
#pragma unroll
    for (int j = 0; j < Pack<T>::V; ++j) row.at[j] = d.read(in, x + j, y);
    return row;
}

template <bool EDGE, typename T>
__device__ void store_row(const Pack<T>& row, T* out, int x, int y, const Domain& d) {
    if (!EDGE) {
        *reinterpret_cast<Pack<T>*>(&out[d.index(x, y)]) = row;
    } else {
#pragma unroll
        for (int j = 0; j < Pack<T>::V; ++j)
            if (x + j < d.nx) out[d.index(x + j, y)] = row.at[j];
    }
}
