// collective.cuh: what the threads of a warp, of a block and of a grid do together to reduce their values to
// one. shuffle.cu and single_pass.cu spell these out and explain them; the rungs above those use them from
// here.
#pragma once
#include "grid.cuh"
#include "operators.cuh"

constexpr int MAX_BLOCK_SIZE = 1024;

/// The value of the lane `delta` above; for lanes that have none there, their own. All 32 lanes must call.
template <typename V>
__device__ V shuffle_down(V value, int delta) {
    return __shfl_down_sync(ALL_LANES, value, delta);
}
template <typename T>
__device__ Found<T> shuffle_down(Found<T> value, int delta) {
    return {shuffle_down(value.value, delta), shuffle_down(value.index, delta)};
}

/// Lane 0 returns the reduction of the warp's values.
template <typename Op>
__device__ typename Op::Value warp_reduce(Op op, typename Op::Value value) {
#pragma unroll
    for (int delta = WARP_SIZE / 2; delta > 0; delta /= 2) value = op(value, shuffle_down(value, delta));
    return value;
}

/// Thread 0 returns the reduction of the block's values. All threads must call; the block is whole warps.
template <typename Op>
__device__ typename Op::Value block_reduce(Op op, typename Op::Value value) {
    __shared__ typename Op::Value of_warp[MAX_BLOCK_SIZE / WARP_SIZE];
    const int lane = threadIdx.x % WARP_SIZE, warp = threadIdx.x / WARP_SIZE;
    value = warp_reduce(op, value);
    __syncthreads();  // an earlier call may still be reading
    if (lane == 0) of_warp[warp] = value;
    __syncthreads();
    if (warp == 0) {
        value = lane < blockDim.x / WARP_SIZE ? of_warp[lane] : op.neutral();
        value = warp_reduce(op, value);
    }
    return value;
}

/// Called by all threads of all blocks, with the block's value in its thread 0. One thread of the grid, in
/// the block that comes last, returns true and has the reduction of all blocks' values, made in the order of
/// the blocks whichever came last. `ticket` is 0 before and after.
template <typename Op>
__device__ bool grid_reduce(Op op, typename Op::Value& value, typename Op::Value* partials,
                            unsigned* ticket) {
    if (gridDim.x == 1) return threadIdx.x == 0;
    __shared__ bool is_last;
    if (threadIdx.x == 0) {
        partials[blockIdx.x] = value;
        __threadfence();
        is_last = atomicInc(ticket, gridDim.x - 1) == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    if (!is_last) return false;
    value = op.neutral();
    for (unsigned i = threadIdx.x; i < gridDim.x; i += blockDim.x) value = op(value, partials[i]);
    value = block_reduce(op, value);
    return threadIdx.x == 0;
}

constexpr int FINISH_THREADS = 512, FINISH_PER_THREAD = 8;

template <typename Op>
__global__ void __launch_bounds__(FINISH_THREADS)
    finish_kernel(Op op, const typename Op::Value* values, int64_t count, typename Op::Value* partials,
                  unsigned* ticket, typename Op::Value* result) {
    const int64_t step = static_cast<int64_t>(gridDim.x) * FINISH_THREADS;
    typename Op::Value value = op.neutral();
#pragma unroll FINISH_PER_THREAD
    for (int64_t i = blockIdx.x * static_cast<int64_t>(FINISH_THREADS) + threadIdx.x; i < count; i += step)
        value = op(value, values[i]);
    value = block_reduce(op, value);
    if (grid_reduce(op, value, partials, ticket)) *result = value;
}
