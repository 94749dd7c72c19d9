// swizzled.cu: no conflicts, and no wasted column either.
//
// Idea:   keep the tile at 32 columns, but store element (y, x) in column x XOR y. Along a row, y is fixed
//         and x XOR y runs through all 32 columns; along a column, x is fixed and x XOR y does so too. Both
//         lie in 32 banks. (8-byte elements go by half warps: 16 rows of a column give 16 different pairs
//         of banks. Free as well.)
// Cost:   one XOR for each access. Padding is easier to read; the swizzle keeps rows aligned, which 16-byte
//         accesses (vectorized.cu) and the hardware's own copies (tma.cu) need.
// Wrong still: what is wrong with padded.cu: 1024 threads a block, one element a thread.
// Text 3, bank conflicts (the text knows padding only).
#include "transpose.cuh"

template <typename T>
__global__ void transpose_swizzled(const T* in, T* out, Extent e) {
    __shared__ T tile[TILE_DIM][TILE_DIM];

    const int col = blockIdx.x * TILE_DIM + threadIdx.x;
    const int row = tile_y() * TILE_DIM + threadIdx.y;
    if (row < e.rows && col < e.cols)
        tile[threadIdx.y][threadIdx.x ^ threadIdx.y] = in[int64_t{row} * e.cols + col];

    __syncthreads();

    // Element (threadIdx.x, threadIdx.y) of the tile: row threadIdx.x, column threadIdx.y, swizzled by its
    // row.
    const int out_row = blockIdx.x * TILE_DIM + threadIdx.y;
    const int out_col = tile_y() * TILE_DIM + threadIdx.x;
    if (out_row < e.cols && out_col < e.rows)
        out[int64_t{out_row} * e.rows + out_col] = tile[threadIdx.x][threadIdx.y ^ threadIdx.x];
}

int main(int argc, char** argv) {
    Transpose ladder("swizzled", "Transposes through an XOR-swizzled tile.", argc, argv);
    ladder.variant("swizzled", "column XOR row: no conflict, no padding", [](auto t) {
        transpose_swizzled<<<tiles(t.extent), dim3(TILE_DIM, TILE_DIM)>>>(t.in, t.out, t.extent);
    });
    return ladder.run();
}
