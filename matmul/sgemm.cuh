// sgemm.cuh: the kernel of sgemm.cu, for the programs that use it for a batch or for a part of k.
#pragma once
#include "warp_tile.cuh"

/// What a block computes, and how many blocks share a multiprocessor: that says how many registers a thread may have.
template <class Tile_, int BLOCKS_>
struct Sgemm {
    using Tile = Tile_;
    static constexpr int BLOCKS = BLOCKS_;
    using Shared = typename Tile::Shared[2];
    /// Copies of single elements keep more addresses: with a block less there is room for them.
    static constexpr int blocks(int v) { return v == 4 ? BLOCKS : BLOCKS - 1; }
};
//                                BM   BN  BK  WM  WN  TM TN   blocks
using Sgemm64x128 = Sgemm<Tiling<64, 128, 16, 32, 64, 8, 8>, 4>;
using Sgemm32x64 = Sgemm<Tiling<32, 64, 32, 16, 32, 4, 4>, 5>;

template <class S>
int64_t tiles_of(int64_t m, int64_t n) {
    return ceil_div(m, S::Tile::BM) * ceil_div(n, S::Tile::BN);
}

/// One tile of C = alpha A B + beta C, by a block. Tiles are counted along the rows.
template <class S, int V>
__device__ void multiply_tile(const Task<float>& t, int index, typename S::Shared& buffers) {
    using Tile = typename S::Tile;
    constexpr int BK = Tile::BK;

    const int tiles_across = (t.n - 1) / Tile::BN + 1;
    const int row0 = index / tiles_across * Tile::BM, col0 = index % tiles_across * Tile::BN;
    CopyOfA<Tile, V> copy_a(t, row0);
    CopyOfB<Tile, V> copy_b(t, col0);
    Results<Tile> results;

    auto *now = &buffers[0], *next = &buffers[1];
    // What k has beyond whole tiles comes first: the loop needs no test for it.
    const int tiles = t.k / BK + (t.k % BK != 0), width = t.k - (tiles - 1) * BK;
    if (tiles > 0) {
        copy_b.fetch_async(width, *now);
        copy_a.fetch(width);
        copy_a.put(*now);
    }
    end_group();
    for (int tile = 0; tile < tiles; ++tile) {
        wait_for_groups<0>();  // this thread's part of the tile is there,
        __syncthreads();       // and all others'; and the tile before has been read by all
        const bool more = tile + 1 < tiles;
        if (more) {
            copy_b.fetch_async(BK, *next);
            copy_a.fetch(BK);
        }
        end_group();
#pragma unroll
        for (int k = 0; k < BK; ++k) results.template add<true>(results.read(*now, k));
        if (more) copy_a.put(*next);
        auto* const read = now;
        now = next;
        next = read;
    }
    results.template store<V>(t, row0, col0);
}

/// A block for each tile, on x, of each item of the batch.
template <class S, int V>
__global__ void __launch_bounds__(S::Tile::THREADS, S::blocks(V)) sgemm(Task<float> batch) {
    __shared__ typename S::Shared buffers;
    if (tile_y() < batch.batch) multiply_tile<S, V>(batch.of_item(tile_y()), blockIdx.x, buffers);
}

template <class S>
void launch_sgemm(const Task<float>& t) {
    const auto kernel = in_fours(t) ? sgemm<S, 4> : sgemm<S, 1>;
    kernel<<<grid_of_tiles(tiles_of<S>(t.m, t.n), t.batch), S::Tile::THREADS>>>(t);
}

/// What the busiest multiprocessor has to do for a step along k: multiply-adds, and an element read counts as one.
template <class S>
int64_t largest_share(const Task<float>& t) {
    using Tile = typename S::Tile;
    constexpr int OF_A_THREAD = Tile::TM * Tile::TN + Tile::TM + Tile::TN;
    return ceil_div(tiles_of<S>(t.m, t.n) * t.batch, t.multiprocessors) * Tile::THREADS * OF_A_THREAD;
}

/// The larger tile does more multiply-adds for each read, the smaller is easier to share out.
inline void launch_sgemm(const Task<float>& t) {
    if (largest_share<Sgemm64x128>(t) <= largest_share<Sgemm32x64>(t))
        launch_sgemm<Sgemm64x128>(t);
    else
        launch_sgemm<Sgemm32x64>(t);
}
