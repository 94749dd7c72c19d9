// naive.cu: a transpose in one line, and the line can be written in two ways.
//
// Idea:   thread (x, y) moves one element. Neighbours in a warp differ in x, so one side of the copy is
//         coalesced (32 neighbours in memory: four 32-byte sectors) and the other is a column (32 sectors,
//         of each of which 4 bytes are used). Which side should it be?
// Cost:   the column side moves eight times the bytes that it needs.
// Wrong still: exactly that. Writing is better coalesced: a warp's scattered reads can be served by L2 and
//         L1, where the rest of each sector waits for the next warp; scattered writes fill sectors only in
//         part.
// Text 1: the two kernels on global memory, before shared memory.
#include "transpose.cuh"

template <typename T>
__global__ void transpose_coalesced_reads(const T* in, T* out, Extent e) {
    const int col = blockIdx.x * TILE_DIM + threadIdx.x;
    const int row = tile_y() * TILE_DIM + threadIdx.y;
    if (row < e.rows && col < e.cols) out[int64_t{col} * e.rows + row] = in[int64_t{row} * e.cols + col];
}

template <typename T>
__global__ void transpose_coalesced_writes(const T* in, T* out, Extent e) {
    const int row = blockIdx.x * TILE_DIM + threadIdx.x;
    const int col = tile_y() * TILE_DIM + threadIdx.y;
    if (row < e.rows && col < e.cols) out[int64_t{col} * e.rows + row] = in[int64_t{row} * e.cols + col];
}

int main(int argc, char** argv) {
    Transpose ladder("naive", "Transposes from global memory to global memory.", argc, argv);
    const dim3 block(TILE_DIM, TILE_DIM);
    ladder.variant("coalesced_reads", "a warp reads a row and writes a column", [=](auto t) {
        transpose_coalesced_reads<<<tiles(t.extent), block>>>(t.in, t.out, t.extent);
    });
    ladder.variant("coalesced_writes", "a warp reads a column and writes a row", [=](auto t) {
        transpose_coalesced_writes<<<tiles({t.extent.cols, t.extent.rows}), block>>>(t.in, t.out, t.extent);
    });
    return ladder.run();
}
