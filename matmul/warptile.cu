// warptile.cu: which lane computes what, and how many results each has.
//
// Idea:   a warp gets a tile of C of its own, 4 x 8 threads that read the same few rows of A and columns of B. A thread's
//         results are patches of 4 x 4, spread over the warp's tile: the 16-byte loads of lanes that are neighbours are
//         neighbours too.
// Banks:  a 16-byte read goes by quarter warps: four wavefronts. Two quarters share one where each pair of lanes asks for
//         the same bytes, be it lanes 0 and 1, 2 and 3, ... or 0 and 2, 1 and 3, ... Lanes in rows of eight have that for
//         A alone: two wavefronts, and four for B. Lanes that go down by two and then across have it for both.
// Formula: a step along k takes a thread TM TN multiply-adds and (TM + TN) / 4 reads: 64 and 4 with 8 x 8 results, 128
//         and 6 with 16 x 8.
// Cost:   128 results are 128 of the 255 registers that a thread may have, so eight warps fill a multiprocessor.
// Wrong still: nobody multiplies while the next tile comes. See double_buffered.cu.
// Texts: none goes this far.
#include "cublas.cuh"
#include "warp_tile.cuh"

template <class Tile, bool PAIRS, int V>
__global__ void __launch_bounds__(Tile::THREADS) matmul_warptile(Task<float> t) {
    __shared__ typename Tile::Shared tile;
    const int row0 = tile_y() * Tile::BM, col0 = blockIdx.x * Tile::BN;
    if (row0 >= t.m) return;

    CopyOfA<Tile, V> copy_a(t, row0);
    CopyOfB<Tile, V> copy_b(t, col0);
    Results<Tile, PAIRS> results;
    for (int k0 = 0; k0 < t.k; k0 += Tile::BK) {
        const int width = min(t.k - k0, Tile::BK);
        copy_a.fetch(width);
        copy_b.fetch(width);
        __syncthreads();  // the tile before is no longer read
        copy_a.put(tile);
        copy_b.put(tile);
        __syncthreads();
#pragma unroll
        for (int k = 0; k < Tile::BK; ++k) results.add(results.read(tile, k));
    }
    results.template store<V>(t, row0, col0);
}

template <class Tile, bool PAIRS>
void launch(const Task<float>& t) {
    const auto kernel = in_fours(t) ? matmul_warptile<Tile, PAIRS, 4> : matmul_warptile<Tile, PAIRS, 1>;
    kernel<<<t.tiles(Tile::BM, Tile::BN), Tile::THREADS>>>(t);
}

int main(int argc, char** argv) {
    Matmul ladder("warptile", "Multiplies with a tile of C for each warp.", argc, argv);
    using Results8x8 = Tiling<128, 128, 8, 32, 64, 8, 8>;
    using Results16x8 = Tiling<128, 128, 8, 64, 64, 16, 8>;
    ladder.variant<float>("rows", "8 x 8 results a lane, lanes in rows", launch<Results8x8, false>);
    ladder.variant<float>("pairs", "the same, lanes in pairs", launch<Results8x8, true>);
    ladder.variant<float>("pairs_16x8", "16 x 8 results a lane, in pairs", launch<Results16x8, true>);
    add_cublas(ladder);
    return ladder.run();
}
