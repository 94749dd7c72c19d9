// sgemm.cuh: the kernel of sgemm.cu, for the programs that use it for a batch or for a part of k.
#pragma once
#include "warp_tile.cuh"

/// How the kernel works: its tile, tiles in shared memory at a time, blocks on a multiprocessor (which says how many
/// registers the compiler may give a thread).
template <class Tile_, int STAGES_, int BLOCKS_>
struct Sgemm {
    using Tile = Tile_;
    static constexpr int STAGES = STAGES_, BLOCKS = BLOCKS_;
    static constexpr int SHARED_BYTES = STAGES * sizeof(typename Tile::Shared);
};

template <class S>
int64_t tiles_of(int64_t m, int64_t n) {
    return ceil_div(m, S::Tile::BM) * ceil_div(n, S::Tile::BN);
}

/// One tile of C = alpha A B + beta C, by a block. Tiles are counted along the rows.
template <class S, int V>
__device__ void multiply_tile(const Task<float>& t, int index) {
    using Tile = typename S::Tile;
    const int tiles_across = (t.n - 1) / Tile::BN + 1;
    const int row0 = index / tiles_across * Tile::BM, col0 = index % tiles_across * Tile::BN;
    using Shared = typename Tile::Shared;
    constexpr int BK = Tile::BK, STAGES = S::STAGES;
    extern __shared__ float4 memory[];
    Shared* const stages = reinterpret_cast<Shared*>(memory);

    CopyOfA<Tile, V> copy_a(t, row0);
    CopyOfB<Tile, V> copy_b(t, col0);
    Results<Tile> results;
    const int tiles = t.k / BK + (t.k % BK != 0);

    // The narrow tile comes first: the loop then needs no tests.
    int width = t.k - (tiles - 1) * BK;
#pragma unroll
    for (int s = 0; s < STAGES - 1; ++s) {
        if (s < tiles) {
            copy_b.fetch_async(width, stages[s]);
            copy_a.fetch(width);
            copy_a.put(stages[s]);
            width = BK;
        }
        end_group();
    }
    Shared *from = stages, *to = stages + STAGES - 1;
    const auto step = [&](Shared*& stage) { stage = stage + 1 == stages + STAGES ? stages : stage + 1; };
    for (int tile = 0; tile < tiles; ++tile) {
        wait_for_groups<STAGES - 2>();  // this thread's part of the tile is there
        __syncthreads();                // all of it is, and all have read the tile before
        const bool more = tile + STAGES - 1 < tiles;
        if (more) {
            copy_b.fetch_async(BK, *to);
            copy_a.fetch(BK);
        }
        end_group();
#pragma unroll
        for (int k = 0; k < BK; ++k) results.add(results.read(*from, k));
        if (more) copy_a.put(*to);
        step(from);
        step(to);
    }
    results.template store<V>(t, row0, col0);
}

/// A block for each tile, on x, of each item of the batch.
template <class S, int V>
__global__ void __launch_bounds__(S::Tile::THREADS, S::BLOCKS) sgemm(Task<float> batch) {
    if (tile_y() < batch.batch) multiply_tile<S, V>(batch.of_item(tile_y()), blockIdx.x);
}

/// More than 48 KB of shared memory are for kernels that ask for them.
template <class Kernel>
Kernel prepared(Kernel kernel, int shared_bytes) {
    CHECK_CUDA_CALL(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes));
    return kernel;
}

template <class S>
void launch_sgemm(const Task<float>& t) {
    const auto kernel = prepared(in_fours(t) ? sgemm<S, 4> : sgemm<S, 1>, S::SHARED_BYTES);
    kernel<<<grid_of_tiles(tiles_of<S>(t.m, t.n), t.batch), S::Tile::THREADS, S::SHARED_BYTES>>>(t);
}

//                                   BM   BN  BK  WM  WN TM TN  stages, blocks
using SgemmLarge = Sgemm<Tiling<128, 128, 16, 32, 64, 8, 8>, 2, 2>;
using SgemmSmall = Sgemm<Tiling<64, 128, 16, 32, 64, 8, 8>, 3, 3>;

/// The large tile loads less for each multiply-add; the small one gives work to more multiprocessors.
inline void launch_sgemm(const Task<float>& t) {
    if (tiles_of<SgemmLarge>(t.m, t.n) * t.batch >= SgemmLarge::BLOCKS * t.multiprocessors)
        launch_sgemm<SgemmLarge>(t);
    else
        launch_sgemm<SgemmSmall>(t);
}
