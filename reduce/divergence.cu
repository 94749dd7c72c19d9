// divergence.cu: which threads add? Three ways to number them.
//
// Idea:   interleaved: in step s = 1, 2, 4, ... element i takes element i + s, for every 2 s-th i.
//         interleaved_modulo: thread i does element i. Of each warp a few lanes work while all go through the
//                 branch: the warps are divergent, and nearly all of them stay busy to the last steps.
//         interleaved_strided: the first threads do the work, thread t element 2 s t. Whole warps fall idle,
//                 but the lanes of one now lie 2 s apart: at s = 16 all of them in one bank, or in two.
//         sequential: the upper half is added to the lower half. Whole warps fall idle, and neighbouring
//                 lanes lie in neighbouring banks.
// Cost:   nothing: the order of the additions is another, that is all.
// Wrong still: half of the threads never add anything; every step has its barrier.
// Text 1's kernels are sequential from the start; the steps are those of M. Harris, "Optimizing Parallel
//         Reduction in CUDA" (NVIDIA, 2007), where they gain 2.3 and 2.0 times on a GPU of that year. What
//         they gain where memory is the limit is in the table.
#include "reduce.cuh"

/// Copies a block's elements to shared memory.
template <typename Op>
__device__ typename Op::Value* load(Op op, const typename Op::Element* in, int64_t n) {
    extern __shared__ __align__(16) unsigned char dynamic_shared[];
    auto* x = reinterpret_cast<typename Op::Value*>(dynamic_shared);
    const int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
    x[threadIdx.x] = i < n ? op.lift(in[i], i) : op.neutral();
    __syncthreads();
    return x;
}

template <typename Op>
__global__ void interleaved_modulo(Op op, const typename Op::Element* in, int64_t n,
                                   typename Op::Value* partials) {
    auto* x = load(op, in, n);
    for (int s = 1; s < blockDim.x; s *= 2) {
        if (threadIdx.x % (2 * s) == 0 && threadIdx.x + s < blockDim.x)
            x[threadIdx.x] = op(x[threadIdx.x], x[threadIdx.x + s]);
        __syncthreads();
    }
    if (threadIdx.x == 0) partials[blockIdx.x] = x[0];
}

template <typename Op>
__global__ void interleaved_strided(Op op, const typename Op::Element* in, int64_t n,
                                    typename Op::Value* partials) {
    auto* x = load(op, in, n);
    for (int s = 1; s < blockDim.x; s *= 2) {
        const int i = 2 * s * threadIdx.x;
        if (i + s < blockDim.x) x[i] = op(x[i], x[i + s]);
        __syncthreads();
    }
    if (threadIdx.x == 0) partials[blockIdx.x] = x[0];
}

template <typename Op>
__global__ void sequential(Op op, const typename Op::Element* in, int64_t n, typename Op::Value* partials) {
    auto* x = load(op, in, n);
    for (int count = blockDim.x; count > 1;) {
        const int half = (count + 1) / 2;
        if (threadIdx.x < count - half) x[threadIdx.x] = op(x[threadIdx.x], x[threadIdx.x + half]);
        __syncthreads();
        count = half;
    }
    if (threadIdx.x == 0) partials[blockIdx.x] = x[0];
}

int main(int argc, char** argv) {
    Reduce ladder("divergence", "Reduces with divergent warps, with bank conflicts, and with neither.", argc,
                  argv);
    ladder.family.takes_block(BlockSizes::any);
    const auto bytes = [](auto& task) { return task.block * sizeof(*task.partials); };
    ladder.variant("interleaved_modulo", "every 2s-th thread: divergent warps, 2 launches", [=](auto task) {
        interleaved_modulo<<<task.blocks(), task.block, bytes(task)>>>(task.op, task.in, task.n,
                                                                       task.partials);
        finish(task, task.blocks());
    });
    ladder.variant("interleaved_strided", "threads in a row: bank conflicts, 2 launches", [=](auto task) {
        interleaved_strided<<<task.blocks(), task.block, bytes(task)>>>(task.op, task.in, task.n,
                                                                        task.partials);
        finish(task, task.blocks());
    });
    ladder.variant("sequential", "threads and elements in a row, 2 launches", [=](auto task) {
        sequential<<<task.blocks(), task.block, bytes(task)>>>(task.op, task.in, task.n, task.partials);
        finish(task, task.blocks());
    });
    return ladder.run();
}
