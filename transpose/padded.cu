// padded.cu: one spare column, and the bank conflicts are gone.
//
// Idea:   in a tile with 33 columns element (y, x) lies in bank (33 y + x) mod 32 = (y + x) mod 32: the
//         elements of a column lie in 32 different banks, and so do those of a row.
// Which padding? By arithmetic, not by trial. A pad of P gives the column a stride of 32 + P elements:
//         4-byte elements: bank (P y) mod 32 for lanes y = 0..31: P = 1 is free of conflicts, P = 2 hits
//                          every other bank (2-way), P = 4 every fourth (4-way);
//         8-byte elements: the hardware serves half a warp at a time, two banks a lane: banks (2 P y) mod
//                          32 and the next for y = 0..15: P = 1 is free again, P = 2 is 2-way, P = 4 4-way.
//         So one element is right for both; the paddings of two and four that are found by trial are not.
// Cost:   3 % of the tile is never used.
// Wrong still: blocks of 1024 threads: two fit on a multiprocessor, and while one waits at its barrier
//         half of the loads are missing. And each thread has one element in flight.
// Text 1, transpose2; text 3, padding.
#include "transpose.cuh"

template <int PAD, typename T>
__global__ void transpose2(const T* in, T* out, Extent e) {
    __shared__ T tile[TILE_DIM][TILE_DIM + PAD];

    const int col = blockIdx.x * TILE_DIM + threadIdx.x;
    const int row = tile_y() * TILE_DIM + threadIdx.y;
    if (row < e.rows && col < e.cols) tile[threadIdx.y][threadIdx.x] = in[int64_t{row} * e.cols + col];

    __syncthreads();

    const int out_row = blockIdx.x * TILE_DIM + threadIdx.y;
    const int out_col = tile_y() * TILE_DIM + threadIdx.x;
    if (out_row < e.cols && out_col < e.rows)
        out[int64_t{out_row} * e.rows + out_col] = tile[threadIdx.x][threadIdx.y];
}

int main(int argc, char** argv) {
    Transpose ladder("padded", "Transposes through a padded tile: bank conflicts against none.", argc, argv);
    const dim3 block(TILE_DIM, TILE_DIM);
    ladder.variant("unpadded", "tile[32][32]: column reads hit one bank",
                   [=](auto t) { transpose2<0><<<tiles(t.extent), block>>>(t.in, t.out, t.extent); });
    ladder.variant("padded", "tile[32][33]: a column in 32 banks",
                   [=](auto t) { transpose2<1><<<tiles(t.extent), block>>>(t.in, t.out, t.extent); });
    ladder.variant("padded_2", "tile[32][34]: two lanes a bank",
                   [=](auto t) { transpose2<2><<<tiles(t.extent), block>>>(t.in, t.out, t.extent); });
    ladder.variant("padded_4", "tile[32][36]: four lanes a bank",
                   [=](auto t) { transpose2<4><<<tiles(t.extent), block>>>(t.in, t.out, t.extent); });
    return ladder.run();
}
