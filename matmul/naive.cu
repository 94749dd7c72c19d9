// naive.cu: one thread an element of C, straight from the formula.
//
// Idea:   C[row][col] is the product of A's row and B's column, so give each its own thread. Which of the two indices
//         runs along the warp is all that the variants differ in.
//         column_per_warp: threadIdx.x counts rows. A warp's 32 threads read 32 rows of A, and write 32 rows of C: a
//         sector of 32 bytes for each thread.
//         row_per_warp: threadIdx.x counts columns. All threads read the same element of A (one sector for all) and
//         32 neighbours of B (four sectors).
// Cost:   2 k loads for k multiply-adds in each thread: the load units have twice the work of the cores, and every
//         element of A is loaded n times, every element of B m times.
// Wrong still: exactly that. See tiled.cu.
// Texts: none begins here; text 2's first kernel is the one in pitched.cu.
#include "matmul.cuh"

template <typename T>
__device__ void multiply(const Task<T>& t, int row, int col) {
    if (row >= t.m || col >= t.n) return;
    T sum = 0;
    for (int i = 0; i < t.k; ++i) sum += t.a[row * t.lda + i] * t.b[i * t.ldb + col];
    t.store(row, col, sum);
}

template <typename T>
__global__ void matmul_row_per_warp(Task<T> t) {
    multiply(t, tile_y() * blockDim.y + threadIdx.y, blockIdx.x * blockDim.x + threadIdx.x);
}

template <typename T>
__global__ void matmul_column_per_warp(Task<T> t) {
    multiply(t, tile_y() * blockDim.x + threadIdx.x, blockIdx.x * blockDim.y + threadIdx.y);
}

int main(int argc, char** argv) {
    Matmul ladder("naive", "Multiplies with one thread an element: rows against columns along the warp.",
                  argc, argv);
    ladder.variant("column_per_warp", "a warp walks down a column of C",
                   [](auto t) { matmul_column_per_warp<<<t.tiles(32, 8), dim3(32, 8)>>>(t); });
    ladder.variant("row_per_warp", "a warp walks along a row of C",
                   [](auto t) { matmul_row_per_warp<<<t.tiles(8, 32), dim3(32, 8)>>>(t); });
    return ladder.run();
}
