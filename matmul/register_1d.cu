// register_1d.cu: a thread computes a column of eight results.
//
// Idea:   an element of B that is in a register serves eight rows of C. For eight multiply-adds a thread loads eight
//         elements of A and one of B from shared memory, 9/8 a multiply-add instead of two.
// Tile:   the block computes 64 x 64 elements of C with 512 threads, in steps of 8 along k: A's tile and B's have 512
//         elements each, one for each thread to load. A step of 8 floats along A's rows is a sector of 32 bytes.
//         All lanes of a warp have the same rows, so their loads of A are broadcasts.
// Cost:   eight accumulators in registers.
// Wrong still: still more loads than multiply-adds. See register_2d.cu, which reuses A's elements as well.
#include "matmul.cuh"

constexpr int TILE_M = 64, TILE_N = 64, TILE_K = 8;
constexpr int ROWS = 8;  // of each thread
constexpr int THREADS = TILE_M * TILE_N / ROWS;

template <typename T>
__global__ void __launch_bounds__(THREADS) matmul_register_1d(Task<T> t) {
    __shared__ T tile_a[TILE_M][TILE_K], tile_b[TILE_K][TILE_N];

    const int row0 = tile_y() * TILE_M, col0 = blockIdx.x * TILE_N;
    const int a_y = threadIdx.x / TILE_K, a_x = threadIdx.x % TILE_K;
    const int b_y = threadIdx.x / TILE_N, b_x = threadIdx.x % TILE_N;
    const int first = threadIdx.x / TILE_N * ROWS, x = threadIdx.x % TILE_N;
    T sum[ROWS] = {};
    for (int k = 0; k < t.k; k += TILE_K) {
        tile_a[a_y][a_x] = row0 + a_y < t.m && k + a_x < t.k ? t.a[(row0 + a_y) * t.lda + k + a_x] : T{0};
        tile_b[b_y][b_x] = k + b_y < t.k && col0 + b_x < t.n ? t.b[(k + b_y) * t.ldb + col0 + b_x] : T{0};
        __syncthreads();
#pragma unroll
        for (int i = 0; i < TILE_K; ++i) {
            const T b = tile_b[i][x];
#pragma unroll
            for (int r = 0; r < ROWS; ++r) sum[r] += tile_a[first + r][i] * b;
        }
        __syncthreads();
    }
#pragma unroll
    for (int r = 0; r < ROWS; ++r)
        if (row0 + first + r < t.m && col0 + x < t.n) t.store(row0 + first + r, col0 + x, sum[r]);
}

int main(int argc, char** argv) {
    Matmul ladder("register_1d", "Multiplies with eight results a thread, in a column.", argc, argv);
    ladder.variant("register_1d", "9 loads for 8 multiply-adds",
                   [](auto t) { matmul_register_1d<<<t.tiles(TILE_M, TILE_N), THREADS>>>(t); });
    return ladder.run();
}
