// star_2d.cu: five points in two dimensions; who remembers a cell until its last neighbour has had it?
//
// Idea:   naive   a thread a cell: five loads, of which L1 answers four.
//         shared  the block loads its tile and the halo once, and reads five cells from there.
//         rows    a thread takes a pack of 16 bytes (V = 4 floats or 2 doubles) in each of ROWS rows, one
//                 below the other, and holds them and the row above and below in registers:
//
//                     row -1           [pack]             each inner row is used three times,
//                     row  0      west [pack] east        loaded once
//                     ...
//                     row ROWS         [pack]
//
//                 The two cells beside a pack belong to the neighbours' packs; L1 has just got those.
// Speed:  all ROWS + 2 packs are under way before the first is used, and nobody waits at a barrier. More
//         rows a thread need fewer halo rows, (ROWS + 2) / ROWS loads for each row stored; but also more
//         registers, so fewer threads are there to have loads under way, and the blocks at work reach over
//         more rows at a time than the memory likes: the table shows where that turns.
// Edge:   no block is special. Each row and each side cell is looked up where the rule finds it, which in
//         the inner of the domain is two comparisons.
// Cost:   rows must be multiples of 16 bytes. Where they are not, a pack is one cell: a quarter (double:
//         half) of the bytes under way, and as many times the instructions.
// Wrong still: nothing to win in one step; it moves what the copy moves. temporal_2d.cu takes several.
// Texts: none has two dimensions; text 2's stencil_1d is in shared_1d.cu.
#include "plane.cuh"

constexpr int TILE_X = 32, TILE_Y = 8;    // the tile of a block of the first two rungs, a cell a thread
constexpr int BLOCK_X = 64, BLOCK_Y = 4;  // threads of the last rung

template <typename T>
__global__ void star_naive(const T* in, T* out, Domain d, Coefficients<T> c) {
    const int x0 = blockIdx.x * TILE_X, x = x0 + threadIdx.x, y0 = tile_y() * TILE_Y, y = y0 + threadIdx.y;
    if (d.inner_x(x0, x0 + TILE_X, 1) && d.inner_y(y0, y0 + TILE_Y, 1))
        out[d.index(x, y)] = five_points(c, [&](int dx, int dy) { return in[d.index(x + dx, y + dy)]; });
    else if (x < d.nx && y < d.ny && d.stays(x, y, 1))
        out[d.index(x, y)] = in[d.index(x, y)];
    else if (x < d.nx && y < d.ny)
        out[d.index(x, y)] = five_points(c, [&](int dx, int dy) { return d.read(in, x + dx, y + dy); });
}

template <typename T>
__global__ void star_shared(const T* in, T* out, Domain d, Coefficients<T> c) {
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
    if (x < d.nx && y < d.ny) out[d.index(x, y)] = !inner && d.stays(x, y, 1) ? at(0, 0) : five_points(c, at);
}

template <int ROWS, int V, typename T>
__global__ void __launch_bounds__(BLOCK_X* BLOCK_Y)
    star_rows(const T* in, T* out, Domain d, Coefficients<T> c) {
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
            result.at[j] = five_points(c, [&](int dx, int dy) { return row[1 + i + dy][j + dx]; });
        store_pack(out, d, x, y + i, result, row[1 + i].own);
    }
}

template <int ROWS, typename T>
void launch_rows(const Task<T>& task) {
    const Domain& d = task.domain;
    with_packs<T>(d, [&](auto V) {
        const dim3 blocks = grid_of_tiles(ceil_div(d.nx, BLOCK_X * V()), ceil_div(d.ny, BLOCK_Y * ROWS));
        star_rows<ROWS, V()><<<blocks, dim3(BLOCK_X, BLOCK_Y)>>>(task.in, task.out, d, task.c);
    });
}

int main(int argc, char** argv) {
    Stencil ladder("star_2d", "The 5-point stencil: naive, from a tile, from rows in registers.", argc, argv,
                   star_2d, 1);
    const dim3 threads(TILE_X, TILE_Y);
    const auto tiles = [](const Domain& d) {
        return grid_of_tiles(ceil_div(d.nx, TILE_X), ceil_div(d.ny, TILE_Y));
    };
    ladder.variant("naive", "a thread a cell, five loads", [=](const auto& task) {
        star_naive<<<tiles(task.domain), threads>>>(task.in, task.out, task.domain, task.c);
    });
    ladder.variant("shared", "tile[10][34]: each cell and the halo loaded once", [=](const auto& task) {
        star_shared<<<tiles(task.domain), threads>>>(task.in, task.out, task.domain, task.c);
    });
    ladder.variant("rows_1", "16 bytes a load, one row a thread",
                   [](const auto& task) { launch_rows<1>(task); });
    ladder.variant("rows_2", "two rows and their halo in registers",
                   [](const auto& task) { launch_rows<2>(task); });
    ladder.variant("rows_4", "four rows and their halo in registers",
                   [](const auto& task) { launch_rows<4>(task); });
    return ladder.run();
}
