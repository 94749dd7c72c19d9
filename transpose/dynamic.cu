// dynamic.cu: the size of the tile is chosen at launch.
//
// Idea:   `extern __shared__` has no size and no shape: the launch gives the bytes, and the kernel makes
//         rows and columns by hand, tile[row * pitch + col]. With that a tile can be larger than the 48 KB
//         that a kernel gets unasked: a 128 x 129 tile of floats is 66 KB.
// Cost:   a multiplication for each index; above 48 KB the kernel must be allowed to
//         (cudaFuncSetAttribute), and the larger the tile, the fewer blocks fit on a multiprocessor.
// Wrong still: one block of 66 KB waits at its barrier with much of the multiprocessor's shared memory.
//         Larger is not faster by itself; what counts is how many bytes are in flight.
// Text 1, reduce_dynamic's mechanism on a tile; text 3, dynamic shared memory with hand-made indices.
#include "transpose.cuh"

template <typename T>
__global__ void transpose_dynamic(const T* in, T* out, Extent e, int tile_dim) {
    // One array for all types: two extern arrays of one name and different types would not compile.
    extern __shared__ __align__(16) unsigned char dynamic_shared[];
    T* tile = reinterpret_cast<T*>(dynamic_shared);
    const int pitch = tile_dim + 1;

    const int first_row = tile_y() * tile_dim, first_col = blockIdx.x * tile_dim;
    for (int y = threadIdx.y; y < tile_dim; y += blockDim.y)
        for (int x = threadIdx.x; x < tile_dim; x += blockDim.x)
            if (first_row + y < e.rows && first_col + x < e.cols)
                tile[y * pitch + x] = in[int64_t{first_row + y} * e.cols + first_col + x];

    __syncthreads();

    for (int y = threadIdx.y; y < tile_dim; y += blockDim.y)
        for (int x = threadIdx.x; x < tile_dim; x += blockDim.x)
            if (first_col + y < e.cols && first_row + x < e.rows)
                out[int64_t{first_col + y} * e.rows + first_row + x] = tile[x * pitch + y];
}

int tile_bytes(int tile_dim, int element_bytes) {
    return tile_dim * (tile_dim + 1) * element_bytes;
}

template <typename T>
void launch_dynamic(const T* in, T* out, Extent e, int tile_dim) {
    const int bytes = tile_bytes(tile_dim, sizeof(T));
    CHECK_CUDA_CALL(
        cudaFuncSetAttribute(transpose_dynamic<T>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    transpose_dynamic<<<tiles(e, tile_dim, tile_dim), dim3(32, 16), bytes>>>(in, out, e, tile_dim);
}

constexpr int LARGE_DIM = 128;

int main(int argc, char** argv) {
    Transpose ladder("dynamic", "Transposes through dynamic shared memory.", argc, argv);
    ladder.variant("dynamic", "a 32 x 33 tile, sized at launch",
                   [](auto t) { launch_dynamic(t.in, t.out, t.extent, TILE_DIM); });
    ladder
        .variant("dynamic_large", "a 128 x 129 tile: more than 48 KB, by opt-in",
                 [](auto t) { launch_dynamic(t.in, t.out, t.extent, LARGE_DIM); })
        .unless([](const DeviceInfo& device, const auto& t) -> std::string {
            const int needed = tile_bytes(LARGE_DIM, sizeof(*t.in));
            if (needed <= device.shared_bytes_per_block_opt_in) return "";
            return "needs " + std::to_string(needed) + " bytes of shared memory a block; this GPU allows " +
                   std::to_string(device.shared_bytes_per_block_opt_in);
        });
    return ladder.run();
}
