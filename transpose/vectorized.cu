// vectorized.cu: 16 bytes an access on every side. The top rung.
//
// Idea:   a thread takes a patch of V x V elements (V = 4 floats or 2 doubles, 16 bytes): V loads of 16
// bytes, a
//         transpose in registers, V stores of 16 bytes into the tile, which is thereby transposed already.
//         After the barrier the block copies the tile's rows out, 16 bytes a lane. A quarter of the
//         instructions, and each thread has four loads under way. The tile is 64 wide: rows of 256 bytes and
//         more on both sides.
// Banks:  a 16-byte access goes by quarter warps: 8 lanes, 128 bytes, all banks once. In the tile's row r,
// pack p is
//         kept at p XOR (r / V mod 8). Eight lanes that store one pack into rows V apart hit eight different
//         packs, and so do eight lanes that read a row.
// Cost:   rows must start at multiples of 16 bytes; where they do not, the same kernel moves single elements.
// Wrong still: little: it runs at the copy's speed. See tma.cu for what Hopper's copy engine does.
// Texts: none goes this far.
#include "geam.cuh"

constexpr int SIDE = 64;  // of a tile, in elements
constexpr int THREADS = 256;

/// 16 bytes: V elements.
template <typename T>
struct alignas(16) Pack {
    static constexpr int V = 16 / sizeof(T);
    T at[V];
};

/// Reads the V elements from (row, col) on. What lies outside of the matrix stays undefined and is never
/// written.
template <bool ALIGNED, typename T>
__device__ Pack<T> load(const T* matrix, int64_t row, int64_t col, int64_t rows, int64_t cols) {
    Pack<T> pack = {};
    if (row >= rows) return pack;
    const T* from = matrix + row * cols + col;
    if (ALIGNED) {
        if (col < cols) pack = *reinterpret_cast<const Pack<T>*>(from);
    } else {
#pragma unroll
        for (int i = 0; i < Pack<T>::V; ++i)
            if (col + i < cols) pack.at[i] = from[i];
    }
    return pack;
}

template <bool ALIGNED, typename T>
__device__ void store(T* matrix, int64_t row, int64_t col, int64_t rows, int64_t cols, Pack<T> pack) {
    if (row >= rows) return;
    T* to = matrix + row * cols + col;
    if (ALIGNED) {
        if (col < cols) *reinterpret_cast<Pack<T>*>(to) = pack;
    } else {
#pragma unroll
        for (int i = 0; i < Pack<T>::V; ++i)
            if (col + i < cols) to[i] = pack.at[i];
    }
}

template <bool ALIGNED, typename T>
__global__ void __launch_bounds__(THREADS) transpose_vectorized(const T* in, T* out, Extent e) {
    constexpr int V = Pack<T>::V;
    constexpr int PACKS = SIDE / V;  // in a row of the tile
    __shared__ Pack<T> tile[SIDE][PACKS];

    const int64_t row0 = tile_down() * SIDE, col0 = blockIdx.x * int64_t{SIDE};

#pragma unroll
    for (int patch = threadIdx.x; patch < PACKS * PACKS; patch += THREADS) {
        const int down = patch / PACKS, across = patch % PACKS;
        Pack<T> a[V];
#pragma unroll
        for (int i = 0; i < V; ++i)
            a[i] = load<ALIGNED>(in, row0 + down * V + i, col0 + across * V, e.rows, e.cols);
#pragma unroll
        for (int j = 0; j < V; ++j) {
            Pack<T> b;
#pragma unroll
            for (int i = 0; i < V; ++i) b.at[i] = a[i].at[j];
            tile[across * V + j][down ^ (across & 7)] = b;
        }
    }

    __syncthreads();

#pragma unroll
    for (int k = threadIdx.x; k < SIDE * PACKS; k += THREADS) {
        const int row = k / PACKS, pack = k % PACKS;
        store<ALIGNED>(out, col0 + row, row0 + pack * V, e.cols, e.rows, tile[row][pack ^ (row / V & 7)]);
    }
}

int main(int argc, char** argv) {
    Transpose ladder("vectorized", "Transposes with 16-byte accesses and a swizzled tile: the top rung.",
                     argc, argv);
    ladder.variant("vectorized", "64x64 tile, 16-byte accesses, swizzle", [](auto in, auto out, Extent e) {
        const int V = 16 / sizeof(*in);
        if (e.rows % V == 0 && e.cols % V == 0)
            transpose_vectorized<true><<<tiles(e, SIDE, SIDE), THREADS>>>(in, out, e);
        else
            transpose_vectorized<false><<<tiles(e, SIDE, SIDE), THREADS>>>(in, out, e);
    });
    add_geam(ladder);
    return ladder.run();
}
