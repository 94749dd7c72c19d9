// atomic.cu: each block adds its value to the result itself.
//
// Idea:   an atomic operation reads, changes and writes an address as one step that no other can come
//         between: the blocks need no array of partial results and no second pass. One atomic for each
//         block, not for each element: atomics on one address are served one after the other.
// Cost:   the result must hold the neutral element first; here that is a launch of one thread, and is
//         timed. What the chip has no instruction for is a loop around compare-and-swap.
// Wrong still: blocks come in whatever order they come, and float addition is not associative: (a + b) + c
//         and a + (b + c) are rounded differently. So the sum of floats differs from run to run in its last
//         digits (below the table; a max or a sum of ints does not). single_pass.cu is as fast and always
//         the same.
// Text 1's next chapter goes this way. A compare-and-swap loop must compare bits: as numbers, NaN differs
//         from itself and the loop would never end.
#include "reduce.cuh"

/// *address = op(*address, value), in one step.
template <typename Op, typename V>
__device__ void atomic_combine(Op op, V* address, V value) {
    using Bits = std::conditional_t<sizeof(V) == 4, unsigned, unsigned long long>;
    auto* bits = reinterpret_cast<Bits*>(address);
    Bits old = *bits, seen;
    do {
        seen = old;
        V current;
        memcpy(&current, &seen, sizeof(V));
        const V next = op(current, value);
        Bits wanted;
        memcpy(&wanted, &next, sizeof(V));
        old = atomicCAS(bits, seen, wanted);
    } while (old != seen);
}
template <typename T>
__device__ void atomic_combine(Sum<T>, T* address, T value) {
    atomicAdd(address, value);
}
__device__ void atomic_combine(Sum<int>, int64_t* address, int64_t value) {
    // Sums modulo 2^64 are the same for signed and unsigned.
    atomicAdd(reinterpret_cast<unsigned long long*>(address), static_cast<unsigned long long>(value));
}

template <typename Op>
__global__ void set_neutral(Op op, typename Op::Value* result) {
    *result = op.neutral();
}

template <typename Op>
__global__ void reduce_atomic(Op op, const typename Op::Element* in, int64_t n, typename Op::Value* result) {
    const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
    typename Op::Value value = op.neutral();
    for (int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x; i < n; i += step)
        value = op(value, op.lift(in[i], i));
    value = block_reduce(op, value);
    if (threadIdx.x == 0) atomic_combine(op, result, value);
}

int main(int argc, char** argv) {
    ReduceBy<Sum, Max, Min> ladder("atomic", "Reduces with one atomic operation a block.", argc, argv);
    ladder.family.takes_block(BlockSizes::whole_warps, 512);
    auto& atomic = ladder.variant("atomic", "an atomic a block, 2 launches", [](auto task) {
        const int blocks = std::min(task.blocks(), task.multiprocessors * (2048 / task.block));
        set_neutral<<<1, 1>>>(task.op, task.result);
        reduce_atomic<<<blocks, task.block>>>(task.op, task.in, task.n, task.result);
    });
    atomic.ordered = false;
    atomic.launches_shown = 20;
    return ladder.run();
}
