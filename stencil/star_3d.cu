// star_3d.cu: 7 points in three dimensions, or 25 with --radius 4. A block walks through planes.
//
// Idea:   naive    a thread a cell, 6 R + 1 loads. The neighbours in z lie a whole plane away, so that L1 has
//                  lost them, or not yet got them: another block loads them again.
//         plane    2.5-D: a block walks along z. The plane that it stands on lies in shared memory with its halo;
//                  the cells above and below it, each thread's own column, in a queue of registers:
//
//                      z + R   queue[2R]   the only cell that is new
//                      z       queue[R]  = plane[y][x], with neighbours in x and y
//                      z - R   queue[0]    goes
//
//         split    the same with the walk cut into pieces of DEPTH planes. One block a column is few blocks for a
//                  small domain; but a piece also reads the R planes before and behind it.
//         bricks   16 bytes a load, no shared memory and no walk (radius 1): a thread takes 2 rows of 4 planes, and starts
//                  all of its loads before it uses the first. The neighbours in x and y are in L1, those in z in
//                  registers; of 6 planes read, 4 are written, and the blocks behind find the other 2 in L2.
//         ring     16 bytes a copy: cp.async fetches whole planes with their halo, AHEAD planes before they
//                  are needed, into a ring of planes in shared memory. The queue is filled from there.
// Speed:  of bricks, that blocks take the domain in the order of its addresses, as the copy does: a walk is at a hundred places
//         of it at once. Of ring, at radius 1 the planes in flight; at radius 4 a cell is read 17 times in its plane,
//         and what is short is instructions.
// Layout: the halo of ring is whole sectors of 32 bytes wide, though 16 bytes hold the cells that are needed. cp.async
//         fetches a sector for each 16 bytes of it that go to different sectors of shared memory; shifted by 16
//         bytes, that is each sector twice.
// Edge:   as in star_2d.cu, a place beyond the edge is looked up once a thread, not once a plane.
// Cost:   the halo: (w + 2R) (h + 2R) / (w h) of the tile and (DEPTH + 2R) / DEPTH of the walk, most of it from L2.
// Wrong still: at radius 4 every neighbour in y is read from shared memory for one cell alone, and every thread copies its
//         part of the halo by itself. tma_3d.cu does neither.
// Texts: none has three dimensions.
#include <cuda_pipeline.h>

#include "packs.cuh"

constexpr int TILE_X = 32, TILE_Y = 8;  // threads of a block; their cells, or packs, are a tile of a plane
constexpr int THREADS = TILE_X * TILE_Y;
constexpr int DEPTH = 64;                 // planes that a block walks through
constexpr int AHEAD = 2;                  // planes in flight
constexpr int BRICK_X = 64, BRICK_Y = 4;  // threads of a block
constexpr int ROWS = 2, PLANES = 4;       // of a brick, which a thread has
constexpr int MOST_RADIUS = 4;

/// The first cell of this block's tile. Blocks count along x, then y, then z: a grid's y and z are too short.
struct Corner {
    int x, y, z;
};
__device__ Corner corner_of_tile(const Domain& d, int width, int height, int depth) {
    const unsigned across = (d.nx + width - 1) / width, down = (d.ny + height - 1) / height;
    const unsigned x = blockIdx.x % across, y = blockIdx.x / across % down, z = blockIdx.x / across / down;
    return {static_cast<int>(x * width), static_cast<int>(y * height), static_cast<int>(z * depth)};
}
inline dim3 tiles(const Domain& d, int64_t width, int64_t height, int64_t depth) {
    return grid_of_tiles(ceil_div(d.nx, width) * ceil_div(d.ny, height) * ceil_div(d.nz, depth), 1);
}

/// at(dx, dy, dz): the cell so far away.
template <int R, typename T, typename At>
__device__ T star(const Coefficients<T>& c, const At& at) {
    T sum = c[0] * at(0, 0, 0);
#pragma unroll
    for (int k = 1; k <= R; ++k) {
        const T* const w = &c.at[1 + 6 * (k - 1)];
        sum += w[0] * at(-k, 0, 0);
        sum += w[1] * at(k, 0, 0);
        sum += w[2] * at(0, -k, 0);
        sum += w[3] * at(0, k, 0);
        sum += w[4] * at(0, 0, -k);
        sum += w[5] * at(0, 0, k);
    }
    return sum;
}

template <int R, typename T>
__global__ void star_naive(const T* in, T* out, Domain d, Coefficients<T> c) {
    const Corner first = corner_of_tile(d, TILE_X, TILE_Y, 1);
    const int x = first.x + threadIdx.x, y = first.y + threadIdx.y, z = first.z;
    if (d.inner_x(first.x, first.x + TILE_X, R) && d.inner_y(first.y, first.y + TILE_Y, R) &&
        d.inner_z(z, z + 1, R))
        out[d.index(x, y, z)] =
            star<R>(c, [&](int dx, int dy, int dz) { return in[d.index(x + dx, y + dy, z + dz)]; });
    else if (x < d.nx && y < d.ny && d.stays(x, y, z, R))
        out[d.index(x, y, z)] = in[d.index(x, y, z)];
    else if (x < d.nx && y < d.ny)
        out[d.index(x, y, z)] =
            star<R>(c, [&](int dx, int dy, int dz) { return d.read(in, x + dx, y + dy, z + dz); });
}

template <int R, typename T>
__global__ void star_plane(const T* in, T* out, Domain d, Coefficients<T> c, int depth) {
    constexpr int WIDTH = R + TILE_X + R, HEIGHT = R + TILE_Y + R;
    __shared__ T plane[HEIGHT][WIDTH];
    const Corner first = corner_of_tile(d, TILE_X, TILE_Y, depth);
    const int x = first.x + threadIdx.x, y = first.y + threadIdx.y;
    const int end = min(first.z + depth, static_cast<int>(d.nz));
    const bool inner = d.inner_x(first.x, first.x + TILE_X, R) && d.inner_y(first.y, first.y + TILE_Y, R) &&
                       d.inner_z(first.z, end, R);
    const auto cell = [&](int at_x, int at_y, int at_z) {
        return inner ? in[d.index(at_x, at_y, at_z)] : d.read(in, at_x, at_y, at_z);
    };

    T queue[R + 1 + R];
#pragma unroll
    for (int k = -R; k < R; ++k) queue[R + 1 + k] = cell(x, y, first.z + k);
    for (int z = first.z; z < end; ++z) {
#pragma unroll
        for (int k = 0; k < 2 * R; ++k) queue[k] = queue[k + 1];
        queue[2 * R] = cell(x, y, z + R);

        for (int i = threadIdx.y * TILE_X + threadIdx.x; i < WIDTH * HEIGHT; i += THREADS)
            plane[i / WIDTH][i % WIDTH] = cell(first.x - R + i % WIDTH, first.y - R + i / WIDTH, z);
        __syncthreads();
        const auto at = [&](int dx, int dy, int dz) {
            return dz ? queue[R + dz] : plane[R + threadIdx.y + dy][R + threadIdx.x + dx];
        };
        if (x < d.nx && y < d.ny)
            out[d.index(x, y, z)] = !inner && d.stays(x, y, z, R) ? queue[R] : star<R>(c, at);
        __syncthreads();
    }
}

/// Which cells of the pack at (x, y) stay as they were in every plane: bit j for cell j.
template <int R, int V>
__device__ unsigned cells_that_stay(const Domain& d, int x, int y) {
    unsigned bits = 0;
#pragma unroll
    for (int j = 0; j < V; ++j)
        if (d.stays(x + j, y, R)) bits |= 1u << j;
    return bits;
}

/// Puts back what was before, where the rule is to keep it.
template <int R, typename T, int V>
__device__ void put_back(Pack<T, V>& result, const Pack<T, V>& before, const Domain& d, unsigned stay,
                         int z) {
    if (d.boundary != Boundary::keep) return;
    if (!d.inner_z(z, z + 1, R)) result = before;
#pragma unroll
    for (int j = 0; j < V; ++j)
        if (stay >> j & 1) result.at[j] = before.at[j];
}

/// The pack of plane z at `place` within a plane.
template <int V, typename T>
__device__ Pack<T, V> pack_of_plane(const T* in, const Domain& d, int64_t place, int64_t z) {
    if (!d.place(z, d.nz)) return {};
    return *reinterpret_cast<const Pack<T, V>*>(&in[z * (d.nx * d.ny) + place]);
}

/// INNER: every neighbour in y and z exists, and nothing has to be asked.
template <bool INNER, int V, typename T>
__device__ void star_brick(const T* in, T* out, const Domain& d, const Coefficients<T>& c, int x, int y,
                           int z) {
    int64_t west = x - 1, east = x + V;
    const bool has_west = d.place(west, d.nx), has_east = d.place(east, d.nx);
    Pack<T, V> cells[PLANES + 2][ROWS + 2];
    T w[PLANES][ROWS], e[PLANES][ROWS];
#pragma unroll
    for (int k = 0; k < PLANES + 2; ++k)
#pragma unroll
        for (int i = 0; i < ROWS + 2; ++i) {
            const bool above = k == 0 || k == PLANES + 1, beside = i == 0 || i == ROWS + 1;
            if (above && beside) continue;  // no cell's neighbours
            int64_t at_y = y + i - 1, at_z = z + k - 1;
            const bool exists = INNER || (d.place(at_y, d.ny) && d.place(at_z, d.nz));
            const T* const row = &in[d.index(0, at_y, at_z)];
            cells[k][i] = {};
            if (exists) cells[k][i] = *reinterpret_cast<const Pack<T, V>*>(&row[x]);
            if (above || beside) continue;
            w[k - 1][i - 1] = exists && has_west ? row[west] : T(0);
            e[k - 1][i - 1] = exists && has_east ? row[east] : T(0);
        }
#pragma unroll
    for (int k = 0; k < PLANES; ++k)
#pragma unroll
        for (int i = 0; i < ROWS; ++i) {
            const Pack<T, V>& own = cells[k + 1][i + 1];
            Pack<T, V> result;
#pragma unroll
            for (int j = 0; j < V; ++j)
                result.at[j] = star<1>(c, [&](int dx, int dy, int dz) {
                    if (dz || dy) return cells[k + 1 + dz][i + 1 + dy].at[j];
                    return j + dx < 0 ? w[k][i] : j + dx < V ? own.at[j + dx] : e[k][i];
                });
#pragma unroll
            for (int j = 0; j < V; ++j)
                if (INNER ? d.stays(x + j, 1) : d.stays(x + j, y + i, z + k, 1)) result.at[j] = own.at[j];
            if (INNER || (y + i < d.ny && z + k < d.nz))
                *reinterpret_cast<Pack<T, V>*>(&out[d.index(x, y + i, z + k)]) = result;
        }
}

template <int V, typename T>
__global__ void __launch_bounds__(BRICK_X* BRICK_Y, 8 / sizeof(T))
    star_bricks(const T* in, T* out, Domain d, Coefficients<T> c) {
    const Corner first = corner_of_tile(d, BRICK_X * V, BRICK_Y * ROWS, PLANES);
    const int x = first.x + threadIdx.x * V, y = first.y + threadIdx.y * ROWS;
    if (x >= d.nx) return;
    if (d.inner_y(first.y, first.y + BRICK_Y * ROWS, 1) && d.inner_z(first.z, first.z + PLANES, 1))
        star_brick<true, V>(in, out, d, c, x, y, first.z);
    else
        star_brick<false, V>(in, out, d, c, x, y, first.z);
}

/// M: packs of halo on either side.
template <int R, int V, typename T>
struct Ring {
    static constexpr int M = HALO_PACKS<R, V, T>, WIDTH = M + TILE_X + M, HEIGHT = R + TILE_Y + R;
    static constexpr int SLOTS = R + 1 + AHEAD;  // from the plane at hand to the last in flight
    Pack<T, V> slot[SLOTS][HEIGHT][WIDTH];
};

template <int R, int V, typename T>
__global__ void __launch_bounds__(THREADS, R > 3 ? 3 : 0)
    star_ring(const T* in, T* out, Domain d, Coefficients<T> c, int depth) {
    using Planes = Ring<R, V, T>;
    constexpr int M = Planes::M, WIDTH = Planes::WIDTH, PACKS = WIDTH * Planes::HEIGHT;
    constexpr int SHARE = (PACKS + THREADS - 1) / THREADS;  // of a plane's packs, for each thread
    extern __shared__ __align__(16) unsigned char dynamic_shared[];
    Planes& ring = *reinterpret_cast<Planes*>(dynamic_shared);

    const Corner first = corner_of_tile(d, TILE_X * V, TILE_Y, depth);
    const int x = first.x + threadIdx.x * V, y = first.y + threadIdx.y;
    const int end = min(first.z + depth, static_cast<int>(d.nz));
    const int across = M + threadIdx.x, down = R + threadIdx.y, thread = threadIdx.y * TILE_X + threadIdx.x;
    const int64_t plane = d.nx * d.ny;

    // Where this thread's packs come from, the same in every plane; -1: from nowhere, they are zeros. Those beyond the
    // edge that `clamp` makes of one cell are no copies.
    int64_t from[SHARE];
    bool is_one_cell[SHARE];
#pragma unroll
    for (int i = 0; i < SHARE; ++i) {
        const int n = thread + i * THREADS;
        int64_t at_x = first.x + (n % WIDTH - M) * V, at_y = first.y - R + n / WIDTH;
        is_one_cell[i] = d.boundary == Boundary::clamp && (at_x < 0 || at_x >= d.nx);
        from[i] = d.place(at_x, d.nx) && d.place(at_y, d.ny) ? d.index(at_x, at_y) : -1;
    }
    const auto fetch = [&](int z, int slot) {
        int64_t from_z = z;
        const bool exists = d.place(from_z, d.nz);
        const T* const cells = in + from_z * plane;
#pragma unroll
        for (int i = 0; i < SHARE; ++i) {
            const int n = thread + i * THREADS;
            if (n >= PACKS || z >= end + R) continue;
            Pack<T, V>& to = (&ring.slot[slot][0][0])[n];
            if (exists && from[i] >= 0 && !is_one_cell[i]) {
                __pipeline_memcpy_async(&to, &cells[from[i]], sizeof to);
            } else {
                const T cell = exists && from[i] >= 0 ? cells[from[i]] : T(0);
#pragma unroll
                for (int j = 0; j < V; ++j) to.at[j] = cell;
            }
        }
        __pipeline_commit();
    };

    Pack<T, V> queue[R + 1 + R];
    for (int k = 0; k < R + AHEAD; ++k) fetch(first.z + k, k);
#pragma unroll
    for (int k = 0; k < R; ++k)
        if (x < d.nx && y < d.ny) queue[1 + k] = pack_of_plane<V>(in, d, d.index(x, y), first.z - R + k);
    __pipeline_wait_prior(AHEAD);
    __syncthreads();
#pragma unroll
    for (int k = 0; k < R; ++k) queue[1 + R + k] = ring.slot[k][down][across];

    const unsigned stay = cells_that_stay<R, V>(d, x, y);
    T* to = &out[d.index(x, y, first.z)];
    int now = 0;  // the slot of plane z
    for (int z = first.z; z < end; ++z, to += plane) {
        __pipeline_wait_prior(AHEAD - 1);  // plane z + R is here,
        __syncthreads();                   // for all; and all have done with plane z - 1
        fetch(z + R + AHEAD, now > 0 ? now - 1 : Planes::SLOTS - 1);
#pragma unroll
        for (int k = 0; k < 2 * R; ++k) queue[k] = queue[k + 1];
        queue[2 * R] = ring.slot[now + R < Planes::SLOTS ? now + R : now + R - Planes::SLOTS][down][across];

        const auto& here = ring.slot[now];
        Pack<T, V> result;
#pragma unroll
        for (int j = 0; j < V; ++j)
            result.at[j] = star<R>(c, [&](int dx, int dy, int dz) {
                const int cell = M * V + j + dx;
                if (dz) return queue[R + dz].at[j];
                if (dy) return here[down + dy][across].at[j];
                return cell / V == M ? queue[R].at[cell % V] : here[down][across - M + cell / V].at[cell % V];
            });
        put_back<R>(result, queue[R], d, stay, z);
        if (x < d.nx && y < d.ny) *reinterpret_cast<Pack<T, V>*>(to) = result;
        now = now + 1 < Planes::SLOTS ? now + 1 : 0;
    }
}

template <typename T>
void launch_naive(const Task<T>& task) {
    with_radius<MOST_RADIUS>(task.radius, [&](auto R) {
        star_naive<R()><<<tiles(task.domain, TILE_X, TILE_Y, 1), dim3(TILE_X, TILE_Y)>>>(task.in, task.out,
                                                                                         task.domain, task.c);
    });
}

template <typename T>
void launch_plane(const Task<T>& task, int depth) {
    with_radius<MOST_RADIUS>(task.radius, [&](auto R) {
        star_plane<R()><<<tiles(task.domain, TILE_X, TILE_Y, depth), dim3(TILE_X, TILE_Y)>>>(
            task.in, task.out, task.domain, task.c, depth);
    });
}

template <typename T>
void launch_bricks(const Task<T>& task) {
    const Domain& d = task.domain;
    with_packs<T>(d, [&](auto V) {
        star_bricks<V()><<<tiles(d, BRICK_X * V(), BRICK_Y * ROWS, PLANES), dim3(BRICK_X, BRICK_Y)>>>(
            task.in, task.out, d, task.c);
    });
}

template <typename T>
void launch_ring(const Task<T>& task) {
    const Domain& d = task.domain;
    with_radius<MOST_RADIUS>(task.radius, [&](auto R) {
        with_packs<T>(d, [&](auto V) {
            constexpr int bytes = sizeof(Ring<R(), V(), T>);
            CHECK_CUDA_CALL(cudaFuncSetAttribute(star_ring<R(), V(), T>,
                                                 cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
            star_ring<R(), V()><<<tiles(d, TILE_X * V(), TILE_Y, DEPTH), dim3(TILE_X, TILE_Y), bytes>>>(
                task.in, task.out, d, task.c, DEPTH);
        });
    });
}

int main(int argc, char** argv) {
    Stencil ladder("star_3d", "The star in three dimensions, by blocks that walk through planes.", argc, argv,
                   star_3d, 1);
    ladder.family.takes_radius(MOST_RADIUS);
    ladder.variant("naive", "a thread a cell, 6 R + 1 loads", [](const auto& t) { launch_naive(t); });
    ladder.variant("plane", "2.5-D: plane in shared memory, queue in registers",
                   [](const auto& t) { launch_plane(t, static_cast<int>(t.domain.nz)); });
    ladder.variant("split", "the same in pieces of 64 planes", [](const auto& t) { launch_plane(t, DEPTH); });
    ladder
        .variant("bricks", "2 rows of 4 planes a thread, 16 bytes a load",
                 [](const auto& t) { launch_bricks(t); })
        .unless([](const DeviceInfo&, const auto& t) { return t.radius == 1 ? "" : "written for radius 1"; });
    ladder.variant("ring", "planes by cp.async, two ahead, pieces of 64 planes",
                   [](const auto& t) { launch_ring(t); });
    return ladder.run();
}
