// global.cu: the tree, in global memory.
//
// Idea:   an addition needs two numbers, so n numbers need log2(n) steps if all additions of a step run at
//         once: the upper half of a block's elements is added to the lower half, then of those, until one is
//         left. The blocks' results go to a second launch, since blocks cannot wait for each other.
// Cost:   every step reads and writes global memory and ends with a barrier, and in the last five steps most
//         lanes of a warp have nothing to do. The input is destroyed; a fresh one is made outside of the
//         time.
// Wrong still: the intermediate sums are of interest to one block only. They need not leave the chip.
// Text 1, reduce_global. There n must be a multiple of the block (here `count` is what is there, and an odd
//         count keeps its middle element for the next step), the blocks' sums are added on the host, and the
//         copy back, the allocation and those additions are timed too.
#include "reduce.cuh"

template <typename Op>
__global__ void reduce_global(Op op, typename Op::Value* values, int64_t n, typename Op::Value* partials) {
    const int64_t first = blockIdx.x * static_cast<int64_t>(blockDim.x);
    typename Op::Value* x = values + first;
    int count = n - first < blockDim.x ? n - first : blockDim.x;

    while (count > 1) {
        const int half = (count + 1) / 2;
        if (threadIdx.x < count - half) x[threadIdx.x] = op(x[threadIdx.x], x[threadIdx.x + half]);
        __syncthreads();  // all of the block: a thread without work goes round the loop like the others
        count = half;
    }

    if (threadIdx.x == 0) partials[blockIdx.x] = n > 0 ? x[0] : op.neutral();
}

int main(int argc, char** argv) {
    Reduce ladder("global", "Reduces in global memory, in place.", argc, argv);
    ladder.family.takes_block(BlockSizes::any);
    ladder.family.needs_array();
    ladder
        .variant("reduce_global", "halving in place, 2 launches",
                 [](auto task) {
                     reduce_global<<<task.blocks(), task.block>>>(task.op, task.array, task.n, task.partials);
                     finish(task, task.blocks());
                 })
        .in_place = true;
    return ladder.run();
}
