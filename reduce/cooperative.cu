// cooperative.cu: a barrier for the whole grid, and so one launch.
//
// Idea:   cooperative groups name what threads work together: a tile of 32 lanes, the block, the grid.
//         cg::reduce reduces the tile; grid.sync() waits for all blocks, and then one block combines their
//         values.
// Cost:   blocks that wait for each other must all be there: a cooperative launch is refused where the grid
//         is larger than what the multiprocessors hold at once (the occupancy calculator says how much that
//         is). The barrier is a counter in global memory: all blocks wait, though all but one have nothing
//         to wait for.
// Wrong still: that wait. The block that comes last could do the rest, and the others could leave
//         (single_pass.cu).
// Text 1 and 3: "__syncthreads orders a block only". True of __syncthreads; this is the grid's.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

#include "reduce.cuh"

namespace cg = cooperative_groups;

/// The block's value, in the first lane of its first tile.
template <typename Op>
__device__ typename Op::Value reduce_block(Op op, const cg::thread_block& block, typename Op::Value value) {
    __shared__ typename Op::Value of_tile[MAX_BLOCK_SIZE / WARP_SIZE];
    const auto tile = cg::tiled_partition<WARP_SIZE>(block);
    const auto combine = [op](auto a, auto b) {
        return op(a, b);
    };  // cg::reduce takes Op<T> for its own kind
    value = cg::reduce(tile, value, combine);
    if (tile.thread_rank() == 0) of_tile[tile.meta_group_rank()] = value;
    block.sync();
    if (tile.meta_group_rank() == 0) {
        const bool there = tile.thread_rank() < tile.meta_group_size();
        value = cg::reduce(tile, there ? of_tile[tile.thread_rank()] : op.neutral(), combine);
    }
    block.sync();  // of_tile may be used again
    return value;
}

template <typename Op>
__global__ void reduce_cooperative(Op op, const typename Op::Element* in, int64_t n,
                                   typename Op::Value* partials, typename Op::Value* result) {
    const auto grid = cg::this_grid();
    const auto block = cg::this_thread_block();
    typename Op::Value value = op.neutral();
    for (int64_t i = grid.thread_rank(); i < n; i += grid.size()) value = op(value, op.lift(in[i], i));
    value = reduce_block(op, block, value);
    if (block.thread_rank() == 0) partials[blockIdx.x] = value;

    grid.sync();

    if (blockIdx.x > 0) return;
    value = op.neutral();
    for (unsigned i = block.thread_rank(); i < gridDim.x; i += block.size()) value = op(value, partials[i]);
    value = reduce_block(op, block, value);
    if (block.thread_rank() == 0) *result = value;
}

template <typename Op>
void launch_cooperative(Task<Op> task) {
    auto* kernel = reduce_cooperative<Op>;
    static const int resident = [&] {
        int blocks = 0;
        CHECK_CUDA_CALL(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, task.block, 0));
        return blocks * task.multiprocessors;
    }();
    void* arguments[] = {&task.op, &task.in, &task.n, &task.partials, &task.result};
    CHECK_CUDA_CALL(cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(kernel),
                                                std::min(task.blocks(), resident), task.block, arguments));
}

int main(int argc, char** argv) {
    Reduce ladder("cooperative", "Reduces in one launch, with a barrier for the grid.", argc, argv);
    ladder.family.takes_block(BlockSizes::whole_warps, 512);
    ladder.variant("grid_sync", "a barrier for all blocks, 1 launch",
                   [](auto task) { launch_cooperative(task); });
    return ladder.run();
}
