// vectorized.cu: 16 bytes a load, from global memory and from shared.
//
// Idea:   the same 8 x 8 results a thread as in register_2d.cu, but its elements of A and of B lie together in packs of V
//         (4 floats, 2 doubles): a step along k takes 16 / V loads of 16 bytes for 64 multiply-adds. For that A's tile is
//         kept transposed: what a thread needs at one step are neighbouring rows.
// Banks:  a thread's rows and columns are R / V packs, 16 packs apart, so that the 16 threads of a row read 256 bytes in
//         a row: no bank twice. A's tile is filled by columns, element by element; a spare pack a row of the tile moves
//         the packs of one row of A (which lie V rows of the tile apart) into different banks.
// Sides:  packs where all of a row's V elements exist, single elements at its end. A matrix whose rows do not all start
//         at multiples of 16 bytes is read element by element.
// Cost:   registers for the vectorized loads in flight.
// Wrong still: a warp of 2 x 16 threads reads 128 columns of B for two rows of A: four wavefronts for a load of B where
//         its bytes would fit two. See warptile.cu. And a block first loads, then waits, then computes. See
//         double_buffered.cu.
#include "packs.cuh"

constexpr int TILE_M = 128, TILE_N = 128, TILE_K = 8;
constexpr int SIDE = 16, THREADS = SIDE * SIDE;
constexpr int R = TILE_M / SIDE;  // a thread's results: R x R

template <bool ALIGNED, typename T>
__global__ void __launch_bounds__(THREADS) matmul_vectorized(Task<T> t) {
    constexpr int V = Pack<T>::V;
    __shared__ Pack<T> tile_a[TILE_K][TILE_M / V + 1], tile_b[TILE_K][TILE_N / V];

    const int row0 = tile_y() * TILE_M, col0 = blockIdx.x * TILE_N;
    const int y = threadIdx.x / SIDE, x = threadIdx.x % SIDE;
    T sum[R][R] = {};
    for (int k = 0; k < t.k; k += TILE_K) {
#pragma unroll
        for (int e = threadIdx.x; e < TILE_M * TILE_K / V; e += THREADS) {
            const int r = e / (TILE_K / V), i = e % (TILE_K / V) * V;
            const Pack<T> pack =
                load_pack<ALIGNED>(t.a + (row0 + r) * t.lda, k + i, row0 + r < t.m ? t.k : 0);
#pragma unroll
            for (int v = 0; v < V; ++v) tile_a[i + v][r / V].at[r % V] = pack.at[v];
        }
#pragma unroll
        for (int e = threadIdx.x; e < TILE_K * TILE_N / V; e += THREADS) {
            const int i = e / (TILE_N / V), pack = e % (TILE_N / V);
            tile_b[i][pack] =
                load_pack<ALIGNED>(t.b + (k + i) * t.ldb, col0 + pack * V, k + i < t.k ? t.n : 0);
        }
        __syncthreads();
#pragma unroll
        for (int i = 0; i < TILE_K; ++i) {
            Pack<T> a[R / V], b[R / V];
#pragma unroll
            for (int p = 0; p < R / V; ++p) {
                a[p] = tile_a[i][y + p * SIDE];
                b[p] = tile_b[i][x + p * SIDE];
            }
#pragma unroll
            for (int r = 0; r < R; ++r)
#pragma unroll
                for (int s = 0; s < R; ++s) sum[r][s] += a[r / V].at[r % V] * b[s / V].at[s % V];
        }
        __syncthreads();
    }
#pragma unroll
    for (int r = 0; r < R; ++r) {
        const int row = row0 + (r / V * SIDE + y) * V + r % V;
        if (row < t.m) {
#pragma unroll
            for (int p = 0; p < R / V; ++p) {
                Pack<T> pack;
#pragma unroll
                for (int v = 0; v < V; ++v) pack.at[v] = sum[r][p * V + v];
                store_pack<ALIGNED>(t, row, col0 + (x + p * SIDE) * V, pack);
            }
        }
    }
}

int main(int argc, char** argv) {
    Matmul ladder("vectorized", "Multiplies with loads of 16 bytes.", argc, argv);
    ladder.variant("vectorized", "4 loads of 16 bytes for 64 multiply-adds", [](auto t) {
        const bool aligned = t.a_is_aligned() && t.b_is_aligned() && t.c_is_aligned();
        const dim3 tiles = t.tiles(TILE_M, TILE_N);
        if (aligned)
            matmul_vectorized<true><<<tiles, THREADS>>>(t);
        else
            matmul_vectorized<false><<<tiles, THREADS>>>(t);
    });
    return ladder.run();
}
