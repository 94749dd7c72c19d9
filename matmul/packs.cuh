// packs.cuh: 16 bytes of a row at a time, where the row allows it.
#pragma once
#include "matmul.cuh"
#include "pack.cuh"

/// The V elements of a row from `col` on, 0 past its end at `cols`. ALIGNED: row + col is a multiple of 16 bytes.
template <bool ALIGNED, typename T>
__device__ Pack<T> load_pack(const T* row, int col, int cols) {
    constexpr int V = Pack<T>::V;
    if (ALIGNED && col + V <= cols) return *reinterpret_cast<const Pack<T>*>(row + col);
    Pack<T> pack = {};
#pragma unroll
    for (int v = 0; v < V; ++v)
        if (col + v < cols) pack.at[v] = row[col + v];
    return pack;
}

/// C's new elements (row, col), ..., as Task::store gives them; none past the row's end. ALIGNED: C is.
template <bool ALIGNED, typename T>
__device__ void store_pack(const Task<T>& t, int row, int col, const Pack<T>& sums) {
    constexpr int V = Pack<T>::V;
    if (ALIGNED && col + V <= t.n) {
        Pack<T>& cells = *reinterpret_cast<Pack<T>*>(&t.c[row * t.ldc + col]);
        Pack<T> out = {};
        if (t.beta != 0) out = cells;
#pragma unroll
        for (int v = 0; v < V; ++v) out.at[v] = t.combine(sums.at[v], out.at[v]);
        cells = out;
    } else {
#pragma unroll
        for (int v = 0; v < V; ++v)
            if (col + v < t.n) t.store(row, col + v, sums.at[v]);
    }
}
