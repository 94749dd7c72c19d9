// shared.cu: the same tree, on the chip.
//
// Idea:   a block copies its elements to shared memory once and halves them there. Global memory is read once
//         and written once a block; the input stays whole.
// Cost:   an array of one value a thread, its size fixed when the program is compiled.
// Wrong still: each thread loads one element and then mostly waits: in the first step half of the threads are
//         idle, in the last all but one. And 128 threads x 8 bytes is little to have in flight.
// Text 1, reduce_shared, with its BLOCK_SIZE of 128 (as in the text, lanes past the end take the neutral
//         element). Beside it the same lines with the array in global memory, so that nothing but the place
//         of the array differs; the text compares with a kernel that also works in place (global.cu).
#include "reduce.cuh"

/// One tree for both places. `x` has a slot for each thread of the block, of which there are BLOCK_SIZE.
template <typename Op>
__device__ typename Op::Value halve(Op op, typename Op::Value* x) {
    for (int half = BLOCK_SIZE / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) x[threadIdx.x] = op(x[threadIdx.x], x[threadIdx.x + half]);
        __syncthreads();
    }
    return x[0];
}

template <typename Op>
__global__ void reduce_shared(Op op, const typename Op::Element* in, int64_t n,
                              typename Op::Value* partials) {
    __shared__ typename Op::Value x[BLOCK_SIZE];
    const int64_t i = blockIdx.x * static_cast<int64_t>(BLOCK_SIZE) + threadIdx.x;
    x[threadIdx.x] = i < n ? op.lift(in[i], i) : op.neutral();
    __syncthreads();
    const auto value = halve(op, x);
    if (threadIdx.x == 0) partials[blockIdx.x] = value;
}

template <typename Op>
__global__ void reduce_global_array(Op op, const typename Op::Element* in, int64_t n,
                                    typename Op::Value* arrays, typename Op::Value* partials) {
    typename Op::Value* x = arrays + blockIdx.x * static_cast<int64_t>(BLOCK_SIZE);
    const int64_t i = blockIdx.x * static_cast<int64_t>(BLOCK_SIZE) + threadIdx.x;
    x[threadIdx.x] = i < n ? op.lift(in[i], i) : op.neutral();
    __syncthreads();
    const auto value = halve(op, x);
    if (threadIdx.x == 0) partials[blockIdx.x] = value;
}

int main(int argc, char** argv) {
    Reduce ladder("shared", "Reduces in shared memory, against the same in global memory.", argc, argv);
    ladder.family.needs_array();
    ladder.variant("global_array", "the array in global memory, 2 launches", [](auto task) {
        reduce_global_array<<<task.blocks(), BLOCK_SIZE>>>(task.op, task.in, task.n, task.array,
                                                           task.partials);
        finish(task, task.blocks());
    });
    ladder.variant("reduce_shared", "the array in shared memory, 2 launches", [](auto task) {
        reduce_shared<<<task.blocks(), BLOCK_SIZE>>>(task.op, task.in, task.n, task.partials);
        finish(task, task.blocks());
    });
    return ladder.run();
}
