// box_2d.cu: 9 points in two dimensions, from global memory, from shared memory, from registers.
#include "plane.cuh"

constexpr int TILE_X = 32, TILE_Y = 8;  // a block of the first two rungs
constexpr int ROWS = 4, BLOCK_SIZE = 256;

/// A thread a cell.
template <typename T>
__global__ void box_naive(const T* in, T* out, Domain d, Coefficients<T> c) {
    const int x0 = blockIdx.x * TILE_X, x = x0 + threadIdx.x, y0 = tile_y() * TILE_Y, y = y0 + threadIdx.y;
    if (d.inner_x(x0, x0 + TILE_X, 1) && d.inner_y(y0, y0 + TILE_Y, 1))
        out[d.index(x, y)] = nine_points(c, [&](int dx, int dy) { return in[d.index(x + dx, y + dy)]; });
    else if (x < d.nx && y < d.ny)
        out[d.index(x, y)] = d.stays(x, y, 1)
                                 ? in[d.index(x, y)]
                                 : nine_points(c, [&](int dx, int dy) { return d.read(in, x + dx, y + dy); });
}

/// A tile with its halo.
template <typename T>
__global__ void box_shared(const T* in, T* out, Domain d, Coefficients<T> c) {
    constexpr int WIDTH = TILE_X + 2, HEIGHT = TILE_Y + 2;
    __shared__ T tile[HEIGHT][WIDTH];
    const int x0 = blockIdx.x * TILE_X, x = x0 + threadIdx.x, y0 = tile_y() * TILE_Y, y = y0 + threadIdx.y;
    const bool inner = d.inner_x(x0, x0 + TILE_X, 1) && d.inner_y(y0, y0 + TILE_Y, 1);
    for (int i = threadIdx.y * TILE_X + threadIdx.x; i < WIDTH * HEIGHT; i += TILE_X * TILE_Y) {
        const int from_x = x0 - 1 + i % WIDTH, from_y = y0 - 1 + i / WIDTH;
        tile[i / WIDTH][i % WIDTH] = inner ? in[d.index(from_x, from_y)] : d.read(in, from_x, from_y);
    }
    __syncthreads();

    const auto at = [&](int dx, int dy) { return tile[threadIdx.y + 1 + dy][threadIdx.x + 1 + dx]; };
    if (x < d.nx && y < d.ny) out[d.index(x, y)] = !inner && d.stays(x, y, 1) ? at(0, 0) : nine_points(c, at);
}

template <int V, typename T>
__global__ void __launch_bounds__(BLOCK_SIZE) box_rows(const T* in, T* out, Domain d, Coefficients<T> c) {
    const int x = (blockIdx.x * BLOCK_SIZE + threadIdx.x) * V, y = tile_y() * ROWS;
    const int lane = threadIdx.x % WARP_SIZE;
    const bool first = lane == 0, last = lane == WARP_SIZE - 1 || x + V >= d.nx;

    Row<T, V> row[ROWS + 2];
#pragma unroll
    for (int i = 0; i < ROWS + 2; ++i) {
        row[i].own = read_pack<V>(in, d, x, y - 1 + i);
        if (first) row[i].west = d.read(in, x - 1, y - 1 + i);
        if (last) row[i].east = d.read(in, x + V, y - 1 + i);
    }
#pragma unroll
    for (int i = 0; i < ROWS + 2; ++i) {
        const T from_west = __shfl_up_sync(ALL_LANES, row[i].own.at[V - 1], 1);
        const T from_east = __shfl_down_sync(ALL_LANES, row[i].own.at[0], 1);
        if (!first) row[i].west = from_west;
        if (!last) row[i].east = from_east;
    }

#pragma unroll
    for (int i = 1; i <= ROWS; ++i) {
        Pack<T, V> result;
#pragma unroll
        for (int j = 0; j < V; ++j)
            result.at[j] = nine_points(c, [&](int dx, int dy) { return row[i + dy][j + dx]; });
        store_row(out, d, x, y - 1 + i, result, row[i].own);
    }
}

int main(int argc, char** argv) {
    Stencil ladder("box_2d", "The 9-point stencil: naive, from a shared tile, from registers.", argc, argv,
                   box_2d, 1);
    const auto tiles = [](const Domain& d) {
        return grid_of_tiles(ceil_div(d.nx, TILE_X), ceil_div(d.ny, TILE_Y));
    };
    ladder.variant("naive", "a thread a cell, nine loads", [=](const auto& task) {
        box_naive<<<tiles(task.domain), dim3(TILE_X, TILE_Y)>>>(task.in, task.out, task.domain, task.c);
    });
    ladder.variant("shared", "tile[10][34]: a cell and its halo loaded once", [=](const auto& task) {
        box_shared<<<tiles(task.domain), dim3(TILE_X, TILE_Y)>>>(task.in, task.out, task.domain, task.c);
    });
    ladder.variant("rows", "16 bytes a load, four rows in registers", [](const auto& task) {
        const Domain& d = task.domain;
        with_packs<std::decay_t<decltype(*task.in)>>(d, [&](auto V) {
            box_rows<V()>
                <<<grid_of_tiles(ceil_div(d.nx, BLOCK_SIZE * V()), ceil_div(d.ny, ROWS)), BLOCK_SIZE>>>(
                    task.in, task.out, d, task.c);
        });
    });
    return ladder.run();
}
