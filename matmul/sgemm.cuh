// sgemm.cuh: the kernel of sgemm.cu, for the programs that use it for a batch or for a part of k.
#pragma once
#include "warp_tile.cuh"

//                             BM   BN  BK  WM  WN  TM TN
using LargeTile = Tiling<64, 128, 16, 32, 64, 8, 8>;
using SmallTile = Tiling<32, 64, 32, 16, 32, 4, 4>;  // as many threads

/// How many blocks share a multiprocessor: that says how many registers a thread may have. Copies of single elements, V = 1,
/// keep more addresses: with a block less there is room for them.
constexpr int blocks_a_multiprocessor(int v) {
    return v == 4 ? 4 : 3;
}

/// One is read while the next tile comes into the other.
template <class Tile>
using Buffers = typename Tile::Shared[2];

template <class Tile>
int64_t tiles_of(int64_t m, int64_t n) {
    return ceil_div(m, Tile::BM) * ceil_div(n, Tile::BN);
}

/// One tile of C = alpha A B + beta C, by a block. Tiles are counted along the rows.
template <class Tile, int V>
__device__ void multiply_tile(const Task<float>& t, int index, Buffers<Tile>& buffers) {
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

/// A block for each tile, on x, of each item of the batch: first `large` tiles of 64 x 128, of C's first `rows` rows; then those
/// of 32 x 64, of the others.
template <int V>
__global__ void __launch_bounds__(LargeTile::THREADS, blocks_a_multiprocessor(V))
    sgemm(Task<float> batch, int rows, int large) {
    __shared__ union {
        Buffers<LargeTile> large;
        Buffers<SmallTile> small;
    } buffers;
    if (tile_y() >= batch.batch) return;
    Task<float> t = batch.of_item(tile_y());
    if (static_cast<int>(blockIdx.x) < large) {
        multiply_tile<LargeTile, V>(t, blockIdx.x, buffers.large);
    } else {
        t.a += rows * t.lda;
        t.c += rows * t.ldc;
        t.m -= rows;
        multiply_tile<SmallTile, V>(t, blockIdx.x - large, buffers.small);
    }
}

/// `rows`: 0, m, or a multiple of 64 between.
inline void launch_sgemm(const Task<float>& t, int rows) {
    const int64_t large = tiles_of<LargeTile>(rows, t.n), small = tiles_of<SmallTile>(t.m - rows, t.n);
    const auto kernel = in_fours(t) ? sgemm<4> : sgemm<1>;
    kernel<<<grid_of_tiles(large + small, t.batch), LargeTile::THREADS>>>(t, rows, static_cast<int>(large));
}

/// What tiles cost for a step along k: multiply-adds, and an element read counts as two.
template <class Tile>
int64_t cost(int64_t tiles) {
    return tiles * Tile::THREADS * (Tile::TM * Tile::TN + 2 * (Tile::TM + Tile::TN));
}

/// How many of C's rows large tiles shall have. The large tile reads less for each multiply-add; but when the last round of
/// them does not go round, multiprocessors stand idle. Small tiles in its place are easier to share out.
inline int rows_in_large_tiles(const Task<float>& t) {
    const int64_t in_a_row = ceil_div(t.n, LargeTile::BN) * t.batch;
    const int64_t all = tiles_of<LargeTile>(t.m, t.n) * t.batch, rounds = all / t.multiprocessors;
    if (all % t.multiprocessors == 0) return t.m;
    const int64_t rows = rounds * t.multiprocessors / in_a_row * LargeTile::BM;
    const int64_t large = tiles_of<LargeTile>(rows, t.n), small = tiles_of<SmallTile>(t.m - rows, t.n);
    const int64_t mixed = cost<LargeTile>(large * t.batch) + cost<SmallTile>(small * t.batch);
    return mixed < cost<LargeTile>((rounds + 1) * t.multiprocessors) ? static_cast<int>(rows) : t.m;
}
inline void launch_sgemm(const Task<float>& t) {
    launch_sgemm(t, rows_in_large_tiles(t));
}
