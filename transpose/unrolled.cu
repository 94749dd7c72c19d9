// unrolled.cu: several elements a thread.
//
// Idea:   with 32 x 32 threads, 2 blocks fill a multiprocessor, and each thread waits for its one element.
//         Give each thread more: more loads are in flight, index arithmetic and barriers are shared, and
//         smaller blocks let a multiprocessor hold more of them, so that some read while others wait or
//         write.
//         rows_per_thread: 32 x 8 threads on a 32 x 32 tile, four rows each.
//         smem_unroll_pad: 32 x 16 threads, two tiles side by side in one 1-D array; for the write the
//         threads are numbered anew, so that a warp writes rows of B although the block is not square.
// Cost:   registers; a loop to read.
// Wrong still: each access moves 4 bytes, so a warp needs many instructions to keep the memory busy.
// Text 2, transformSmemUnrollPad. In the text whole blocks skip the barrier where the matrix ends, and
//         sizes that are no multiple of the tile are left out; here every thread reaches the barrier and
//         the guards are per element.
#include "transpose.cuh"

constexpr int ROWS_OF_THREADS = 8;

template <typename T>
__global__ void transpose_rows_per_thread(const T* in, T* out, Extent e) {
    __shared__ T tile[TILE_DIM][TILE_DIM + 1];

    const int col = blockIdx.x * TILE_DIM + threadIdx.x;
    const int first_row = tile_y() * TILE_DIM + threadIdx.y;
#pragma unroll
    for (int j = 0; j < TILE_DIM; j += ROWS_OF_THREADS)
        if (first_row + j < e.rows && col < e.cols)
            tile[threadIdx.y + j][threadIdx.x] = in[int64_t{first_row + j} * e.cols + col];

    __syncthreads();

    const int first_out_row = blockIdx.x * TILE_DIM + threadIdx.y;
    const int out_col = tile_y() * TILE_DIM + threadIdx.x;
#pragma unroll
    for (int j = 0; j < TILE_DIM; j += ROWS_OF_THREADS)
        if (first_out_row + j < e.cols && out_col < e.rows)
            out[int64_t{first_out_row + j} * e.rows + out_col] = tile[threadIdx.x][threadIdx.y + j];
}

constexpr int BDIMX = 32, BDIMY = 16;

template <typename T>
__global__ void transformSmemUnrollPad(const T* in, T* out, Extent e) {
    // On the way out 16 lanes read a column, the other 16 the one beside it. Floats: a stride of 66 puts lane
    // i of the one in bank 2 i and of the other in bank 2 i + 1. Doubles go by half warps: a stride of 65
    // doubles is 130 words.
    constexpr int IPAD = sizeof(T) == 4 ? 2 : 1;
    constexpr int pitch = 2 * BDIMX + IPAD;
    __shared__ T tile[BDIMY * pitch];

    const int row = tile_y() * BDIMY + threadIdx.y;
    const int col = blockIdx.x * 2 * BDIMX + threadIdx.x;
    if (row < e.rows && col < e.cols)
        tile[threadIdx.y * pitch + threadIdx.x] = in[int64_t{row} * e.cols + col];
    if (row < e.rows && col + BDIMX < e.cols)
        tile[threadIdx.y * pitch + threadIdx.x + BDIMX] = in[int64_t{row} * e.cols + col + BDIMX];

    __syncthreads();

    // The block's threads as 32 rows of 16: BDIMY neighbours write a row of B.
    const int number = threadIdx.y * BDIMX + threadIdx.x;
    const int y = number / BDIMY, x = number % BDIMY;
    const int out_row = blockIdx.x * 2 * BDIMX + y;
    const int out_col = tile_y() * BDIMY + x;
    if (out_row < e.cols && out_col < e.rows) out[int64_t{out_row} * e.rows + out_col] = tile[x * pitch + y];
    if (out_row + BDIMX < e.cols && out_col < e.rows)
        out[int64_t{out_row + BDIMX} * e.rows + out_col] = tile[x * pitch + y + BDIMX];
}

int main(int argc, char** argv) {
    Transpose ladder("unrolled", "Transposes with several elements a thread.", argc, argv);
    ladder.variant("smem_unroll_pad", "32x16 threads, two tiles side by side", [](auto t) {
        transformSmemUnrollPad<<<tiles(t.extent, BDIMY, 2 * BDIMX), dim3(BDIMX, BDIMY)>>>(t.in, t.out,
                                                                                          t.extent);
    });
    ladder.variant("rows_per_thread", "32x8 threads, four rows each", [](auto t) {
        transpose_rows_per_thread<<<tiles(t.extent), dim3(TILE_DIM, ROWS_OF_THREADS)>>>(t.in, t.out,
                                                                                        t.extent);
    });
    return ladder.run();
}
