// tma.cu: Hopper's copy engine moves the tiles.
//
// Idea:   one thread asks for a whole box of the matrix (cp.async.bulk.tensor); the tensor memory
//         accelerator computes the addresses, skips what lies outside, lays the box into shared memory
//         already swizzled, and counts the bytes on an mbarrier, at which the block waits. The threads only
//         turn the tile, and another such copy takes it back. No thread holds an address or a guard.
// Banks:  CU_TENSOR_MAP_SWIZZLE_128B keeps 16-byte chunk c of row r at c XOR (r mod 8), with rows of 128
//         bytes; so a tile is two boxes of 128 bytes side by side. A thread turns a patch of V x V elements
//         in registers. Lanes take patches along a diagonal: eight lanes with eight different columns and
//         eight different rows of patches hit eight different chunks both when they read and when they
//         write.
// Cost:   sm_90 only; base and row pitch must be multiples of 16 bytes; a tensor map for each matrix, made
//         on the host.
// Wrong still: nothing to win here over vectorized.cu: the memory is the limit, not the instructions that
//         it saves.
// Texts: none. NVIDIA's CUDA C++ Programming Guide, "Tensor Memory Access", describes the instructions.
#include <map>
#include <tuple>

#include "copy_engine.cuh"
#include "geam.cuh"
#include "pack.cuh"

constexpr int CHUNKS = 8;  // of 16 bytes: the 128 bytes of a row of a box
constexpr int THREADS = 256;

/// V: elements in 16 bytes. BOX: elements in the 128 bytes of a box's row. SIDE: of the square tile, two
/// boxes.
template <typename T>
struct Tile {
    static constexpr int V = 16 / sizeof(T), BOX = CHUNKS * V, SIDE = 2 * BOX;
    Pack<T> box[2][SIDE][CHUNKS];
};

__device__ void store_box(const CUtensorMap* map, int col, int row, const void* from) {
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];" ::"l"(map),
                 "r"(col), "r"(row), "r"(shared_address(from))
                 : "memory");
}

template <typename T>
__global__ void __launch_bounds__(THREADS)
    transpose_tma(const __grid_constant__ CUtensorMap in, const __grid_constant__ CUtensorMap out) {
    constexpr int V = Tile<T>::V, BOX = Tile<T>::BOX, SIDE = Tile<T>::SIDE;
    __shared__ alignas(1024) Tile<T> tile;  // the swizzle's pattern repeats every 1024 bytes
    __shared__ Arrivals arrivals;

    const int row0 = blockIdx.x * SIDE,
              col0 = tile_y() * SIDE;  // down A first, as in vectorized.cu
    if (threadIdx.x == 0) {
        arrivals.begin();
        arrivals.expect(sizeof tile);
        arrivals.fetch(tile.box[0], in, col0, row0);
        arrivals.fetch(tile.box[1], in, col0 + BOX, row0);
    }
    __syncthreads();
    arrivals.wait();

    // The thread's patch, by V x V: (down, across) of 16 x 16. Lanes 0..7 of an octet lie on a diagonal of 8
    // x 8.
    const int lane = threadIdx.x % 8, octet = threadIdx.x / 8;
    const int across = lane + 8 * (octet / 8 % 2), down = (lane + octet) % 8 + 8 * (octet / 16);
    Pack<T> a[V];
#pragma unroll
    for (int i = 0; i < V; ++i) {
        const int r = down * V + i;
        a[i] = tile.box[across / CHUNKS][r][across % CHUNKS ^ r % 8];
    }
    __syncthreads();  // all patches are in registers: the tile can be written again
#pragma unroll
    for (int j = 0; j < V; ++j) {
        const int r = across * V + j;
        Pack<T> b;
#pragma unroll
        for (int i = 0; i < V; ++i) b.at[i] = a[i].at[j];
        tile.box[down / CHUNKS][r][down % CHUNKS ^ r % 8] = b;
    }

    before_the_copy_engine();
    __syncthreads();
    if (threadIdx.x == 0) {
        store_box(&out, row0, col0, tile.box[0]);
        store_box(&out, row0 + BOX, col0, tile.box[1]);
        asm volatile("cp.async.bulk.commit_group;" ::: "memory");
        asm volatile("cp.async.bulk.wait_group.read 0;" ::
                         : "memory");  // shared memory must live until it is read
    }
}

/// The map of a rows x cols matrix, in boxes of one Tile's half. Made once for each matrix.
template <typename T>
const CUtensorMap& map_of(const T* matrix, int rows, int cols) {
    static std::map<std::tuple<const T*, int, int>, CUtensorMap> made;
    const auto [place, is_new] = made.try_emplace({matrix, rows, cols});
    if (is_new)
        place->second =
            tensor_map(matrix, {cols, rows}, {Tile<T>::BOX, Tile<T>::SIDE}, CU_TENSOR_MAP_SWIZZLE_128B);
    return place->second;
}

int main(int argc, char** argv) {
    Transpose ladder("tma", "A transpose by Hopper's bulk tensor copies.", argc, argv);
    ladder
        .variant("tma", "boxes by the copy engine, swizzled by hardware",
                 [](auto t) {
                     using T = std::remove_reference_t<decltype(*t.out)>;
                     const auto [rows, cols] = t.extent;
                     transpose_tma<T><<<tiles({cols, rows}, Tile<T>::SIDE, Tile<T>::SIDE), THREADS>>>(
                         map_of(t.in, rows, cols), map_of<T>(t.out, cols, rows));
                 })
        .unless([](const DeviceInfo& device, const auto& t) -> std::string {
            if (device.major != 9) return "needs an sm_90 GPU";
            const int bytes = sizeof(*t.in);
            if (t.extent.rows * bytes % 16 || t.extent.cols * bytes % 16)
                return "the copy engine needs rows of A and of B that are multiples of 16 bytes";
            return "";
        });
    add_geam(ladder);
    return ladder.run();
}
