// tiled.cu: a block shares what it loads.
//
// Idea:   a block computes a tile of C, TILE_SIZE x TILE_SIZE. It walks along k in steps of TILE_SIZE: each thread puts
//         one element of A and one of B into shared memory, and from there each element is used TILE_SIZE times: A's by
//         all threads of a row of the tile, B's by all of a column. Global loads for a multiply-add: 2 / TILE_SIZE
//         instead of 2.
// Sides:  what lies past an edge is 0 in the tile, so that the sum needs no test; all threads reach both barriers, also
//         those without an element of C. The second one keeps fast warps from filling the tile that slow ones still read.
// Cost:   2 x TILE_SIZE^2 elements of shared memory a block.
// Wrong still: two loads from shared memory for each multiply-add (four of A's, neighbours in a row, are one load of 16
//         bytes for the compiler). That traffic is now the limit: a multiprocessor serves 128 bytes a cycle, and could do
//         four multiply-adds of a warp meanwhile. See register_1d.cu.
// Text 2, batched and tiled matrix multiplication (the batch is in batched.cu).
#include "matmul.cuh"

template <int TILE_SIZE, typename T>
__global__ void matmul_tiled(Task<T> t) {
    __shared__ T tile_a[TILE_SIZE][TILE_SIZE], tile_b[TILE_SIZE][TILE_SIZE];

    const int x = threadIdx.x, y = threadIdx.y;
    const int row = tile_y() * TILE_SIZE + y, col = blockIdx.x * TILE_SIZE + x;
    T sum = 0;
    for (int k = 0; k < t.k; k += TILE_SIZE) {
        tile_a[y][x] = row < t.m && k + x < t.k ? t.a[row * t.lda + k + x] : T{0};
        tile_b[y][x] = k + y < t.k && col < t.n ? t.b[(k + y) * t.ldb + col] : T{0};
        __syncthreads();
        for (int i = 0; i < TILE_SIZE; ++i) sum += tile_a[y][i] * tile_b[i][x];
        __syncthreads();
    }
    if (row < t.m && col < t.n) t.store(row, col, sum);
}

int main(int argc, char** argv) {
    Matmul ladder("tiled", "Multiplies tiles in shared memory: each element is loaded once a block.", argc,
                  argv);
    ladder.variant("tile_8", "each element used 8 times",
                   [](auto t) { matmul_tiled<8><<<t.tiles(8, 8), dim3(8, 8)>>>(t); });
    ladder.variant("tile_16", "each element used 16 times",
                   [](auto t) { matmul_tiled<16><<<t.tiles(16, 16), dim3(16, 16)>>>(t); });
    ladder.variant("tile_32", "each element used 32 times",
                   [](auto t) { matmul_tiled<32><<<t.tiles(32, 32), dim3(32, 32)>>>(t); });
    return ladder.run();
}
