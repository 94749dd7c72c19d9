// async_2d.cu: rows come into shared memory by themselves, while those before them are summed.
//
// Idea:   cp.async (sm_80) copies 16 bytes from global to shared memory and needs no register for it: a
//         thread starts its copies and goes on. A block walks down a strip of the domain. Its rows come in
//         fills of ROWS rows into STAGES buffers, used in turn: two fills are in flight while one is summed.
//
//             fill 0 | 1 | 2          summing fill 0, waiting for none
//                  1 | 2 | 3          buffer 0 is free again: fill 3 goes there
//
//         The rows above come from registers: a thread walks down its column and keeps the last two rows.
//         The packs on either side of the strip are the halo; what lies beside a thread's own pack it reads from
//         its neighbours' place in shared memory.
// Layout: two packs of halo, though one would do: what L2 sends, 32 bytes, then lies in shared memory as it does in the
//         row. Shifted by 16 bytes, every 32 would be sent twice, for the one half and for the other.
// Sync:   one barrier a fill. It says two things at once: everybody's copies of this fill have arrived (each has
//         waited for its own before it), and everybody has read the buffer that the next copies go to.
// Edge:   a pack that is not in the domain is no copy; the thread looks it up under the rule and stores it.
// Cost:   the bytes take a detour through shared memory, and the first fills of a strip are waited for in full. A
//         longer strip waits less often, but there are fewer of them; the cells of a thread are done one after
//         the other.
// Wrong still: slower than the rows of star_2d.cu, which have as many bytes in flight without a barrier. Where a
//         cell is read often, or several steps are taken on it, the detour pays (star_3d.cu, temporal_2d.cu).
// Texts: none. NVIDIA's CUDA C++ Programming Guide, "Asynchronous Data Copies", describes the instruction.
#include <cuda_pipeline.h>

#include "plane.cuh"

constexpr int BLOCK_SIZE = 128;  // packs in a row of the strip
constexpr int ROWS = 4, STAGES = 3, FILLS = 4;
constexpr int STRIP_ROWS = FILLS * ROWS - 2;  // that come out of it: the first and the last are halo

/// A row of the strip, with HALO packs on either side, of which the inner one is filled.
constexpr int HALO = 2;
template <typename T, int V>
using StripRow = Pack<T, V>[HALO + BLOCK_SIZE + HALO];

template <int V, typename T>
__global__ void __launch_bounds__(BLOCK_SIZE) star_async(const T* in, T* out, Domain d, Coefficients<T> c) {
    extern __shared__ __align__(32) unsigned char dynamic_shared[];
    auto& buffers = *reinterpret_cast<StripRow<T, V>(*)[STAGES][ROWS]>(dynamic_shared);
    const int t = threadIdx.x;
    const int x0 = blockIdx.x * BLOCK_SIZE * V, x = x0 + t * V;
    const int y0 = tile_y() * STRIP_ROWS - 1;

    const auto fetch = [&](int fill) {
        for (int i = 0; fill < FILLS && i < ROWS; ++i) {
            const int y = y0 + fill * ROWS + i;
            const auto fetch_pack = [&](int p) {
                const int from_x = x0 + p * V;
                Pack<T, V>& place = buffers[fill % STAGES][i][HALO + p];
                if (from_x >= 0 && from_x < d.nx && y >= 0 && y < d.ny)
                    __pipeline_memcpy_async(&place, &in[d.index(from_x, y)], sizeof place);
                else
                    place = read_pack<V>(in, d, from_x, y);
            };
            fetch_pack(t);
            if (t == 0) fetch_pack(-1);
            if (t == BLOCK_SIZE - 1) fetch_pack(BLOCK_SIZE);
        }
        __pipeline_commit();  // an empty one behind the last fill, so that the count below holds
    };

    Row<T, V> row[3] = {};
    for (int fill = 0; fill < STAGES - 1; ++fill) fetch(fill);
    for (int fill = 0; fill < FILLS; ++fill) {
        __pipeline_wait_prior(STAGES - 2);
        __syncthreads();
        fetch(fill + STAGES - 1);
#pragma unroll
        for (int i = 0; i < ROWS; ++i) {
            const StripRow<T, V>& strip = buffers[fill % STAGES][i];
            row[0] = row[1];
            row[1] = row[2];
            const Pack<T, V>* const own = &strip[HALO + t];
            row[2] = {own[0], own[-1].at[V - 1], own[1].at[0]};
            if (fill * ROWS + i < 2) continue;
            Pack<T, V> result;
#pragma unroll
            for (int j = 0; j < V; ++j)
                result.at[j] = five_points(c, [&](int dx, int dy) { return row[1 + dy][j + dx]; });
            store_pack(out, d, x, y0 + fill * ROWS + i - 1, result, row[1].own);
        }
    }
}

template <typename T>
void launch_async(const Task<T>& task) {
    const Domain& d = task.domain;
    with_packs<T>(d, [&](auto V) {
        const dim3 blocks = grid_of_tiles(ceil_div(d.nx, BLOCK_SIZE * V()), ceil_div(d.ny, STRIP_ROWS));
        constexpr int bytes = STAGES * ROWS * sizeof(StripRow<T, V()>);
        static_assert(bytes <= 48 << 10, "more than every architecture has without opting in");
        star_async<V()><<<blocks, BLOCK_SIZE, bytes>>>(task.in, task.out, d, task.c);
    });
}

int main(int argc, char** argv) {
    Stencil ladder("async_2d", "The 5-point stencil with copies to shared memory in the background.", argc,
                   argv, star_2d, 1);
    ladder.variant("cp_async", "three buffers of four rows, filled by cp.async",
                   [](const auto& t) { launch_async(t); });
    return ladder.run();
}
