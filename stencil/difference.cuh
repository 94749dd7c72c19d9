// difference.cuh: the texts' stencil in 1-D, out[i] = sum of c[k] (in[i + k] - in[i - k]), from wherever
// the cells are.
#pragma once
#include "stencil.cuh"

/// Radius of the texts' stencil, and threads a block.
constexpr int RADIUS = 4, BLOCK_SIZE = 256;

/// One block for each BLOCK_SIZE cells.
inline dim3 blocks(const Domain& d, int cells_per_block = BLOCK_SIZE) {
    return grid_of_tiles(ceil_div(d.nx, cells_per_block), 1);
}

/// at(k): the cell k away.
template <int RADIUS, typename C, typename At>
__device__ auto difference(const C& c, const At& at) {
    decltype(at(0)) sum = 0;
#pragma unroll
    for (int k = 1; k <= RADIUS; ++k) sum += c[k] * (at(k) - at(-k));
    return sum;
}

/// The same for a cell near the edge: each cell is looked up under the rule. Few blocks come here, so the
/// code is short rather than fast: written out for every k it would be many times the rest of the kernel.
template <int RADIUS, typename T, typename C>
__device__ T difference_at_edge(const T* in, const Domain& d, int64_t i, const C& c) {
    if (d.stays(i, RADIUS)) return in[i];
    T sum = 0;
#pragma unroll 1
    for (int k = 1; k <= RADIUS; ++k) sum += c[k] * (d.read(in, i + k) - d.read(in, i - k));
    return sum;
}
