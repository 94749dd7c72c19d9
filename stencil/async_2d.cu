// async_2d.cu: rows come into shared memory by themselves while earlier rows are computed.
#include <cuda_pipeline.h>

#include "plane.cuh"

constexpr int BLOCK_SIZE = 128;               // packs in a row of the strip
constexpr int ROWS = 8;                       // in a buffer
constexpr int FILLS = 8;                      // rows of the strip, by ROWS
constexpr int STRIP_ROWS = FILLS * ROWS - 2;  // that come out of it: the first and the last are halo

/// A row of the strip, with the packs on either side.
template <typename T, int V>
using StripRow = Pack<T, V>[1 + BLOCK_SIZE + 1];

template <int V, typename T>
__global__ void __launch_bounds__(BLOCK_SIZE) star_async(const T* in, T* out, Domain d, Coefficients<T> c) {
    extern __shared__ __align__(16) unsigned char dynamic_shared[];
    auto& buffers = *reinterpret_cast<StripRow<T, V>(*)[2][ROWS]>(dynamic_shared);
    const int t = threadIdx.x;
    const int x0 = blockIdx.x * BLOCK_SIZE * V, x = x0 + t * V;
    const int y0 = tile_y() * STRIP_ROWS - 1;
    const bool inner = d.inner_x(x0, x0 + BLOCK_SIZE * V, V) && d.inner_y(y0, y0 + FILLS * ROWS, 0);

    const auto fetch = [&](int fill) {
#pragma unroll
        for (int i = 0; i < ROWS; ++i) {
            const int y = y0 + fill * ROWS + i;
            const auto fetch_pack = [&](int p) {
                Pack<T, V>& place = buffers[fill % 2][i][1 + p];
                if (inner)
                    __pipeline_memcpy_async(&place, &in[d.index(x0 + p * V, y)], sizeof place);
                else
                    place = read_pack<V>(in, d, x0 + p * V, y);
            };
            fetch_pack(t);
            if (t == 0) fetch_pack(-1);
            if (t == BLOCK_SIZE - 1) fetch_pack(BLOCK_SIZE);
        }
        __pipeline_commit();
    };

    Row<T, V> row[3] = {};
    fetch(0);
    for (int fill = 0; fill < FILLS; ++fill) {
        if (fill + 1 < FILLS) {
            fetch(fill + 1);
            __pipeline_wait_prior(1);
        } else {
            __pipeline_wait_prior(0);
        }
        __syncthreads();
#pragma unroll
        for (int i = 0; i < ROWS; ++i) {
            const StripRow<T, V>& strip = buffers[fill % 2][i];
            row[0] = row[1];
            row[1] = row[2];
            row[2] = {strip[1 + t], strip[t].at[V - 1], strip[2 + t].at[0]};
            if (fill * ROWS + i < 2) continue;
            Pack<T, V> result;
#pragma unroll
            for (int j = 0; j < V; ++j)
                result.at[j] = five_points(c, [&](int dx, int dy) { return row[1 + dy][j + dx]; });
            store_row(out, d, x, y0 + fill * ROWS + i - 1, result, row[1].own);
        }
        __syncthreads();
    }
}

int main(int argc, char** argv) {
    Stencil ladder("async_2d", "The 5-point stencil with cp.async.", argc, argv, star_2d, 1);
    ladder.variant("async", "two buffers of 8 rows, filled by cp.async", [](const auto& task) {
        const Domain& d = task.domain;
        using T = std::decay_t<decltype(*task.in)>;
        with_packs<T>(d, [&](auto V) {
            constexpr int bytes = 2 * ROWS * sizeof(StripRow<T, V()>);
            CHECK_CUDA_CALL(
                cudaFuncSetAttribute(star_async<V(), T>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
            star_async<V()><<<grid_of_tiles(ceil_div(d.nx, BLOCK_SIZE * V()), ceil_div(d.ny, STRIP_ROWS)),
                              BLOCK_SIZE, bytes>>>(task.in, task.out, d, task.c);
        });
    });
    return ladder.run();
}
