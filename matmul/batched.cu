// batched.cu: many products in one launch.
//
// Idea:   small products do not fill a GPU; many of them do. The items of a batch lie a stride apart, and blockIdx.z
//         counts them. A stride of 0 is a matrix that all share (--broadcast).
// Fold:   where the batch shares B, there is no batch: its A's below one another are one tall matrix, and so are its C's.
//         One product of batch x m rows has no ragged tile at the end of each item. Where it shares A instead, the B's
//         would have to lie side by side; the kernel for batches it is.
// Grid:   65535 blocks are the most on z, so a longer batch takes several launches; the tiles of an item are counted by
//         blockIdx.x alone, of which there are 2^31.
// Cost:   nothing: an offset for each block.
// Wrong still: the tutorial's kernel is tiled.cu's, with two loads for each multiply-add. Beside it the kernel of sgemm.cu,
//         which counts items by tile_y().
// Text 2, batched and tiled matrix multiplication; its `broadcast` of 1 and 2 is --broadcast a and b. There the number of
//         tiles along k is counted in float, and offsets into the batch have 32 bits.
#include "cublas.cuh"
#include "sgemm.cuh"

constexpr int TILE_SIZE = 32;

template <typename T>
__global__ void matmul_batched(Task<T> batch) {
    __shared__ T tile_a[TILE_SIZE][TILE_SIZE], tile_b[TILE_SIZE][TILE_SIZE];

    const Task<T> t = batch.of_item(blockIdx.z);
    const int tiles_across = (t.n - 1) / TILE_SIZE + 1;
    const int x = threadIdx.x, y = threadIdx.y;
    const int row = blockIdx.x / tiles_across * TILE_SIZE + y,
              col = blockIdx.x % tiles_across * TILE_SIZE + x;
    T sum = 0;
    for (int k = 0; k < t.k; k += TILE_SIZE) {
        tile_a[y][x] = row < t.m && k + x < t.k ? t.a[row * t.lda + k + x] : T{0};
        tile_b[y][x] = k + y < t.k && col < t.n ? t.b[(k + y) * t.ldb + col] : T{0};
        __syncthreads();
        for (int i = 0; i < TILE_SIZE; ++i) sum += tile_a[y][i] * tile_b[i][x];
        __syncthreads();
    }
    if (row < t.m && col < t.n) t.store(row, col, sum);
}

template <typename T>
void launch_tiled(const Task<T>& t) {
    const int64_t tiles = ceil_div(t.m, TILE_SIZE) * ceil_div(t.n, TILE_SIZE);
    for (int first = 0; first < t.batch; first += MAX_GRID_Z) {
        const dim3 grid(grid_of_tiles(tiles, 1).x, 1, std::min<int64_t>(t.batch - first, MAX_GRID_Z));
        matmul_batched<<<grid, dim3(TILE_SIZE, TILE_SIZE)>>>(t.of_item(first));
    }
}

/// The same work as one product, where the batch shares B.
template <typename T>
Task<T> folded(Task<T> t) {
    t.m *= t.batch;
    t.batch = 1;
    return t;
}
constexpr auto cannot_fold = [](const DeviceInfo&, const auto& t) -> std::string {
    if (t.batch > 1 && t.stride_b != 0) return "has a B for each item";
    if (int64_t{t.batch} * t.m > MAX_SIDE) return "has more rows than a matrix can";
    return "";
};

int main(int argc, char** argv) {
    Matmul ladder("batched", "Multiplies batches, with one A or one B for all or without.", argc, argv, 512);
    ladder.family.takes_batch(64);
    ladder.variant("tiled", "32 x 32 tiles, the batch on grid.z", [](auto t) { launch_tiled(t); });
    ladder
        .variant("tiled_folded", "the same, the batch folded into m", [](auto t) { launch_tiled(folded(t)); })
        .unless(cannot_fold);
    ladder.variant<float>("sgemm", "the kernel of sgemm.cu", [](auto t) { launch_sgemm(t); });
    ladder.variant<float>("sgemm_folded", "the same, folded", [](auto t) { launch_sgemm(folded(t)); })
        .unless(cannot_fold);
    add_cublas(ladder, "cuBLAS's StridedBatched: the baseline");
    add_cublas(
        ladder, "cublas_folded", "cuBLAS's gemm, folded", [](const auto& t) { return folded(t); },
        cannot_fold);
    ladder.program.sweep_sizes = {"--batch-count 64 --mnk 512 --broadcast b",
                                  "--batch-count 64 --mnk 512 --broadcast a",
                                  "--batch-count 64 --mnk 512",
                                  "--batch-count 1024 --mnk 128 --broadcast b",
                                  "--batch-count 1024 --mnk 128 --broadcast a",
                                  "--batch-count 1024 --mnk 128",
                                  "--batch-count 100000 --mnk 16 --broadcast a"};
    return ladder.run();
}
