// register_tile.cuh: a tile of the plane in the registers of a block, or of a cluster of blocks, takes several time
// steps. temporal_2d.cu tells the idea; heat.cu puts it to use.
#pragma once
#include <cooperative_groups.h>

#include "plane.cuh"

/// The most steps of a pass: each costs a row or column of the tile on every side.
constexpr int MOST_STEPS = 16;

/// The cells that a block holds, halo included: each warp ROWS rows of them, each lane a pack of every row. A cluster's
/// blocks lie one below the other.
template <typename T>
struct RegisterTile {
    static constexpr int V = 16 / sizeof(T), ROWS = 16, WARPS = 8;
    static constexpr int WIDTH = WARP_SIZE * V, HEIGHT = ROWS * WARPS, THREADS = WARP_SIZE * WARPS;
    using Row = Pack<T, V>;

    /// By warp: the row above its own, and the one below. Two of each: what is for the next step may come while this
    /// step is being read.
    struct Neighbours {
        Row above[WARPS][WARP_SIZE], below[WARPS][WARP_SIZE];
    };

    /// Columns that are lost on either side. A whole number of packs, so that each pack is the tile's or the halo's.
    static __host__ __device__ int halo(int steps) { return (steps + V - 1) / V * V; }
};

/// One step of cell (x, y) of a tile. at(dx, dy): the tile's cell so far away. At the edge of the domain the rule holds
/// anew in every step. Under `periodic` the cells beyond the edge are cells like others, and take the steps too.
template <typename T, typename At>
__device__ T step_at_edge(const Domain& d, int x, int y, const Coefficients<T>& c, const At& at) {
    const bool west = x == 0, east = x == static_cast<int>(d.nx) - 1;
    const bool top = y == 0, bottom = y == static_cast<int>(d.ny) - 1;
    const bool clamp = d.boundary == Boundary::clamp, beyond_is_known = clamp || d.boundary == Boundary::zero;
    const T centre = at(0, 0), beyond = clamp ? centre : T(0);
    const T result = five_points(c, [&](int dx, int dy) {
        const bool outside = (dx < 0 && west) || (dx > 0 && east) || (dy < 0 && top) || (dy > 0 && bottom);
        return beyond_is_known && outside ? beyond : at(dx, dy);
    });
    return d.boundary == Boundary::keep && (west || east || top || bottom) ? centre : result;
}

/// One step of a warp's row y. x: the lane's first cell.
template <bool EDGE, typename T, int V>
__device__ Pack<T, V> step_row(const Domain& d, int x, int y, const Coefficients<T>& c,
                               const Pack<T, V>& above, const Pack<T, V>& own, const Pack<T, V>& below) {
    const Row<T, V> row = {own, __shfl_up_sync(ALL_LANES, own.at[V - 1], 1),
                           __shfl_down_sync(ALL_LANES, own.at[0], 1)};
    Pack<T, V> result;
#pragma unroll
    for (int j = 0; j < V; ++j) {
        const auto at = [&](int dx, int dy) {
            return dy < 0 ? above.at[j] : dy > 0 ? below.at[j] : row[j + dx];
        };
        result.at[j] = EDGE ? step_at_edge(d, x + j, y, c, at) : five_points(c, at);
    }
    return result;
}

/// The same variable in the shared memory of block `rank` of the cluster.
template <typename Variable>
__device__ Variable& of_block(Variable& variable, int rank) {
#if __CUDA_ARCH__ >= 900
    return *cooperative_groups::this_cluster().map_shared_rank(&variable, rank);
#else
    (void)rank;
    return variable;  // not reached: where there are no clusters, none can be launched
#endif
}

/// "I have given": without waiting, in a cluster.
template <int CLUSTER>
__device__ void arrive() {
#if __CUDA_ARCH__ >= 900
    if (CLUSTER > 1) cooperative_groups::this_cluster().barrier_arrive();
#endif
}
/// All have given.
template <int CLUSTER>
__device__ void wait() {
#if __CUDA_ARCH__ >= 900
    if (CLUSTER > 1) return cooperative_groups::this_cluster().barrier_wait();
#endif
    __syncthreads();
}

template <int CLUSTER, bool EDGE, typename T>
__device__ void advance_tile(const T* in, T* out, const Domain& d, const Coefficients<T>& c, int steps,
                             int x0, int y0, typename RegisterTile<T>::Neighbours (&shared)[2]) {
    using Tile = RegisterTile<T>;
    constexpr int V = Tile::V, ROWS = Tile::ROWS, LAST = Tile::WARPS - 1;
    const int lane = threadIdx.x % WARP_SIZE, warp = threadIdx.x / WARP_SIZE, rank = blockIdx.x % CLUSTER;
    const int x = x0 + lane * V, y = y0 + (rank * Tile::WARPS + warp) * ROWS;
    const bool first = warp == 0 && rank == 0, last = warp == LAST && rank == CLUSTER - 1;

    const bool packs = d.nx % V == 0;
    int64_t column[V];
    bool exists[V];
#pragma unroll
    for (int j = 0; j < V; ++j) {
        column[j] = x + j;
        exists[j] = !EDGE || d.place(column[j], d.nx);
    }
    typename Tile::Row row[ROWS];
    arrive<CLUSTER>();
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        int64_t line = y + r;
        const bool line_exists = !EDGE || d.place(line, d.ny);
        if (!EDGE && packs) {
            row[r] = *reinterpret_cast<const typename Tile::Row*>(&in[d.index(x, line)]);
        } else {
#pragma unroll
            for (int j = 0; j < V; ++j)
                row[r].at[j] = line_exists && exists[j] ? in[d.index(column[j], line)] : T(0);
        }
    }
    if (CLUSTER > 1) wait<CLUSTER>();  // no block may be given anything before it is there

    for (int step = 0; step < steps; ++step) {
        auto& mine = shared[step % 2];
        if (warp > 0) mine.below[warp - 1][lane] = row[0];
        if (warp < LAST) mine.above[warp + 1][lane] = row[ROWS - 1];
        if (warp == 0 && !first) of_block(mine, rank - 1).below[LAST][lane] = row[0];
        if (warp == LAST && !last) of_block(mine, rank + 1).above[0][lane] = row[ROWS - 1];
        arrive<CLUSTER>();

        // The inner rows need nothing from other warps.
        typename Tile::Row above = row[0], second = row[1];
#pragma unroll
        for (int r = 1; r < ROWS - 1; ++r) {
            const auto next = step_row<EDGE>(d, x, y + r, c, above, row[r], row[r + 1]);
            above = row[r];
            row[r] = next;
        }
        wait<CLUSTER>();
        // Beyond the tile any value will do: it never gets as far as the cells that are stored.
        const auto top = first ? row[0] : mine.above[warp][lane];
        const auto bottom = last ? row[ROWS - 1] : mine.below[warp][lane];
        row[0] = step_row<EDGE>(d, x, y, c, top, row[0], second);
        row[ROWS - 1] = step_row<EDGE>(d, x, y + ROWS - 1, c, above, row[ROWS - 1], bottom);
    }

    const int halo = Tile::halo(steps), from = y0 + steps,
              end = min(y0 + Tile::HEIGHT * CLUSTER - steps, static_cast<int>(d.ny));
    if (lane * V < halo || lane * V >= Tile::WIDTH - halo) return;
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        if (y + r < from || y + r >= end) continue;
        if (packs) {
            if (x < d.nx) *reinterpret_cast<typename Tile::Row*>(&out[d.index(x, y + r)]) = row[r];
        } else {
#pragma unroll
            for (int j = 0; j < V; ++j)
                if (x + j < d.nx) out[d.index(x + j, y + r)] = row[r].at[j];
        }
    }
}

/// Two blocks on a multiprocessor, one of which computes while the other loads. That leaves 128 registers a thread: what
/// does not fit lies in the code for the edge, which few blocks take.
template <int CLUSTER, typename T>
__global__ void __launch_bounds__(RegisterTile<T>::THREADS, 2)
    stencil_in_registers(const T* in, T* out, Domain d, Coefficients<T> c, int steps) {
    using Tile = RegisterTile<T>;
    __shared__ typename Tile::Neighbours shared[2];
    const int halo = Tile::halo(steps), height = Tile::HEIGHT * CLUSTER;
    const int x0 = static_cast<int>(blockIdx.x / CLUSTER) * (Tile::WIDTH - 2 * halo) - halo;
    const int y0 = tile_y() * (height - 2 * steps) - steps;
    if (d.inner_x(x0, x0 + Tile::WIDTH, 1) && d.inner_y(y0, y0 + height, 1))
        advance_tile<CLUSTER, false>(in, out, d, c, steps, x0, y0, shared);
    else
        advance_tile<CLUSTER, true>(in, out, d, c, steps, x0, y0, shared);
}

/// `steps` steps, at most MOST_STEPS, in one launch. CLUSTER > 1 needs sm_90.
template <int CLUSTER, typename T>
void take_steps(const T* in, T* out, const Domain& d, const Coefficients<T>& c, int steps) {
    using Tile = RegisterTile<T>;
    const int64_t across = ceil_div(d.nx, Tile::WIDTH - 2 * Tile::halo(steps));
    const int64_t down = ceil_div(d.ny, Tile::HEIGHT * CLUSTER - 2 * steps);
    cudaLaunchConfig_t config = {};
    config.gridDim = grid_of_tiles(across * CLUSTER, down);
    config.blockDim = Tile::THREADS;
    cudaLaunchAttribute cluster = {};
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim = {CLUSTER, 1, 1};
    config.attrs = &cluster;
    config.numAttrs = CLUSTER > 1;
    CHECK_CUDA_CALL(cudaLaunchKernelEx(&config, stencil_in_registers<CLUSTER, T>, in, out, d, c, steps));
}
