// unrolled.cu: eight elements a thread, and a tree without a loop.
//
// Idea:   a block takes eight blocks' worth: each thread adds eight elements as it loads them, eight loads
//         in flight at once, so no thread is idle in the first step. The block size is a template
//         parameter: all bounds are known, and the compiler writes the steps out, none of them with a test
//         of the loop. The last 64 elements are one warp's work, which needs no barrier of the block.
// Cost:   a kernel for each block size; powers of two only, others are refused.
// The last warp: the texts' generation left out all synchronisation here and declared the array
//         `volatile`: the lanes of a warp ran in lock step, so all 32 could add, and those that should not
//         did no harm. Since Volta they need not run so: a lane may read its partner's element before the
//         partner has written it, or after it has written its next. That is a race that compiles, and
//         mostly passes. A guard for the lanes that add, and __syncwarp() between the steps, replace it
//         here; shuffles replace the array as well (shuffle.cu).
// Wrong still: complete_unroll works in place, through global memory. 4 or 8 bytes a load; a block whose
//         elements are summed leaves its place to a new one, with new index arithmetic.
// Text 2, reduceCompleteUnroll. In the text threads past the end return before the barrier, the last blocks
//         drop elements where fewer than eight blocks' worth are left, and block sizes that are not in its
//         list are wrong without a word.
#include "reduce.cuh"

constexpr int UNROLL = 8;

/// The tree over a block's values at x, of which the first `count` are there. All threads call.
template <int iBlockSize, typename Op>
__device__ void reduce_unrolled(Op op, typename Op::Value* x, int64_t count) {
    const int t = threadIdx.x;
#pragma unroll
    for (int half = iBlockSize / 2; half >= WARP_SIZE; half /= 2) {
        if (t < half && t + half < count) x[t] = op(x[t], x[t + half]);
        __syncthreads();
    }
    if (t < WARP_SIZE) {
#pragma unroll
        for (int half = WARP_SIZE / 2; half > 0; half /= 2) {
            if (t < half && t + half < count) x[t] = op(x[t], x[t + half]);
            __syncwarp();
        }
    }
}

/// A thread's eight elements, iBlockSize apart, of which the first `count` of the block are there.
template <int iBlockSize, typename Op, typename Load>
__device__ typename Op::Value load_eight(Op op, int64_t count, const Load& load) {
    typename Op::Value value = op.neutral();
#pragma unroll
    for (int k = 0; k < UNROLL; ++k) {
        const int i = threadIdx.x + k * iBlockSize;
        if (i < count) value = op(value, load(i));
    }
    return value;
}

template <int iBlockSize, typename Op>
__global__ void __launch_bounds__(iBlockSize)
    reduceCompleteUnroll(Op op, typename Op::Value* values, int64_t n, typename Op::Value* partials) {
    const int64_t first = blockIdx.x * int64_t{UNROLL * iBlockSize}, count = n - first;
    typename Op::Value* x = values + first;
    const auto value = load_eight<iBlockSize>(op, count, [=](int i) { return x[i]; });
    if (threadIdx.x < count) x[threadIdx.x] = value;
    __syncthreads();
    reduce_unrolled<iBlockSize>(op, x, count);
    if (threadIdx.x == 0) partials[blockIdx.x] = n > 0 ? x[0] : op.neutral();
}

template <int iBlockSize, typename Op>
__global__ void __launch_bounds__(iBlockSize)
    reduceCompleteUnrollShared(Op op, const typename Op::Element* in, int64_t n,
                               typename Op::Value* partials) {
    __shared__ typename Op::Value x[iBlockSize];
    const int64_t first = blockIdx.x * int64_t{UNROLL * iBlockSize};
    x[threadIdx.x] =
        load_eight<iBlockSize>(op, n - first, [=](int i) { return op.lift(in[first + i], first + i); });
    __syncthreads();
    reduce_unrolled<iBlockSize>(op, x, iBlockSize);
    if (threadIdx.x == 0) partials[blockIdx.x] = x[0];
}

/// Calls launch with the block size as a constant of the compiler.
template <int... SIZES, typename Launch>
void with_block_size(int block, std::integer_sequence<int, SIZES...>, const Launch& launch) {
    (void)((block == SIZES ? (launch(std::integral_constant<int, SIZES>()), true) : false) || ...);
}
using Sizes = std::integer_sequence<int, 32, 64, 128, 256, 512, 1024>;

int main(int argc, char** argv) {
    Reduce ladder("unrolled", "Reduces with eight elements a thread and unrolled trees.", argc, argv);
    ladder.family.takes_block(BlockSizes::powers_of_two);
    ladder.family.needs_array();
    ladder
        .variant("complete_unroll", "reduceCompleteUnroll, in place, 2 launches",
                 [](auto task) {
                     const int blocks = task.blocks(UNROLL);
                     with_block_size(task.block, Sizes(), [&](auto size) {
                         reduceCompleteUnroll<size()>
                             <<<blocks, size()>>>(task.op, task.array, task.n, task.partials);
                     });
                     finish(task, blocks);
                 })
        .in_place = true;
    ladder.variant("complete_unroll_shared", "the same in shared memory, 2 launches", [](auto task) {
        const int blocks = task.blocks(UNROLL);
        with_block_size(task.block, Sizes(), [&](auto size) {
            reduceCompleteUnrollShared<size()><<<blocks, size()>>>(task.op, task.in, task.n, task.partials);
        });
        finish(task, blocks);
    });
    return ladder.run();
}
