// grid.cuh: how many blocks cover a problem, within the limits of a grid; the size of a warp.
#pragma once
#include <cuda_runtime.h>

#include <cstdint>
#include <stdexcept>
#include <string>

/// The largest grid by axis, the same for every architecture since sm_30 (CUDA C++ Programming Guide,
/// "Compute Capabilities").
constexpr int64_t MAX_GRID_X = 2147483647, MAX_GRID_Y = 65535, MAX_GRID_Z = 65535;

/// Threads of a warp, and the mask that names all of them, for __shfl_sync and its like.
constexpr int WARP_SIZE = 32;
constexpr unsigned ALL_LANES = 0xFFFFFFFF;

/// a / b rounded up, for a >= 0 and b > 0.
constexpr int64_t ceil_div(int64_t a, int64_t b) {
    return a / b + (a % b != 0);
}

/// A grid of one block a tile: tiles across on x; tiles down on y and, where there are more than 65535, on z
/// too. The grid may reach past the last tile down, as it may past the last cell: kernels guard both by the
/// same test. Throws std::length_error for a count that no grid reaches.
inline dim3 grid_of_tiles(int64_t across, int64_t down) {
    const int64_t layers = ceil_div(down, MAX_GRID_Y);
    if (across < 1 || down < 1 || across > MAX_GRID_X || layers > MAX_GRID_Z)
        throw std::length_error("a grid cannot have " + std::to_string(across) + " x " +
                                std::to_string(down) + " blocks");
    return dim3(static_cast<unsigned>(across), static_cast<unsigned>(ceil_div(down, layers)),
                static_cast<unsigned>(layers));
}

#ifdef __CUDACC__
/// The y of this block's tile in a grid_of_tiles: 0, 1, ... Fits an int as long as a side of the problem
/// does.
__device__ inline int tile_y() {
    return blockIdx.y + gridDim.y * blockIdx.z;
}
#endif
