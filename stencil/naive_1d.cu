// naive_1d.cu: a thread a cell, straight from global memory.
//
// Idea:   out[i] = c[1] (in[i+1] - in[i-1]) + ... + c[4] (in[i+4] - in[i-4]). The thread of cell i reads
//         its eight neighbours where they are. Those are also the neighbours' neighbours: a warp reads 40
//         different cells in eight loads of 32, and what one load brought into L1 is there for the
//         next seven.
// Edge:   a block whose cells and their neighbours all exist asks nothing more (one test a block); the
//         first and the last block look each cell up under --boundary.
// Cost:   the memory sees every byte about once, as it should. But each cell costs eight loads from L1, of
//         4 bytes each: instructions, and their bytes are few to have in flight.
// Wrong still: the loads. A block could fetch its cells once and share them (shared_1d.cu), a thread could
//         fetch 16 bytes at a time (vectorized_1d.cu).
// Text 2, stencil_1d: the version to improve on.
#include "difference.cuh"

template <int RADIUS, typename T>
__global__ void stencil_1d(const T* in, T* out, Domain d, Coefficients<T> c) {
    const int64_t first = blockIdx.x * int64_t{BLOCK_SIZE}, i = first + threadIdx.x;
    if (d.inner_x(first, first + BLOCK_SIZE, RADIUS))
        out[i] = difference<RADIUS>(c, [&](int k) { return in[i + k]; });
    else if (i < d.nx)
        out[i] = difference_at_edge<RADIUS>(in, d, i, c);
}

int main(int argc, char** argv) {
    Stencil ladder("naive_1d", "A 1-D stencil from global memory: how much L1 already does.", argc, argv,
                   difference_1d, RADIUS);
    ladder.family.takes_radius();
    ladder.variant("naive", "a thread a cell, 2 x radius loads", [](const auto& task) {
        with_radius(task.radius, [&](auto radius) {
            stencil_1d<radius()><<<blocks(task.domain), BLOCK_SIZE>>>(task.in, task.out, task.domain, task.c);
        });
    });
    return ladder.run();
}
