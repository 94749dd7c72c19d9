// tma_3d.cu: the star in three dimensions, planes by Hopper's copy engine. The top rung for 25 points.
//
// Idea:   three things that ring in star_3d.cu pays for, and what is done about them:
//         instructions   A thread asks for a whole plane of the tile with its halo, AHEAD planes before it is needed.
//         shared memory  A thread has two cells one above the other (packs of them), whose neighbours in y are 2R + 2
//                        cells, not twice 2R + 1. But queues of two columns would leave no registers, so
//         registers      a plane is used up at once: each of its cells is added to the sums of the 2R + 1 cells in z that it
//                        is a neighbour of, and of these only the sums are kept. For R = 1:
//
//                            plane z comes      sum[0] += c * cell    of z - 1, which is complete now, and stored
//                                               sum[1] += ...         of z, with all neighbours in x and y
//                                               sum[2]  = c * cell    of z + 1, and then all move down by one
//
// Loop:   unrolled by SLOTS, so that sums move by name, not by instructions, three times of four.
// Order:  every second piece of the walk goes down. Pieces above each other begin or end at their common border at the same
//         time, and the second to ask for a plane finds it in L2.
// Blocks: one a multiprocessor. Pieces are cut so that the blocks come out in whole waves (depth_of_pieces).
// Layout: the halo is whole sectors wide, as in tma_2d.cu.
// Edge:   beyond it the copy engine puts zeros, which is what `keep` and `zero` want. Other rules are refused: to put other
//         cells there costs the loop registers that it does not have (tma_2d.cu does it).
// Cost:   sm_90 only; rows must be multiples of 16 bytes. 144 x 32 cells are fetched for 128 x 24, of 4 bytes, at R = 4.
// Wrong still: half of what L2 sends crosses from one half of it to the other, a link that the copy alone nearly fills; so
//         the halo, though it comes from L2, still costs time. Two blocks of a cluster that share it by multicast were
//         tried, and were slower.
// Texts: none. Partial sums in place of a queue: semi-stencils; de la Cruz and Araya-Polo, "Algorithm 942: Semi-Stencil" (2014).
#include "copy_engine.cuh"
#include "packs.cuh"

constexpr int LANES = 32, WARPS = 12, ROWS = 2;  // a block's tile: 32 packs wide, 12 x 2 rows high
constexpr int TILE_ROWS = WARPS * ROWS, THREADS = LANES * WARPS;
constexpr int AHEAD = 3, SLOTS = 1 + AHEAD;  // planes in flight; and with the one at hand
constexpr int MOST_RADIUS = 4;

/// A plane of the tile with its halo.
template <int R, typename T>
struct alignas(128) Plane {
    static constexpr int V = 16 / sizeof(T), HALO = HALO_PACKS<R, V, T>;
    static constexpr int WIDTH = HALO + LANES + HALO, HEIGHT = R + TILE_ROWS + R;
    Pack<T, V> at[HEIGHT][WIDTH];
};

/// Where a block is.
struct Place {
    int x0, y0, z0;  ///< of the tile's first cell, in the first plane of its piece
    int planes;      ///< of the piece
};

/// Walks through the planes of a piece, upwards or DOWN.
template <int R, bool DOWN, typename T>
__device__ void walk(const CUtensorMap& map, const T* in, T* out, const Domain& d, const Coefficients<T>& c,
                     const Place& place, Plane<R, T>* slot, Arrivals* arrivals) {
    using Tile = Plane<R, T>;
    constexpr int V = Tile::V, HALO = Tile::HALO, WIDTH = Tile::WIDTH;
    constexpr int REACH = (R + V - 1) / V;  // packs that hold the neighbours in x on one side
    constexpr int DZ = DOWN ? -1 : 1;
    // The weights of the k-th cell behind and of the k-th ahead, along the walk.
    const auto c_behind = [&](int k) { return c[6 * k + (DOWN ? 0 : -1)]; };
    const auto c_ahead = [&](int k) { return c[6 * k + (DOWN ? -1 : 0)]; };

    const int x = place.x0 + threadIdx.x * V, y = place.y0 + threadIdx.y * ROWS, across = HALO + threadIdx.x;
    const int64_t plane = d.nx * d.ny;
    // R planes of halo come first, and R last.
    const int count = R + place.planes + R, from_z = DOWN ? place.z0 + place.planes - 1 + R : place.z0 - R;
    const auto fetch = [&](int p, int s) {  // plane p of the walk
        if (threadIdx.x != 0 || threadIdx.y != 0 || p >= count) return;
        arrivals[s].expect(sizeof(Tile));
        arrivals[s].fetch(&slot[s], map, place.x0 - HALO * V, place.y0 - R, from_z + DZ * p);
    };

    unsigned stay[ROWS] = {};  // bit j: cell j of the row's pack stays as it is, in every plane
#pragma unroll
    for (int i = 0; i < ROWS; ++i)
#pragma unroll
        for (int j = 0; j < V; ++j)
            if (d.stays(x + j, y + i, R)) stay[i] |= 1u << j;

    Pack<T, V> sum[ROWS][2 * R + 1] = {};
    for (int p = 0; p < AHEAD; ++p) fetch(p, p);
    int now = 0, odd = 0;  // the slot of plane p, and whether it is in an odd round
    int64_t to = (from_z - DZ * R) * plane + d.index(x, y);  // the cell whose sum is complete with plane p
#pragma unroll(SLOTS)
    for (int p = 0; p < count; ++p, to += DZ * plane) {
        arrivals[now].wait(odd);
        __syncthreads();  // the plane is there for all; and all have done with the one before: its slot is free
        fetch(p + AHEAD, now > 0 ? now - 1 : SLOTS - 1);

        const Pack<T, V>(*const rows)[WIDTH] = slot[now].at + threadIdx.y * ROWS;
        const bool of_piece = p >= R && p < count - R;  // not of the halo
#pragma unroll
        for (int i = 0; i < ROWS; ++i) {
            const Pack<T, V> own = rows[R + i][across];
            Pack<T, V> later = own;  // a cell that stays is complete when its plane has come
#pragma unroll
            for (int j = 0; j < V; ++j)
                if (stay[i] >> j & 1) later.at[j] = 0;
#pragma unroll
            for (int k = 1; k <= R; ++k)
#pragma unroll
                for (int j = 0; j < V; ++j) {
                    if (k == R)
                        sum[i][R + k].at[j] = c_behind(k) * own.at[j];
                    else
                        sum[i][R + k].at[j] += c_behind(k) * own.at[j];
                    sum[i][R - k].at[j] += c_ahead(k) * later.at[j];
                }
            if (!of_piece) continue;
            Pack<T, V> west_to_east[REACH + 1 + REACH];
#pragma unroll
            for (int n = -REACH; n <= REACH; ++n) west_to_east[REACH + n] = n ? rows[R + i][across + n] : own;
            const auto at = [&](int j) { return west_to_east[(REACH * V + j) / V].at[(REACH * V + j) % V]; };
#pragma unroll
            for (int j = 0; j < V; ++j) {
                T& s = sum[i][R].at[j];
                s += c[0] * own.at[j];
#pragma unroll
                for (int k = 1; k <= R; ++k) s += c[6 * k - 5] * at(j - k) + c[6 * k - 4] * at(j + k);
            }
        }
        if (of_piece) {
#pragma unroll
            for (int n = 0; n < R + ROWS + R; ++n) {  // a row is read once, for all of the thread's rows
                const Pack<T, V> row = rows[n][across];
#pragma unroll
                for (int i = 0; i < ROWS; ++i) {
                    const int dy = n - R - i;
                    if (dy == 0 || dy > R || dy < -R) continue;
                    const T w = dy < 0 ? c[-6 * dy - 3] : c[6 * dy - 2];
#pragma unroll
                    for (int j = 0; j < V; ++j) sum[i][R].at[j] += w * row.at[j];
                }
            }
#pragma unroll
            for (int i = 0; i < ROWS; ++i)
#pragma unroll
                for (int j = 0; j < V; ++j)
                    if (stay[i] >> j & 1) sum[i][R].at[j] = rows[R + i][across].at[j];
        }
        if (p >= 2 * R) {  // the sums of R planes ago are complete
            const int z = from_z + DZ * (p - R);
#pragma unroll
            for (int i = 0; i < ROWS; ++i) {
                if (x >= d.nx || y + i >= d.ny) continue;
                if (d.boundary == Boundary::keep && !d.inner_z(z, z + 1, R))
                    sum[i][0] = *reinterpret_cast<const Pack<T, V>*>(&in[to + i * d.nx]);
                *reinterpret_cast<Pack<T, V>*>(&out[to + i * d.nx]) = sum[i][0];
            }
        }
#pragma unroll
        for (int i = 0; i < ROWS; ++i)
#pragma unroll
            for (int k = 0; k < 2 * R; ++k) sum[i][k] = sum[i][k + 1];
        if (++now == SLOTS) now = 0, odd ^= 1;
    }
}

template <int R, typename T>
__global__ void __launch_bounds__(THREADS)
    star_tma(const __grid_constant__ CUtensorMap map, const T* in, T* out, Domain d,
             const __grid_constant__ Coefficients<T> c, int depth) {
    extern __shared__ __align__(128) unsigned char dynamic_shared[];
    auto* const slot = reinterpret_cast<Plane<R, T>*>(dynamic_shared);
    __shared__ Arrivals arrivals[SLOTS];
    if (threadIdx.x == 0 && threadIdx.y == 0)
        for (int s = 0; s < SLOTS; ++s) arrivals[s].begin();
    __syncthreads();

    const unsigned width = LANES * Plane<R, T>::V;
    const unsigned across = (d.nx + width - 1) / width, down = (d.ny + TILE_ROWS - 1) / TILE_ROWS;
    const unsigned piece = blockIdx.x / across / down;
    Place place;
    place.x0 = static_cast<int>(blockIdx.x % across * width);
    place.y0 = static_cast<int>(blockIdx.x / across % down * TILE_ROWS);
    place.z0 = static_cast<int>(piece * depth);
    place.planes = min(depth, static_cast<int>(d.nz) - place.z0);
    if (piece % 2 == 0)
        walk<R, false>(map, in, out, d, c, place, slot, arrivals);
    else
        walk<R, true>(map, in, out, d, c, place, slot, arrivals);
}

/// The planes of a piece: few pieces read little halo; but the last wave of blocks should be as full as the others.
/// All blocks take as long as the deepest; the least number of waves times planes is the best.
int depth_of_pieces(int64_t tiles, int64_t planes, int radius, int multiprocessors) {
    int64_t best = planes, least = INT64_MAX;
    for (int64_t pieces = 1; pieces <= ceil_div(planes, 4 * radius); ++pieces) {
        const int64_t depth = ceil_div(planes, pieces), waves = ceil_div(tiles * pieces, multiprocessors);
        const int64_t time = waves * (depth + 2 * radius + AHEAD);
        if (time < least) best = depth, least = time;
    }
    return static_cast<int>(best);
}

template <typename T>
void launch_tma(const Task<T>& task) {
    const Domain& d = task.domain;
    with_radius<MOST_RADIUS>(task.radius, [&](auto R) {
        using Tile = Plane<R(), T>;
        constexpr int bytes = SLOTS * sizeof(Tile);
        CHECK_CUDA_CALL(
            cudaFuncSetAttribute(star_tma<R(), T>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
        static const CUtensorMap map =  // there is one task in a run
            tensor_map(task.in, {d.nx, d.ny, d.nz}, {Tile::WIDTH * Tile::V, Tile::HEIGHT, 1});
        const int64_t tiles = ceil_div(d.nx, LANES * Tile::V) * ceil_div(d.ny, TILE_ROWS);
        const int depth = depth_of_pieces(tiles, d.nz, R, task.multiprocessors);
        star_tma<R()><<<grid_of_tiles(tiles * ceil_div(d.nz, depth), 1), dim3(LANES, WARPS), bytes>>>(
            map, task.in, task.out, d, task.c, depth);
    });
}

int main(int argc, char** argv) {
    Stencil ladder("tma_3d", "The star in three dimensions with planes by Hopper's bulk tensor copies.", argc,
                   argv, star_3d, MOST_RADIUS);
    ladder.family.takes_radius(MOST_RADIUS);
    // The family's sizes are mostly refused here: rows of 16 bytes, several tiles each way, several pieces, every radius.
    for (const char* size :
         {"--nx 4 --ny 3 --nz 300", "--nx 132 --ny 25 --nz 17 --boundary zero", "--nx 516 --ny 61 --nz 70",
          "--nx 128 --ny 24 --nz 8 --boundary zero --type double", "--nx 390 --ny 97 --nz 40 --type double",
          "--nx 516 --ny 61 --nz 70 --radius 1", "--nx 260 --ny 100 --nz 90 --radius 2 --boundary zero",
          "--nx 258 --ny 49 --nz 65 --radius 3 --type double"})
        ladder.program.test_sizes.push_back(size);
    ladder
        .variant("tma", "planes by the copy engine, sums in registers", [](const auto& t) { launch_tma(t); })
        .unless([](const DeviceInfo& device, const auto& t) -> std::string {
            if (device.major != 9) return "needs an sm_90 GPU";
            if (t.domain.nx * static_cast<int64_t>(sizeof(*t.in)) % 16)
                return "the copy engine needs rows that are multiples of 16 bytes";
            if (t.domain.boundary == Boundary::clamp || t.domain.boundary == Boundary::periodic)
                return "the copy engine puts zeros beyond the edge, as keep and zero want";
            return "";
        });
    return ladder.run();
}
