// shuffle.cu: the lanes of a warp read each other's registers.
//
// Idea:   __shfl_down_sync hands a lane the value of the lane `delta` above it: five such steps reduce a
//         warp without an array, without a barrier, without a race. A block then has a value a warp to
//         combine: one small array, one barrier, and the first warp does the same again. Threads go on
//         through the input in steps of the grid, so that this end is paid for once a block and not once
//         for 128 elements.
//         reduce_add_sync: since compute capability 8.0 one instruction reduces the ints of a warp. It adds
//         in 32 bits: the halves of each int are summed apart, 32 x 65535 has room, and put together in 64.
// Cost:   all 32 lanes must take part. Blocks are whole warps, and lanes past the end bring the neutral
//         element; with a mask of all lanes and a block of 48 the result would be undefined.
// Wrong still: loads of 4 or 8 bytes, and each waits for the addition before it; a second launch.
// Texts: none; it is today's form of the last warp of text 2's reduceCompleteUnroll.
#include "reduce.cuh"

struct ByShuffles {
    template <typename Op>
    __device__ static typename Op::Value reduce(Op op, typename Op::Value value) {
#pragma unroll
        for (int delta = WARP_SIZE / 2; delta > 0; delta /= 2) value = op(value, shuffle_down(value, delta));
        return value;  // right in lane 0
    }
};

/// Ints by one instruction where the chip has it, everything else by shuffles.
struct ByInstruction : ByShuffles {
    using ByShuffles::reduce;
#if __CUDA_ARCH__ >= 800
    __device__ static int64_t reduce(Sum<int>, int64_t value) {
        // Three pieces of 22, 21 and 21 bits: 32 of each have room in 32 bits.
        const auto low = __reduce_add_sync(ALL_LANES, static_cast<unsigned>(value & 0x3FFFFF));
        const auto middle = __reduce_add_sync(ALL_LANES, static_cast<unsigned>(value >> 22 & 0x1FFFFF));
        const auto high = __reduce_add_sync(ALL_LANES, static_cast<int>(value >> 43));
        return int64_t{low} + (int64_t{middle} << 22) + high * (int64_t{1} << 43);
    }
    __device__ static int reduce(Max<int>, int value) {
        return __reduce_max_sync(ALL_LANES, value);
    }
    __device__ static int reduce(Min<int>, int value) {
        return __reduce_min_sync(ALL_LANES, value);
    }
#endif
};

template <typename Warp, typename Op>
__global__ void reduce_shuffle(Op op, const typename Op::Element* in, int64_t n,
                               typename Op::Value* partials) {
    __shared__ typename Op::Value of_warp[MAX_BLOCK_SIZE / WARP_SIZE];
    const int lane = threadIdx.x % WARP_SIZE, warp = threadIdx.x / WARP_SIZE;
    const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;

    typename Op::Value value = op.neutral();
    for (int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x; i < n; i += step)
        value = op(value, op.lift(in[i], i));

    value = Warp::reduce(op, value);
    if (lane == 0) of_warp[warp] = value;
    __syncthreads();
    if (warp == 0) {
        value = Warp::reduce(op, lane < blockDim.x / WARP_SIZE ? of_warp[lane] : op.neutral());
        if (lane == 0) partials[blockIdx.x] = value;
    }
}

template <typename Warp, typename Op>
void launch_shuffle(const Task<Op>& task) {
    // As many threads as the multiprocessors hold at once.
    const int blocks = std::min(task.blocks(), task.multiprocessors * (2048 / task.block));
    reduce_shuffle<Warp><<<blocks, task.block>>>(task.op, task.in, task.n, task.partials);
    finish(task, blocks);
}

int main(int argc, char** argv) {
    Reduce ladder("shuffle", "Reduces by warp shuffles.", argc, argv);
    ladder.family.takes_block(BlockSizes::whole_warps, 256);
    ladder.variant("shuffle", "five shuffles a warp, 2 launches",
                   [](auto task) { launch_shuffle<ByShuffles>(task); });
    ladder
        .variant("reduce_sync", "__reduce_add_sync and its like, 2 launches",
                 [](auto task) { launch_shuffle<ByInstruction>(task); })
        .unless([](const DeviceInfo& device, const auto& task) -> std::string {
            using Op = std::decay_t<decltype(task.op)>;
            if (device.major < 8) return "needs compute capability 8.0";
            if (!std::is_same_v<typename Op::Element, int> || std::is_same_v<Op, ArgMax<int>>)
                return "is for sum, max and min of ints";
            return "";
        });
    return ladder.run();
}
