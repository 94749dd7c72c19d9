// single_pass.cu: the block that comes last does the rest.
//
// Idea:   each block writes its value to global memory and then takes a ticket, one more than the block
//         before it got. Who gets the highest has come last: all other values are there, and it combines
//         them, in the order of the blocks, so that it does not matter which one it is: same bits in every
//         run.
// The first fence: a thread's writes may become visible to other blocks in another order than it made them.
//         __threadfence() between value and ticket orders them: who sees the ticket sees the value. Without
//         it the last block may add what was in the array before: poison, or the last launch's value, which
//         is nearly right, seldom, and never in a small test.
// The second: the last block's reads must not be served by something it fetched before it took the ticket.
//         The barrier then extends both to the other threads of the block. (A barrier alone orders a block
//         only. `volatile` keeps the compiler from holding a value in a register; it orders nothing between
//         blocks.)
// The ticket: atomicInc(ticket, last) counts 0, 1, ..., last and goes back to 0. So the next launch finds 0,
//         and so does each replay of a CUDA graph; no memset, and nothing to forget. Two launches that run at
//         the same time need two tickets.
// Cost:   an atomic a block; a second latency of global memory at the end, where a second launch has two.
// Wrong still: the loads (vectorized.cu).
// Text 3, __threadfence (this is what it is for); text 1 adds the blocks' values on the host.
#include "reduce.cuh"

template <typename Op>
__global__ void reduce_single_pass(Op op, const typename Op::Element* in, int64_t n,
                                   typename Op::Value* partials, unsigned* ticket,
                                   typename Op::Value* result) {
    const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
    typename Op::Value value = op.neutral();
    for (int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x; i < n; i += step)
        value = op(value, op.lift(in[i], i));
    value = block_reduce(op, value);

    __shared__ bool is_last;
    if (threadIdx.x == 0) {
        partials[blockIdx.x] = value;
        __threadfence();
        is_last = atomicInc(ticket, gridDim.x - 1) == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    if (!is_last) return;  // all of the block, or none of it

    value = op.neutral();
    for (unsigned i = threadIdx.x; i < gridDim.x; i += blockDim.x) value = op(value, partials[i]);
    value = block_reduce(op, value);
    if (threadIdx.x == 0) *result = value;
}

template <typename Op>
__global__ void reduce_partials(Op op, const typename Op::Element* in, int64_t n,
                                typename Op::Value* partials) {
    const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
    typename Op::Value value = op.neutral();
    for (int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x; i < n; i += step)
        value = op(value, op.lift(in[i], i));
    value = block_reduce(op, value);
    if (threadIdx.x == 0) partials[blockIdx.x] = value;
}

template <typename Op>
void launch_single_pass(const Task<Op>& task, cudaStream_t stream = nullptr) {
    const int blocks = std::min(task.blocks(), task.multiprocessors * (2048 / task.block));
    reduce_single_pass<<<blocks, task.block, 0, stream>>>(task.op, task.in, task.n, task.partials,
                                                          task.ticket, task.result);
}

/// The launch as a graph of one node, recorded at the first call and replayed at each.
template <typename Op>
void replay_single_pass(const Task<Op>& task) {
    static cudaGraphExec_t graph = [&] {
        cudaStream_t stream;
        cudaGraph_t recorded;
        cudaGraphExec_t ready;
        CHECK_CUDA_CALL(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
        CHECK_CUDA_CALL(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
        launch_single_pass(task, stream);
        CHECK_CUDA_CALL(cudaStreamEndCapture(stream, &recorded));
        CHECK_CUDA_CALL(cudaGraphInstantiate(&ready, recorded, 0));
        CHECK_CUDA_CALL(cudaGraphDestroy(recorded));
        CHECK_CUDA_CALL(cudaStreamDestroy(stream));
        return ready;
    }();
    CHECK_CUDA_CALL(cudaGraphLaunch(graph, nullptr));
}

int main(int argc, char** argv) {
    Reduce ladder("single_pass", "Reduces in one launch: the last block finishes.", argc, argv);
    ladder.family.takes_block(BlockSizes::whole_warps, 512);
    auto& two = ladder.variant("two_launches", "the same loads, 2 launches", [](auto task) {
        const int blocks = std::min(task.blocks(), task.multiprocessors * (2048 / task.block));
        reduce_partials<<<blocks, task.block>>>(task.op, task.in, task.n, task.partials);
        finish(task, blocks);
    });
    auto& one = ladder.variant("single_pass", "the last block finishes, 1 launch",
                               [](auto task) { launch_single_pass(task); });
    auto& replay = ladder.variant("graph_replay", "the same as a CUDA graph, 1 launch",
                                  [](auto task) { replay_single_pass(task); });
    for (auto* variant : {&two, &one, &replay}) variant->launches_shown = 20;
    return ladder.run();
}
