// vectorized.cu: 16 bytes a load, from global memory and from shared.
//
// Idea:   the same 8 x 8 results a thread as in register_2d.cu, but its elements of A and of B lie V (4 floats, 2 doubles)
//         side by side, for vectorized loads: a step along k takes 16 / V loads of 16 bytes for 64 multiply-adds. For that
//         A's tile is kept transposed: what a thread needs at one step are neighbouring rows.
// Banks:  a thread's rows and columns are R / V groups of V, 16 groups apart, so that the 16 threads of a row read 256
//         bytes in a row: no bank twice. A's tile is filled by columns, element by element; 16 spare bytes a row of the
//         tile move what comes from one row of A (V rows of the tile apart) into different banks.
// Sides:  vectorized loads where all of a row's V elements exist, single elements at its end. A matrix whose rows do not
//         all start at multiples of 16 bytes is read element by element.
// Cost:   registers for the loads in flight.
// Wrong still: a warp of 2 x 16 threads reads 128 columns of B for two rows of A: four wavefronts for a load of B where
//         its bytes would fit two. See warptile.cu. And a block first loads, then waits, then computes. See
//         double_buffered.cu.
#include "matmul.cuh"
#include "pack.cuh"

constexpr int TILE_M = 128, TILE_N = 128, TILE_K = 8;
constexpr int SIDE = 16, THREADS = SIDE * SIDE;
constexpr int R = TILE_M / SIDE;  // a thread's results: R x R

/// The V elements of a row from `col` on, 0 past its end at `cols`. ALIGNED: row + col is a multiple of 16 bytes.
template <bool ALIGNED, typename T>
__device__ Pack<T> load_pack(const T* row, int col, int cols) {
    constexpr int V = Pack<T>::V;
    if (ALIGNED && col + V <= cols) return *reinterpret_cast<const Pack<T>*>(row + col);
    Pack<T> pack = {};
#pragma unroll
    for (int v = 0; v < V; ++v)
        if (col + v < cols) pack.at[v] = row[col + v];
    return pack;
}

/// C's new elements (row, col), ..., as Task::store gives them; none past the row's end. ALIGNED: C is.
template <bool ALIGNED, typename T>
__device__ void store_pack(const Task<T>& t, int row, int col, const Pack<T>& sums) {
    constexpr int V = Pack<T>::V;
    if (ALIGNED && col + V <= t.n) {
        Pack<T>& cells = *reinterpret_cast<Pack<T>*>(&t.c[row * t.ldc + col]);
        Pack<T> out = {};
        if (t.beta != 0) out = cells;
#pragma unroll
        for (int v = 0; v < V; ++v) out.at[v] = t.combine(sums.at[v], out.at[v]);
        cells = out;
    } else {
#pragma unroll
        for (int v = 0; v < V; ++v)
            if (col + v < t.n) t.store(row, col + v, sums.at[v]);
    }
}

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
