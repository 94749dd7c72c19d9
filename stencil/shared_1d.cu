// shared_1d.cu: the block fetches its cells once, and their halo.
//
// Idea:   BLOCK_SIZE cells and RADIUS more on either side, the halo, lie in shared memory; each is fetched
//         by one thread and read by up to 2 RADIUS. That is at most two loads of
//         global memory a thread, not 2 RADIUS.
//         static_tile    the size of the tile is part of the kernel.
//         dynamic_tile   the same with `extern __shared__`, sized at launch. Where the array comes from
//                        costs nothing.
//         any_radius     what the size at launch is good for: one kernel for every radius. That does cost:
//                        a loop whose length is a number is not written out.
// Halo:   two tests are easily got wrong, and the text gets them wrong. `idx > RADIUS` for the left halo
//         leaves out idx == RADIUS, whose halo cell is in[0]: it shows where a block is no longer than the
//         radius. And a right halo behind the block's last thread is not behind the last cell, unless n is
//         a multiple of the block. Here no thread asks what it may load: every place of tile and halo is
//         filled, beyond the edge by the rule of --boundary. (tests/wrong_stencil.cu has both faults.)
// Cost:   a barrier: no thread computes before the slowest load of its block has come.
// Wrong still: 4 bytes a load still, and too few of them in flight. L1 had served the repeated loads of
//         naive_1d.cu anyway: what the tile saves was cheap, what it adds is not.
// Text 2, stencil_1d and stencil_1d_readonly.
#include "difference.cuh"

template <int RADIUS, typename T>
__device__ void stencil_in_tile(T* tile, const T* in, T* out, const Domain& d, const Coefficients<T>& c) {
    const int64_t first = blockIdx.x * int64_t{BLOCK_SIZE}, i = first + threadIdx.x;
    const bool inner = d.inner_x(first, first + BLOCK_SIZE, RADIUS);
    const auto cell = [&](int64_t at) { return inner ? in[at] : d.read(in, at); };

    T* const mine = &tile[RADIUS + threadIdx.x];
    mine[0] = cell(i);
    if (threadIdx.x < RADIUS) {
        mine[-RADIUS] = cell(i - RADIUS);
        mine[BLOCK_SIZE] = cell(i + BLOCK_SIZE);
    }
    __syncthreads();

    if (inner || (i < d.nx && !d.stays(i, RADIUS)))
        out[i] = difference<RADIUS>(c, [&](int k) { return mine[k]; });
    else if (i < d.nx)
        out[i] = mine[0];
}

template <int RADIUS, typename T>
__global__ void stencil_1d_static(const T* in, T* out, Domain d, Coefficients<T> c) {
    __shared__ T tile[RADIUS + BLOCK_SIZE + RADIUS];
    stencil_in_tile<RADIUS>(tile, in, out, d, c);
}

template <int RADIUS, typename T>
__global__ void stencil_1d_dynamic(const T* in, T* out, Domain d, Coefficients<T> c) {
    extern __shared__ __align__(16) unsigned char dynamic_shared[];
    stencil_in_tile<RADIUS>(reinterpret_cast<T*>(dynamic_shared), in, out, d, c);
}

template <typename T>
__global__ void stencil_1d_any_radius(const T* in, T* out, Domain d, Coefficients<T> c, int radius) {
    extern __shared__ __align__(16) unsigned char dynamic_shared[];
    T* const tile = reinterpret_cast<T*>(dynamic_shared);
    const int64_t first = blockIdx.x * int64_t{BLOCK_SIZE}, i = first + threadIdx.x;
    const bool inner = d.inner_x(first, first + BLOCK_SIZE, radius);
    for (int at = threadIdx.x; at < BLOCK_SIZE + 2 * radius; at += BLOCK_SIZE)
        tile[at] = inner ? in[first - radius + at] : d.read(in, first - radius + at);
    __syncthreads();

    if (i >= d.nx) return;
    const T* const mine = &tile[radius + threadIdx.x];
    T sum = 0;
    for (int k = 1; k <= radius; ++k) sum += c[k] * (mine[k] - mine[-k]);
    out[i] = d.stays(i, radius) ? mine[0] : sum;
}

int main(int argc, char** argv) {
    Stencil ladder("shared_1d", "A 1-D stencil from a tile with halo in shared memory.", argc, argv,
                   difference_1d, RADIUS);
    ladder.family.takes_radius();
    const auto tile_bytes = [](const auto& t) { return (BLOCK_SIZE + 2 * t.radius) * sizeof(*t.in); };
    ladder.variant("static_tile", "tile[RADIUS + 256 + RADIUS]", [](const auto& t) {
        with_radius(t.radius, [&](auto radius) {
            stencil_1d_static<radius()><<<blocks(t.domain), BLOCK_SIZE>>>(t.in, t.out, t.domain, t.c);
        });
    });
    ladder.variant("dynamic_tile", "the same, sized at launch", [=](const auto& t) {
        with_radius(t.radius, [&](auto radius) {
            stencil_1d_dynamic<radius()>
                <<<blocks(t.domain), BLOCK_SIZE, tile_bytes(t)>>>(t.in, t.out, t.domain, t.c);
        });
    });
    ladder.variant("any_radius", "sized at launch, the radius a number", [=](const auto& t) {
        stencil_1d_any_radius<<<blocks(t.domain), BLOCK_SIZE, tile_bytes(t)>>>(t.in, t.out, t.domain, t.c,
                                                                               t.radius);
    });
    return ladder.run();
}
