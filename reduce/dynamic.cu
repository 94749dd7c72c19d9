// dynamic.cu: the size of the array is chosen at launch.
//
// Idea:   `extern __shared__` takes its size from the third launch parameter, so that one kernel serves every
//         block size. Here any size from 32 to 1024 is right, not only powers of two: an odd count keeps its
//         middle element for the next step.
// Cost:   the loop's bounds are known at run time only. Text 1 finds no difference in speed; here both run,
//         paired, with equal blocks. What differs is the loop: with the size a constant the compiler writes
//         the steps out (unrolled.cu). Where the array's size comes from costs nothing.
// Wrong still: what is wrong with shared.cu.
// Text 1, reduce_dynamic.
#include "reduce.cuh"

template <typename Op>
__global__ void reduce_shared(Op op, const typename Op::Element* in, int64_t n,
                              typename Op::Value* partials) {
    __shared__ typename Op::Value x[BLOCK_SIZE];
    const int64_t i = blockIdx.x * static_cast<int64_t>(BLOCK_SIZE) + threadIdx.x;
    x[threadIdx.x] = i < n ? op.lift(in[i], i) : op.neutral();
    __syncthreads();

    for (int half = BLOCK_SIZE / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) x[threadIdx.x] = op(x[threadIdx.x], x[threadIdx.x + half]);
        __syncthreads();
    }
    if (threadIdx.x == 0) partials[blockIdx.x] = x[0];
}

template <typename Op>
__global__ void reduce_dynamic(Op op, const typename Op::Element* in, int64_t n,
                               typename Op::Value* partials) {
    // One array for all types: two extern arrays of one name and different types would not compile.
    extern __shared__ __align__(16) unsigned char dynamic_shared[];
    auto* x = reinterpret_cast<typename Op::Value*>(dynamic_shared);
    const int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
    x[threadIdx.x] = i < n ? op.lift(in[i], i) : op.neutral();
    __syncthreads();

    for (int count = blockDim.x; count > 1;) {
        const int half = (count + 1) / 2;
        if (threadIdx.x < count - half) x[threadIdx.x] = op(x[threadIdx.x], x[threadIdx.x + half]);
        __syncthreads();
        count = half;
    }
    if (threadIdx.x == 0) partials[blockIdx.x] = x[0];
}

int main(int argc, char** argv) {
    Reduce ladder("dynamic", "Reduces in shared memory of static and of dynamic size.", argc, argv);
    ladder.family.takes_block(BlockSizes::any);
    ladder
        .variant("reduce_shared", "static array of 128, 2 launches",
                 [](auto task) {
                     reduce_shared<<<task.blocks(), task.block>>>(task.op, task.in, task.n, task.partials);
                     finish(task, task.blocks());
                 })
        .unless([](const DeviceInfo&, const auto& task) {
            return task.block == BLOCK_SIZE ? "" : "its array has 128 values, for a block of 128";
        });
    ladder.variant("reduce_dynamic", "array sized at launch, 2 launches", [](auto task) {
        const int bytes = task.block * sizeof(typename decltype(task)::Value);
        reduce_dynamic<<<task.blocks(), task.block, bytes>>>(task.op, task.in, task.n, task.partials);
        finish(task, task.blocks());
    });
    return ladder.run();
}
