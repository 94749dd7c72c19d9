// shared.cu: let shared memory do the turning.
//
// Idea:   a block reads a 32 x 32 tile row by row into shared memory and writes it column by column: in
//         global memory both sides are now rows, coalesced. The scattered side is in shared memory, which
//         has no sectors.
// Cost:   a barrier: the column that a warp writes was read by all 32 warps of the block.
// Wrong still: shared memory has banks. Element (y, x) of a tile with 32 columns lies in bank (32 y + x)
//         mod 32, which is x: a whole column lies in one bank, and the 32 lanes of a warp that read it are
//         served one after the other.
// Text 1, transpose1. The text writes B[iy * N + ix] = S[tx][ty], which turns each tile but leaves it where
//         it was: the tile at (block row, block column) belongs at (block column, block row), so the
//         block's indices swap too. With one tile (N <= 32) nobody notices, and the text checks no result.
#include "transpose.cuh"

template <typename T>
__global__ void transpose1(const T* in, T* out, Extent e) {
    __shared__ T tile[TILE_DIM][TILE_DIM];

    const int col = blockIdx.x * TILE_DIM + threadIdx.x;
    const int row = tile_y() * TILE_DIM + threadIdx.y;
    if (row < e.rows && col < e.cols) tile[threadIdx.y][threadIdx.x] = in[int64_t{row} * e.cols + col];

    __syncthreads();

    // Row and column of B: the block's place is mirrored, the thread's is not.
    const int out_row = blockIdx.x * TILE_DIM + threadIdx.y;
    const int out_col = tile_y() * TILE_DIM + threadIdx.x;
    if (out_row < e.cols && out_col < e.rows)
        out[int64_t{out_row} * e.rows + out_col] = tile[threadIdx.x][threadIdx.y];
}

int main(int argc, char** argv) {
    Transpose ladder("shared", "Transposes through a tile in shared memory.", argc, argv);
    ladder.variant("shared", "tile[32][32]: a column lies in one bank", [](auto t) {
        transpose1<<<tiles(t.extent), dim3(TILE_DIM, TILE_DIM)>>>(t.in, t.out, t.extent);
    });
    return ladder.run();
}
