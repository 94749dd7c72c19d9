// vectorized.cu: 16 bytes a load, eight loads in flight, one launch. The top rung.
//
// Idea:   the memory's speed is that of the bytes in flight (Little's law). Two blocks of 512 threads on each
//         multiprocessor, eight loads of 16 bytes in each thread before the first is used: 128 KB. More
//         blocks are slower here: they read in more places at a time. Everything else is kept off that path:
//         64-bit index arithmetic once for 8 x 16 bytes, an accumulator for each element of a pack
//         (independent additions), shuffles at the end, the last block finishes. A small n gets few blocks:
//         an atomic and a partial result for each would take longer than the data.
// Cost:   addresses must be multiples of 16: the elements before the first such address and behind the last
//         are read one by one.
// Wrong still: the launch itself, which is all that a small n costs. The sum's bits depend on the number of
//         multiprocessors, since that gives the grid; on one GPU they are always the same.
// Texts: none goes this far.
#include "cub.cuh"
#include "packs.cuh"

constexpr int THREADS = 512, LOADS = 8, BLOCKS_PER_MULTIPROCESSOR = 2, LEAST_LOADS = 2;

template <typename Op>
__global__ void __launch_bounds__(THREADS, BLOCKS_PER_MULTIPROCESSOR)
    reduce_vectorized(Op op, const typename Op::Element* in, int64_t n, typename Op::Value* partials,
                      unsigned* ticket, typename Op::Value* result) {
    using T = typename Op::Element;
    const Split part = split<T>(reinterpret_cast<uintptr_t>(in), n);
    const auto* packs = reinterpret_cast<const Pack<T>*>(in + part.head);
    const int64_t thread = blockIdx.x * static_cast<int64_t>(THREADS) + threadIdx.x;
    const int64_t stride = static_cast<int64_t>(gridDim.x) * THREADS;

    typename Op::Value sums[Pack<T>::V];
    for (auto& sum : sums) sum = op.neutral();

    const auto reduce_eight = [&](int64_t first, auto is_there) {
        Pack<T> x[LOADS];
#pragma unroll
        for (int k = 0; k < LOADS; ++k)
            if (is_there(first + k * stride)) x[k] = load_once(&packs[first + k * stride]);
#pragma unroll
        for (int k = 0; k < LOADS; ++k)
#pragma unroll
            for (int j = 0; j < Pack<T>::V; ++j)
                if (is_there(first + k * stride)) sums[j] = op(sums[j], op.lift(x[k].at[j], 0));
    };
    int64_t first = thread;
    for (; first + (LOADS - 1) * stride < part.packs; first += LOADS * stride)
        reduce_eight(first, [](int64_t) { return true; });
    reduce_eight(first, [&](int64_t i) { return i < part.packs; });

    typename Op::Value value = op.neutral();
    if (thread < part.head) value = op(value, op.lift(in[thread], 0));
    if (thread < part.tail) value = op(value, op.lift(in[n - 1 - thread], 0));
    for (const auto& sum : sums) value = op(value, sum);
    value = block_reduce(op, value);
    if (grid_reduce(op, value, partials, ticket)) *result = value;
}

int main(int argc, char** argv) {
    ReduceBy<Sum, Max, Min> ladder("vectorized", "Reduces with 16-byte loads in one launch: the top rung.",
                                   argc, argv);
    ladder.variant("vectorized", "16-byte loads, eight in flight, 1 launch", [](auto task) {
        const int64_t packs = task.n / Pack<std::decay_t<decltype(*task.in)>>::V;
        const int blocks = static_cast<int>(std::clamp<int64_t>(
            ceil_div(packs, THREADS * LEAST_LOADS), 1, BLOCKS_PER_MULTIPROCESSOR * task.multiprocessors));
        reduce_vectorized<<<blocks, THREADS>>>(task.op, task.in, task.n, task.partials, task.ticket,
                                               task.result);
    });
    add_cub(ladder);
    return ladder.run();
}
