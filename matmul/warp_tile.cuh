// warp_tile.cuh: how a block's tile of C is shared out among warps and threads (warptile.cu says why), and how the tiles
// of A and B come into shared memory. For float.
#pragma once
#include "async_copy.cuh"
#include "matmul.cuh"
#include "pack.cuh"

/// May A, B and C be read and written in fours? Each row must start at 16 bytes and end with a four.
inline bool in_fours(const Task<float>& t) {
    return t.a_is_aligned() && t.b_is_aligned() && t.c_is_aligned() && t.n % 4 == 0 && t.k % 4 == 0;
}

/// A block computes BM x BN elements of C, BK products at a time. Each of its warps takes WM x WN of them, each thread
/// TM x TN: patches of 4 x 4, which lie LANES_DOWN and LANES_ACROSS patches apart.
template <int BM_, int BN_, int BK_, int WM_, int WN_, int TM_, int TN_>
struct Tiling {
    static constexpr int BM = BM_, BN = BN_, BK = BK_, WM = WM_, WN = WN_, TM = TM_, TN = TN_;
    static constexpr int LANES_DOWN = WM / TM, LANES_ACROSS = WN / TN;
    static constexpr int WARPS_ACROSS = BN / WN, THREADS = BM / WM * WARPS_ACROSS * WARP_SIZE;
    static_assert(LANES_DOWN * LANES_ACROSS == WARP_SIZE && BM % WM == 0 && BN % WN == 0);
    static_assert(TM % 4 == 0 && TN % 4 == 0);

    /// What a block keeps of A and B. A's tile is transposed; the spare columns move the elements of a row of A into
    /// different banks.
    struct alignas(16) Shared {
        float a[BK][BM + 4], b[BK][BN];
    };
};

/// A thread's share of A's tiles, V elements an access. It keeps its places in A, so that a tile costs it no
/// multiplications of addresses.
template <class Tile, int V>
class CopyOfA {
    static constexpr int ACROSS = Tile::BK / V, ROWS = Tile::THREADS / ACROSS, COUNT = Tile::BM / ROWS;
    static_assert(Tile::THREADS % ACROSS == 0 && Tile::BM % ROWS == 0);
    const int row = threadIdx.x / ACROSS, col = threadIdx.x % ACROSS * V;
    const float* from[COUNT];
    Pack<float, V> held[COUNT];

 public:
    /// A row below A's last stands for one whose results nobody stores: the last will do.
    __device__ CopyOfA(const Task<float>& t, int row0) {
#pragma unroll
        for (int i = 0; i < COUNT; ++i) from[i] = t.a + min(row0 + row + i * ROWS, t.m - 1) * t.lda + col;
    }
    /// Loads from A's next `width` columns, BK or fewer; zeros stand for those that a whole tile has besides.
    __device__ void fetch(int width) {
#pragma unroll
        for (int i = 0; i < COUNT; ++i) {
            held[i] = width == Tile::BK || col < width ? *reinterpret_cast<const Pack<float, V>*>(from[i])
                                                       : Pack<float, V>{};
            from[i] += width;
        }
    }
    __device__ void put(typename Tile::Shared& tile) const {
#pragma unroll
        for (int i = 0; i < COUNT; ++i)
#pragma unroll
            for (int v = 0; v < V; ++v) tile.a[col + v][row + i * ROWS] = held[i].at[v];
    }
    /// Both in one, by cp.async. It cannot take four elements apart, so V is 1.
    __device__ void fetch_async(int width, typename Tile::Shared& tile) {
        static_assert(V == 1);
#pragma unroll
        for (int i = 0; i < COUNT; ++i) {
            copy_async<4>(&tile.a[col][row + i * ROWS], from[i], width == Tile::BK || col < width);
            from[i] += width;
        }
    }
};

/// The same for B.
template <class Tile, int V>
class CopyOfB {
    static constexpr int ACROSS = Tile::BN / V, ROWS = Tile::THREADS / ACROSS, COUNT = Tile::BK / ROWS;
    static_assert(Tile::THREADS % ACROSS == 0 && Tile::BK % ROWS == 0);
    const int row = threadIdx.x / ACROSS, col = threadIdx.x % ACROSS * V;
    const float* from;
    const int64_t ldb;
    Pack<float, V> held[COUNT];

 public:
    __device__ CopyOfB(const Task<float>& t, int col0)
        : from(t.b + row * t.ldb + min(col0 + col, t.n - V)), ldb(t.ldb) {}

    __device__ void fetch(int height) {
#pragma unroll
        for (int i = 0; i < COUNT; ++i)
            held[i] = height == Tile::BK || row + i * ROWS < height
                          ? *reinterpret_cast<const Pack<float, V>*>(from + i * ROWS * ldb)
                          : Pack<float, V>{};
        from += height * ldb;
    }
    __device__ void put(typename Tile::Shared& tile) const {
#pragma unroll
        for (int i = 0; i < COUNT; ++i)
            *reinterpret_cast<Pack<float, V>*>(&tile.b[row + i * ROWS][col]) = held[i];
    }
    __device__ void fetch_async(int height, typename Tile::Shared& tile) {
#pragma unroll
        for (int i = 0; i < COUNT; ++i)
            copy_async<4 * V>(&tile.b[row + i * ROWS][col], from + i * ROWS * ldb,
                              height == Tile::BK || row + i * ROWS < height);
        from += height * ldb;
    }
};

/// What a thread reads for one k, for TM x TN multiply-adds: part of a column of A and of a row of B.
template <class Tile>
struct Fragments {
    Pack<float, 4> a[Tile::TM / 4], b[Tile::TN / 4];
};

/// A thread's elements of C. PAIRS: lanes go down by two, then across; otherwise across, then down.
template <class Tile, bool PAIRS = true>
class Results {
    static constexpr int TM = Tile::TM, TN = Tile::TN, DOWN = Tile::LANES_DOWN, ACROSS = Tile::LANES_ACROSS;
    float sum[TM][TN] = {};
    int row, col;  ///< of the first, in the block's tile

 public:
    __device__ Results() {
        const int warp = threadIdx.x / WARP_SIZE, lane = threadIdx.x % WARP_SIZE, pair = lane / 2;
        const int down = PAIRS ? pair / ACROSS * 2 + lane % 2 : lane / ACROSS;
        const int across = PAIRS ? pair % ACROSS : lane % ACROSS;
        row = warp / Tile::WARPS_ACROSS * Tile::WM + down * 4;
        col = warp % Tile::WARPS_ACROSS * Tile::WN + across * 4;
    }

    __device__ Fragments<Tile> read(const typename Tile::Shared& tile, int k) const {
        Fragments<Tile> f;
#pragma unroll
        for (int i = 0; i < TM / 4; ++i)
            f.a[i] = *reinterpret_cast<const Pack<float, 4>*>(&tile.a[k][row + i * DOWN * 4]);
#pragma unroll
        for (int j = 0; j < TN / 4; ++j)
            f.b[j] = *reinterpret_cast<const Pack<float, 4>*>(&tile.b[k][col + j * ACROSS * 4]);
        return f;
    }

    /// Down one column of results and up the next, so that each multiply-add has a factor from the one before. FROM_LAST
    /// begins with the last column: the compiler then finds other registers.
    template <bool FROM_LAST = false>
    __device__ void add(const Fragments<Tile>& f) {
#pragma unroll
        for (int column = 0; column < TN; ++column)
#pragma unroll
            for (int step = 0; step < TM; ++step) {
                const int j = FROM_LAST ? TN - 1 - column : column;
                const int i = column % 2 ? TM - 1 - step : step;
                sum[i][j] += f.a[i / 4].at[i % 4] * f.b[j / 4].at[j % 4];
            }
    }

    template <int V>
    __device__ void store(const Task<float>& t, int row0, int col0) const {
#pragma unroll
        for (int i = 0; i < TM; ++i)
#pragma unroll
            for (int j = 0; j < TN; j += V) {
                const int r = row0 + row + i / 4 * DOWN * 4 + i % 4;
                const int c = col0 + col + j / 4 * ACROSS * 4 + j % 4;
                if (r >= t.m || c >= t.n) continue;
                auto& cells = *reinterpret_cast<Pack<float, V>*>(&t.c[r * t.ldc + c]);
                Pack<float, V> old = {};
                if (t.beta != 0) old = cells;
                Pack<float, V> now;
#pragma unroll
                for (int v = 0; v < V; ++v) now.at[v] = t.combine(sum[i][j + v], old.at[v]);
                cells = now;
            }
    }
};
