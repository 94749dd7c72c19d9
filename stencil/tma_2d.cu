// tma_2d.cu: Hopper's copy engine fetches a tile with its halo, and the zeros beyond the edge.
//
// Idea:   one thread asks for a box of the domain (cp.async.bulk.tensor) that reaches a row above and below the
//         block's tile, and a pack on either side, and it may begin at negative coordinates: what lies beyond the
//         edge the tensor memory accelerator fills with zeros. No thread holds an address for a load, and none
//         asks where the edge is; under `keep` and `zero` that is all there is to it.
// Layout: of the pack on the left only one column is needed; but with a whole one, the tile's own packs start
//         at multiples of 16 bytes, so that a thread reads its cells by one instruction.
// Edge:   under `clamp` and `periodic` the blocks at the edge put the right cells in the place of the zeros.
// Cost:   sm_90 only; rows must be multiples of 16 bytes; a tensor map, made on the host. The tile waits for
//         its last byte before its first cell is summed; that the blocks beside it are elsewhere meanwhile
//         is all the overlap there is.
// Wrong still: for one step at radius 1 the registers of star_2d.cu do the same with less. The copy engine
//         saves instructions, and those are not what is short.
// Texts: none. NVIDIA's CUDA C++ Programming Guide, "Tensor Memory Access", describes the instructions.
#include <cuda.h>

#include "plane.cuh"

constexpr int PACKS = 32, THREADS_Y = 8, ROWS = 4;  // a block's tile: 32 packs wide, 8 x 4 rows high
constexpr int TILE_ROWS = THREADS_Y * ROWS;

/// What is fetched: the tile, a row above and below, and a pack on either side, of which one column is needed; a
/// pack, so that the tile's own packs start at multiples of 16 bytes.
template <typename T>
struct Box {
    static constexpr int V = 16 / sizeof(T), WIDTH = (PACKS + 2) * V, HEIGHT = TILE_ROWS + 2;
    Pack<T, V> at[HEIGHT][PACKS + 2];
};

__device__ uint32_t shared_address(const void* pointer) {
    return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

template <typename T>
__global__ void __launch_bounds__(PACKS* THREADS_Y)
    star_tma(const __grid_constant__ CUtensorMap map, const T* in, T* out, Domain d, Coefficients<T> c) {
    constexpr int V = Box<T>::V;
    __shared__ alignas(128) Box<T> box;
    __shared__ alignas(8) uint64_t barrier;
    const int x0 = blockIdx.x * PACKS * V, y0 = tile_y() * TILE_ROWS;

    if (threadIdx.x == 0 && threadIdx.y == 0) {
        asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(shared_address(&barrier)) : "memory");
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(shared_address(&barrier)),
                     "r"(static_cast<uint32_t>(sizeof box))
                     : "memory");
        asm volatile(
            "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, "
            "%3}], "
            "[%4];" ::"r"(shared_address(&box)),
            "l"(&map), "r"(x0 - V), "r"(y0 - 1), "r"(shared_address(&barrier))
            : "memory");
    }
    __syncthreads();  // nobody may wait at a barrier that is not yet there
    uint32_t arrived = 0;
    while (!arrived)
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
                     : "=r"(arrived)
                     : "r"(shared_address(&barrier))
                     : "memory");

    // Beyond the edge the copy engine has put zeros.
    const bool inner = d.inner_x(x0, x0 + PACKS * V, 1) && d.inner_y(y0, y0 + TILE_ROWS, 1);
    if (!inner && (d.boundary == Boundary::clamp || d.boundary == Boundary::periodic)) {
        for (int i = threadIdx.y * PACKS + threadIdx.x; i < Box<T>::HEIGHT * (PACKS + 2);
             i += PACKS * THREADS_Y) {
            const int down = i / (PACKS + 2), across = i % (PACKS + 2);
            const int x = x0 + (across - 1) * V, y = y0 - 1 + down;
            if (x < 0 || x >= d.nx || y < 0 || y >= d.ny) box.at[down][across] = read_pack<V>(in, d, x, y);
        }
        __syncthreads();
    }

    const int x = x0 + threadIdx.x * V, first = threadIdx.y * ROWS;
    Row<T, V> row[ROWS + 2];
#pragma unroll
    for (int i = 0; i < ROWS + 2; ++i) {
        const Pack<T, V>* own = &box.at[first + i][1 + threadIdx.x];
        row[i] = {own[0], own[-1].at[V - 1], own[1].at[0]};
    }
#pragma unroll
    for (int i = 1; i <= ROWS; ++i) {
        Pack<T, V> result;
#pragma unroll
        for (int j = 0; j < V; ++j)
            result.at[j] = five_points(c, [&](int dx, int dy) { return row[i + dy][j + dx]; });
        store_pack(out, d, x, y0 + first + i - 1, result, row[i].own);
    }
}

/// The map of the cells, in boxes.
template <typename T>
CUtensorMap tensor_map(const T* cells, const Domain& d) {
    // From the driver by name, so that the program links without libcuda and starts on a machine without one.
    void* function = nullptr;
    cudaDriverEntryPointQueryResult found;
#if CUDART_VERSION >= 12050
    CHECK_CUDA_CALL(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000,
                                                     cudaEnableDefault, &found));
#else
    CHECK_CUDA_CALL(cudaGetDriverEntryPoint("cuTensorMapEncodeTiled", &function, cudaEnableDefault, &found));
#endif
    const auto encode = reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(function);
    const cuuint64_t sizes[2] = {static_cast<cuuint64_t>(d.nx), static_cast<cuuint64_t>(d.ny)};
    const cuuint64_t row_pitch[1] = {static_cast<cuuint64_t>(d.nx) * sizeof(T)};
    const cuuint32_t box[2] = {Box<T>::WIDTH, Box<T>::HEIGHT}, element_strides[2] = {1, 1};
    CUtensorMap map;
    const CUresult result = encode(
        &map, sizeof(T) == 4 ? CU_TENSOR_MAP_DATA_TYPE_FLOAT32 : CU_TENSOR_MAP_DATA_TYPE_FLOAT64, 2,
        const_cast<T*>(cells), sizes, row_pitch, box, element_strides, CU_TENSOR_MAP_INTERLEAVE_NONE,
        CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    if (result != CUDA_SUCCESS)
        throw std::runtime_error("cuTensorMapEncodeTiled: error " + std::to_string(result));
    return map;
}

int main(int argc, char** argv) {
    Stencil ladder("tma_2d", "The 5-point stencil with tiles by Hopper's bulk tensor copies.", argc, argv,
                   star_2d, 1);
    ladder.variant(
        "tma", "a tile with halo by the copy engine",
        [](const auto& task) {
            const Domain& d = task.domain;
            using T = std::decay_t<decltype(*task.in)>;
            static const CUtensorMap map = tensor_map(task.in, d);  // there is one task in a run
            star_tma<<<grid_of_tiles(ceil_div(d.nx, PACKS * Box<T>::V), ceil_div(d.ny, TILE_ROWS)),
                       dim3(PACKS, THREADS_Y)>>>(map, task.in, task.out, d, task.c);
        },
        [](const auto& job) -> std::string {
            if (job.device.major != 9) return "needs an sm_90 GPU";
            if (job.domain.nx * job.element_bytes % 16)
                return "the copy engine needs rows that are multiples of 16 bytes";
            return "";
        });
    return ladder.run();
}
