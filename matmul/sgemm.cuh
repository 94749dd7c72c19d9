// sgemm.cuh: the kernel of sgemm.cu, for the programs that use it for a batch or for a part of k.
#pragma once
#include "warp_tile.cuh"

/// What a block computes, and how many blocks share a multiprocessor: that says how many registers a thread may have.
template <class Tile_, int BLOCKS_>
struct Sgemm {
    using Tile = Tile_;
    static constexpr int BLOCKS = BLOCKS_, STAGES = 3;
    using Shared = typename Tile::Shared[STAGES];
    /// Copies of single elements keep more addresses: with a block less there is room for them.
    static constexpr int blocks(int v) { return v == 4 ? BLOCKS : BLOCKS - 1; }
};
//                                BM   BN  BK  WM  WN  TM TN   blocks
using Sgemm64x128 = Sgemm<Tiling<64, 128, 16, 32, 64, 8, 8>, 4>;
using Sgemm96x128 = Sgemm<Tiling<96, 128, 16, 48, 64, 12, 8>, 3>;

template <class S>
int64_t tiles_of(int64_t m, int64_t n) {
    return ceil_div(m, S::Tile::BM) * ceil_div(n, S::Tile::BN);
}

/// One tile of C = alpha A B + beta C, by a block. Tiles are counted along the rows.
template <class S, int V>
__device__ void multiply_tile(const Task<float>& t, int index, typename S::Shared& stages) {
    using Tile = typename S::Tile;
    constexpr int BK = Tile::BK, STAGES = S::STAGES;

    const int tiles_across = (t.n - 1) / Tile::BN + 1;
    const int row0 = index / tiles_across * Tile::BM, col0 = index % tiles_across * Tile::BN;
    CopyOfA<Tile, V> copy_a(t, row0);
    CopyOfB<Tile, V> copy_b(t, col0);
    Results<Tile> results;

    // What k has beyond whole tiles comes first: the loop needs no test for it.
    const int tiles = t.k / BK + (t.k % BK != 0);
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
    auto *from = stages, *to = stages + STAGES - 1;
    const auto next = [&](auto* stage) { return stage == stages + STAGES - 1 ? stages : stage + 1; };
    for (int tile = 0; tile < tiles; ++tile) {
        wait_for_groups<STAGES - 2>();  // this thread's part of the tile is there,
        __syncthreads();                // and all others'; and the tile before has been read by all
        const bool more = tile + STAGES - 1 < tiles;
        if (more) {
            copy_b.fetch_async(BK, *to);
            copy_a.fetch(BK);
        }
        end_group();
#pragma unroll
        for (int k = 0; k < BK; ++k) results.add(results.read(*from, k));
        if (more) copy_a.put(*to);
        from = next(from);
        to = next(to);
    }
    results.template store<V>(t, row0, col0);
}

/// A block for each tile, on x, of each item of the batch.
template <class S, int V>
__global__ void __launch_bounds__(S::Tile::THREADS, S::blocks(V)) sgemm(Task<float> batch) {
    __shared__ typename S::Shared stages;
    if (tile_y() < batch.batch) multiply_tile<S, V>(batch.of_item(tile_y()), blockIdx.x, stages);
}

template <class S>
void launch_sgemm(const Task<float>& t) {
    const auto kernel = in_fours(t) ? sgemm<S, 4> : sgemm<S, 1>;
    kernel<<<grid_of_tiles(tiles_of<S>(t.m, t.n), t.batch), S::Tile::THREADS>>>(t);
}

/// The elements of C that the busiest multiprocessor has.
template <class S>
int64_t largest_share(const Task<float>& t) {
    return ceil_div(tiles_of<S>(t.m, t.n) * t.batch, t.multiprocessors) * S::Tile::BM * S::Tile::BN;
}

/// The larger tile does more multiply-adds for each read, the smaller is easier to share out.
inline void launch_sgemm(const Task<float>& t) {
    if (largest_share<Sgemm96x128>(t) <= largest_share<Sgemm64x128>(t))
        launch_sgemm<Sgemm96x128>(t);
    else
        launch_sgemm<Sgemm64x128>(t);
}
