// double_buffered.cu: the next tile comes while this one is multiplied.
//
// Idea:   with two buffers in shared memory a block can fill one while it reads the other, and one barrier a tile is
//         enough. What is in flight meanwhile waits somewhere:
//         registers: loads go to registers before the multiplication, from there to shared memory behind it.
//         cp_async: an instruction that copies from global to shared memory by itself. Its copies are counted in groups;
//         a thread waits until all but the last STAGES - 2 of its groups are there, so STAGES - 1 tiles are in
//         flight, and a tile may take that long to come.
// Cost:   the registers of a tile, or the shared memory of STAGES tiles. cp.async cannot turn 16 bytes of a row, so the elements of
//         A come one by one, 4 bytes a copy, eight neighbours of a row to eight rows of the tile; B comes in 16 bytes.
// Wrong still: a thread reads fragments from shared memory, waits for them, multiplies. See sgemm.cu.
// Texts: none goes this far.
#include "cublas.cuh"
#include "warp_tile.cuh"

using Tile = Tiling<128, 128, 8, 64, 64, 16, 8>;

template <int V>
__global__ void __launch_bounds__(Tile::THREADS) matmul_registers(Task<float> t) {
    __shared__ Tile::Shared buffers[2];
    const int row0 = tile_y() * Tile::BM, col0 = blockIdx.x * Tile::BN;
    if (row0 >= t.m) return;

    CopyOfA<Tile, V> copy_a(t, row0);
    CopyOfB<Tile, V> copy_b(t, col0);
    Results<Tile> results;
    const auto fetch = [&](int width) {
        copy_a.fetch(width);
        copy_b.fetch(width);
    };
    const auto put = [&](Tile::Shared& buffer) {
        copy_a.put(buffer);
        copy_b.put(buffer);
    };
    fetch(min(t.k, Tile::BK));
    put(buffers[0]);
    __syncthreads();
    for (int tile = 0, k0 = 0; k0 < t.k; ++tile, k0 += Tile::BK) {
        const int next_width = min(t.k - k0 - Tile::BK, Tile::BK);
        if (next_width > 0) fetch(next_width);
#pragma unroll
        for (int k = 0; k < Tile::BK; ++k) results.add(results.read(buffers[tile % 2], k));
        if (next_width > 0) put(buffers[(tile + 1) % 2]);
        __syncthreads();
    }
    results.template store<V>(t, row0, col0);
}

template <int STAGES, int V>
__global__ void __launch_bounds__(Tile::THREADS) matmul_cp_async(Task<float> t) {
    __shared__ Tile::Shared stages[STAGES];
    const int row0 = tile_y() * Tile::BM, col0 = blockIdx.x * Tile::BN;
    if (row0 >= t.m) return;

    CopyOfA<Tile, 1> copy_a(t, row0);
    CopyOfB<Tile, V> copy_b(t, col0);
    Results<Tile> results;
    int k_fetched = 0;
    const auto fetch = [&](Tile::Shared& stage) {
        const int width = min(t.k - k_fetched, Tile::BK);
        if (width > 0) {
            copy_a.fetch_async(width, stage);
            copy_b.fetch_async(width, stage);
        }
        k_fetched += width;
        end_group();  // an empty one behind the last tile, so that the count stays right
    };
#pragma unroll
    for (int s = 0; s < STAGES - 1; ++s) fetch(stages[s]);
    for (int tile = 0, k0 = 0; k0 < t.k; ++tile, k0 += Tile::BK) {
        wait_for_groups<STAGES - 2>();  // this thread's part of the tile is there
        __syncthreads();                // and all others', and all have read the tile before
        fetch(stages[(tile + STAGES - 1) % STAGES]);
#pragma unroll
        for (int k = 0; k < Tile::BK; ++k) results.add(results.read(stages[tile % STAGES], k));
    }
    results.template store<V>(t, row0, col0);
}

template <int STAGES>
void launch_cp_async(const Task<float>& t) {
    const auto kernel = in_fours(t) ? matmul_cp_async<STAGES, 4> : matmul_cp_async<STAGES, 1>;
    kernel<<<t.tiles(Tile::BM, Tile::BN), Tile::THREADS>>>(t);
}

int main(int argc, char** argv) {
    Matmul ladder("double_buffered", "Multiplies while the next tiles are in flight.", argc, argv);
    ladder.variant<float>("registers", "2 buffers, the next tile in registers", [](auto t) {
        const auto kernel = in_fours(t) ? matmul_registers<4> : matmul_registers<1>;
        kernel<<<t.tiles(Tile::BM, Tile::BN), Tile::THREADS>>>(t);
    });
    ladder.variant<float>("cp_async_2", "cp.async, 1 tile in flight", launch_cp_async<2>);
    ladder.variant<float>("cp_async_3", "cp.async, 2 tiles in flight", launch_cp_async<3>);
    ladder.variant<float>("cp_async_4", "cp.async, 3 tiles in flight", launch_cp_async<4>);
    add_cublas(ladder);
    return ladder.run();
}
