// vectorized.cu: 16 bytes an access on every side. The top rung.
//
// Idea:   a thread takes a patch of V x V elements (V = 4 floats or 2 doubles, 16 bytes): V loads of 16
//         bytes, a transpose in registers, V stores of 16 bytes into the tile, which is thereby transposed
//         already. After the barrier the block copies the tile's rows out, 16 bytes a lane. A quarter of
//         the instructions, and each thread has V loads in flight. A row of the tile has 256 bytes, on both
//         sides: 64 floats or 32 doubles.
// Banks:  a 16-byte access goes by quarter warps: 8 lanes, 128 bytes, all banks once. In the tile's row r,
//         pack p is kept at p XOR (r / V mod 8). Eight lanes that store one pack into rows V apart hit
//         eight different packs, and so do eight lanes that read a row.
// Cost:   rows must start at multiples of 16 bytes; on a side where they do not, it moves single elements.
// Wrong still: the last few percent. It moves the bytes that a copy moves and no more, but blocks that work
//         together reach to places that lie further apart. See tma.cu for what Hopper's copy engine does.
// Texts: none goes this far.
#include "geam.cuh"
#include "pack.cuh"

constexpr int PACKS = 16;               // in a row of the tile: 256 bytes
constexpr int THREADS = PACKS * PACKS;  // one patch each

template <typename T>
__global__ void __launch_bounds__(THREADS) transpose_vectorized(const T* in, T* out, Extent e) {
    constexpr int V = Pack<T>::V;
    constexpr int SIDE = PACKS * V;
    __shared__ Pack<T> tile[SIDE][PACKS];

    // Blocks start in the order of x. Here x runs down A, which is along B: the blocks that are at work
    // together write long stretches of a few rows of B, and the memory likes that better than the other way
    // round.
    const int row0 = blockIdx.x * SIDE, col0 = tile_y() * SIDE;

    const int down = threadIdx.x / PACKS, across = threadIdx.x % PACKS;
    const int row = row0 + down * V, col = col0 + across * V;
    Pack<T> a[V] = {};
    if (e.cols % V == 0) {
#pragma unroll
        for (int i = 0; i < V; ++i)
            if (row + i < e.rows && col < e.cols)
                a[i] = *reinterpret_cast<const Pack<T>*>(&in[int64_t{row + i} * e.cols + col]);
    } else {
#pragma unroll
        for (int i = 0; i < V; ++i)
#pragma unroll
            for (int j = 0; j < V; ++j)
                if (row + i < e.rows && col + j < e.cols)
                    a[i].at[j] = in[int64_t{row + i} * e.cols + col + j];
    }

#pragma unroll
    for (int j = 0; j < V; ++j) {
        Pack<T> b;
#pragma unroll
        for (int i = 0; i < V; ++i) b.at[i] = a[i].at[j];
        tile[across * V + j][down ^ (across & 7)] = b;
    }

    __syncthreads();

    if (e.rows % V == 0) {
#pragma unroll
        for (int k = threadIdx.x; k < SIDE * PACKS; k += THREADS) {
            const int r = k / PACKS, pack = k % PACKS;
            if (col0 + r < e.cols && row0 + pack * V < e.rows)
                *reinterpret_cast<Pack<T>*>(&out[int64_t{col0 + r} * e.rows + row0 + pack * V]) =
                    tile[r][pack ^ (r / V & 7)];
        }
    } else {
        // Neighbouring lanes write neighbouring elements: a lane that wrote V of its own would touch V times
        // the sectors.
        for (int k = threadIdx.x; k < SIDE * SIDE; k += THREADS) {
            const int r = k / SIDE, c = k % SIDE;
            if (col0 + r < e.cols && row0 + c < e.rows)
                out[int64_t{col0 + r} * e.rows + row0 + c] = tile[r][c / V ^ (r / V & 7)].at[c % V];
        }
    }
}

int main(int argc, char** argv) {
    Transpose ladder("vectorized", "Transposes with 16-byte accesses and a swizzled tile: the top rung.",
                     argc, argv);
    ladder.variant("vectorized", "16 bytes on every side, swizzled tile", [](auto t) {
        const int side = PACKS * (16 / sizeof(*t.in));
        transpose_vectorized<<<tiles({t.extent.cols, t.extent.rows}, side, side), THREADS>>>(t.in, t.out,
                                                                                             t.extent);
    });
    add_geam(ladder);
    return ladder.run();
}
