// register_2d.cu: a thread computes 8 x 8 results.
//
// Idea:   for one step along k a thread needs 8 elements of A and 8 of B, and does 64 multiply-adds with them: 16 loads
//         for 64, a quarter of one each. R x R results a thread: 2 R loads for R^2 multiply-adds, so 2 / R; what limits R
//         is the number of registers, of which 255 are the most that a thread can have.
// Tile:   128 x 128 elements of C by 256 threads, 16 x 16, in steps of 8 along k. In global memory an element is used 128
//         times once it is loaded.
//         neighbours: a thread's results lie side by side. The 16 threads of a row read B's tile 8 elements apart: four
//         of them share a bank. Stores to C are 32 bytes apart: a sector for each.
//         strided: a thread's results lie 16 rows and 16 columns apart. The 16 threads read neighbours.
// Cost:   64 accumulators in registers, so less threads on a multiprocessor: their 64 independent multiply-adds hide
//         the latencies that more threads would hide.
// Wrong still: every load is one element, so a quarter of all instructions are loads. See vectorized.cu.
#include "matmul.cuh"

constexpr int TILE_M = 128, TILE_N = 128, TILE_K = 8;
constexpr int SIDE = 16, THREADS = SIDE * SIDE;
constexpr int R = TILE_M / SIDE;  // a thread's results: R x R

template <bool STRIDED, typename T>
__global__ void __launch_bounds__(THREADS) matmul_register_2d(Task<T> t) {
    __shared__ T tile_a[TILE_M][TILE_K], tile_b[TILE_K][TILE_N];
    // The place in the tile of a thread's result number r.
    const auto place = [](int thread, int r) { return STRIDED ? thread + r * SIDE : thread * R + r; };

    const int row0 = tile_y() * TILE_M, col0 = blockIdx.x * TILE_N;
    const int y = threadIdx.x / SIDE, x = threadIdx.x % SIDE;
    T sum[R][R] = {};
    for (int k = 0; k < t.k; k += TILE_K) {
#pragma unroll
        for (int e = threadIdx.x; e < TILE_M * TILE_K; e += THREADS) {
            const int row = row0 + e / TILE_K, i = k + e % TILE_K;
            tile_a[e / TILE_K][e % TILE_K] = row < t.m && i < t.k ? t.a[row * t.lda + i] : T{0};
        }
#pragma unroll
        for (int e = threadIdx.x; e < TILE_K * TILE_N; e += THREADS) {
            const int i = k + e / TILE_N, col = col0 + e % TILE_N;
            tile_b[e / TILE_N][e % TILE_N] = i < t.k && col < t.n ? t.b[i * t.ldb + col] : T{0};
        }
        __syncthreads();
#pragma unroll
        for (int i = 0; i < TILE_K; ++i) {
            T a[R], b[R];
#pragma unroll
            for (int r = 0; r < R; ++r) a[r] = tile_a[place(y, r)][i];
#pragma unroll
            for (int r = 0; r < R; ++r) b[r] = tile_b[i][place(x, r)];
#pragma unroll
            for (int r = 0; r < R; ++r)
#pragma unroll
                for (int s = 0; s < R; ++s) sum[r][s] += a[r] * b[s];
        }
        __syncthreads();
    }
#pragma unroll
    for (int r = 0; r < R; ++r)
#pragma unroll
        for (int s = 0; s < R; ++s) {
            const int row = row0 + place(y, r), col = col0 + place(x, s);
            if (row < t.m && col < t.n) t.store(row, col, sum[r][s]);
        }
}

int main(int argc, char** argv) {
    Matmul ladder("register_2d", "Multiplies with 8 x 8 results a thread.", argc, argv);
    ladder.variant("neighbours", "16 loads for 64 multiply-adds, 4-way conflicts",
                   [](auto t) { matmul_register_2d<false><<<t.tiles(TILE_M, TILE_N), THREADS>>>(t); });
    ladder.variant("strided", "results 16 apart: no conflicts in B",
                   [](auto t) { matmul_register_2d<true><<<t.tiles(TILE_M, TILE_N), THREADS>>>(t); });
    return ladder.run();
}
