// plane_rungs.cuh: the rungs of star_2d.cu, which tells the idea, and of box_2d.cu. They differ in the formula alone:
// Formula::of(c, at) is the new cell, where at(dx, dy) is the cell so far away.
#pragma once
#include "plane.cuh"

constexpr int TILE_X = 32, TILE_Y = 8;    // the tile of a block of the first two rungs, a cell a thread
constexpr int BLOCK_X = 64, BLOCK_Y = 4;  // threads of the last rung

template <typename Formula, typename T>
__global__ void plane_naive(const T* in, T* out, Domain d, Coefficients<T> c) {
    const int x0 = blockIdx.x * TILE_X, x = x0 + threadIdx.x, y0 = tile_y() * TILE_Y, y = y0 + threadIdx.y;
    if (d.inner_x(x0, x0 + TILE_X, 1) && d.inner_y(y0, y0 + TILE_Y, 1))
        out[d.index(x, y)] = Formula::of(c, [&](int dx, int dy) { return in[d.index(x + dx, y + dy)]; });
    else if (x < d.nx && y < d.ny && d.stays(x, y, 1))
        out[d.index(x, y)] = in[d.index(x, y)];
    else if (x < d.nx && y < d.ny)
        out[d.index(x, y)] = Formula::of(c, [&](int dx, int dy) { return d.read(in, x + dx, y + dy); });
}

template <typename Formula, typename T>
__global__ void plane_shared(const T* in, T* out, Domain d, Coefficients<T> c) {
    constexpr int WIDTH = 1 + TILE_X + 1, HEIGHT = 1 + TILE_Y + 1;
    __shared__ T tile[HEIGHT][WIDTH];
    const int x0 = blockIdx.x * TILE_X, x = x0 + threadIdx.x, y0 = tile_y() * TILE_Y, y = y0 + threadIdx.y;
    const bool inner = d.inner_x(x0, x0 + TILE_X, 1) && d.inner_y(y0, y0 + TILE_Y, 1);
    for (int i = threadIdx.y * TILE_X + threadIdx.x; i < WIDTH * HEIGHT; i += TILE_X * TILE_Y) {
        const int from_x = x0 - 1 + i % WIDTH, from_y = y0 - 1 + i / WIDTH;
        tile[i / WIDTH][i % WIDTH] = inner ? in[d.index(from_x, from_y)] : d.read(in, from_x, from_y);
    }
    __syncthreads();

    const auto at = [&](int dx, int dy) { return tile[1 + threadIdx.y + dy][1 + threadIdx.x + dx]; };
    if (x < d.nx && y < d.ny) out[d.index(x, y)] = !inner && d.stays(x, y, 1) ? at(0, 0) : Formula::of(c, at);
}

template <typename Formula, int ROWS, int V, typename T>
__global__ void __launch_bounds__(BLOCK_X* BLOCK_Y)
    plane_rows(const T* in, T* out, Domain d, Coefficients<T> c) {
    const int x = (blockIdx.x * BLOCK_X + threadIdx.x) * V, y = (tile_y() * BLOCK_Y + threadIdx.y) * ROWS;
    if (x >= d.nx) return;

    Row<T, V> row[1 + ROWS + 1];
#pragma unroll
    for (int i = -1; i <= ROWS; ++i) row[1 + i] = read_row<V>(in, d, x, y + i);

#pragma unroll
    for (int i = 0; i < ROWS; ++i) {
        Pack<T, V> result;
#pragma unroll
        for (int j = 0; j < V; ++j)
            result.at[j] = Formula::of(c, [&](int dx, int dy) { return row[1 + i + dy][j + dx]; });
        store_pack(out, d, x, y + i, result, row[1 + i].own);
    }
}

template <typename Formula, typename T>
void launch_naive(const Task<T>& task) {
    const Domain& d = task.domain;
    const dim3 blocks = grid_of_tiles(ceil_div(d.nx, TILE_X), ceil_div(d.ny, TILE_Y));
    plane_naive<Formula><<<blocks, dim3(TILE_X, TILE_Y)>>>(task.in, task.out, d, task.c);
}

template <typename Formula, typename T>
void launch_shared(const Task<T>& task) {
    const Domain& d = task.domain;
    const dim3 blocks = grid_of_tiles(ceil_div(d.nx, TILE_X), ceil_div(d.ny, TILE_Y));
    plane_shared<Formula><<<blocks, dim3(TILE_X, TILE_Y)>>>(task.in, task.out, d, task.c);
}

template <typename Formula, int ROWS, typename T>
void launch_rows(const Task<T>& task) {
    const Domain& d = task.domain;
    with_packs<T>(d, [&](auto V) {
        const dim3 blocks = grid_of_tiles(ceil_div(d.nx, BLOCK_X * V()), ceil_div(d.ny, BLOCK_Y * ROWS));
        plane_rows<Formula, ROWS, V()><<<blocks, dim3(BLOCK_X, BLOCK_Y)>>>(task.in, task.out, d, task.c);
    });
}
