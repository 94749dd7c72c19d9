// padded.cu: A's tile transposed, without its bank conflicts.
//
// Idea:   later rungs let a thread compute several rows of C, and want the elements of A for neighbouring rows side by
//         side: A's tile transposed. Global memory is still read along A's rows, so a warp has 32 neighbours of one row,
//         and stores them into a column of the tile.
//         transposed: tile[32][32]: the elements of a column lie in one bank. 32 wavefronts for a store.
//         padded: tile[32][33]: element (i, y) lies in bank (33 i + y) mod 32 = (i + y) mod 32. One wavefront.
//         swizzled: tile[32][32], but row i keeps column y at y XOR i: 32 different banks too, and no spare memory.
// Cost:   3 % of the tile, or an XOR at each access: as many as multiply-adds.
// Wrong still: two loads for each multiply-add, as in tiled.cu, and more of them in fact: there four neighbours of a row of
//         A's tile are one load of 16 bytes for the compiler, here they lie in four rows. A transposed tile pays only
//         where a thread computes several rows. How much do the conflicts cost, with 64 loads from the tiles for each
//         store into A's?
// Text 3, bank conflicts and padding.
#include "matmul.cuh"

constexpr int TILE_SIZE = 32;

template <int PAD, bool SWIZZLED, typename T>
__global__ void matmul_transposed_a(Task<T> t) {
    __shared__ T tile_a[TILE_SIZE][TILE_SIZE + PAD], tile_b[TILE_SIZE][TILE_SIZE];
    const auto place = [](int i, int y) { return SWIZZLED ? y ^ i : y; };

    const int x = threadIdx.x, y = threadIdx.y;
    const int row = tile_y() * TILE_SIZE + y, col = blockIdx.x * TILE_SIZE + x;
    T sum = 0;
    for (int k = 0; k < t.k; k += TILE_SIZE) {
        tile_a[x][place(x, y)] = row < t.m && k + x < t.k ? t.a[row * t.lda + k + x] : T{0};
        tile_b[y][x] = k + y < t.k && col < t.n ? t.b[(k + y) * t.ldb + col] : T{0};
        __syncthreads();
#pragma unroll 8  // 32 places y ^ i in registers would leave room for one block on a multiprocessor, not two
        for (int i = 0; i < TILE_SIZE; ++i) sum += tile_a[i][place(i, y)] * tile_b[i][x];
        __syncthreads();
    }
    if (row < t.m && col < t.n) t.store(row, col, sum);
}

int main(int argc, char** argv) {
    Matmul ladder("padded", "Multiplies with A's tile transposed: conflicts, padding, swizzle.", argc, argv);
    const dim3 block(TILE_SIZE, TILE_SIZE);
    ladder.variant("transposed", "tile[32][32]: 32 stores hit one bank", [=](auto t) {
        matmul_transposed_a<0, false><<<t.tiles(TILE_SIZE, TILE_SIZE), block>>>(t);
    });
    ladder.variant("padded", "tile[32][33]: 32 banks", [=](auto t) {
        matmul_transposed_a<1, false><<<t.tiles(TILE_SIZE, TILE_SIZE), block>>>(t);
    });
    ladder.variant("swizzled", "column XOR row: 32 banks, no padding", [=](auto t) {
        matmul_transposed_a<0, true><<<t.tiles(TILE_SIZE, TILE_SIZE), block>>>(t);
    });
    return ladder.run();
}
