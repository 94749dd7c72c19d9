// tma_2d.cu: Hopper's copy engine fetches a tile with its halo, and the zeros beyond the edge.
//
// Idea:   one thread asks for a box of the domain (cp.async.bulk.tensor) that reaches a row above and below the
//         block's tile, and 32 bytes on either side, and it may begin at negative coordinates: what lies beyond the
//         edge the tensor memory accelerator fills with zeros. No thread holds an address for a load, and none
//         asks where the edge is; under `keep` and `zero` that is all there is to it.
// Layout: of the 32 bytes on the left one cell is needed. But L2 hands out sectors of 32 bytes, and the copy engine puts
//         each where it belongs: a halo of 16 bytes would lay every sector across two of the box, and more of them would
//         be fetched than there are.
// Edge:   under `clamp` and `periodic` the blocks at the edge put the right cells in the place of the zeros.
// Cost:   sm_90 only; rows must be multiples of 16 bytes; a tensor map, made on the host. The tile waits for
//         its last byte before its first cell is summed; that the blocks beside it are elsewhere meanwhile
//         is all the overlap there is.
// Wrong still: for one step at radius 1 the registers of star_2d.cu do the same with less. The copy engine
//         saves instructions, and those are not what is short.
// Texts: none. NVIDIA's CUDA C++ Programming Guide, "Tensor Memory Access", describes the instructions.
#include "copy_engine.cuh"
#include "plane.cuh"

constexpr int PACKS = 32, THREADS_Y = 8, ROWS = 4;  // a block's tile: 32 packs wide, 8 x 4 rows high
constexpr int TILE_ROWS = THREADS_Y * ROWS;

/// What is fetched: the tile, a row above and below, and a sector (32 bytes) on either side.
template <typename T>
struct Box {
    static constexpr int V = 16 / sizeof(T), HALO = HALO_PACKS<1, V, T>;
    static constexpr int WIDTH = HALO + PACKS + HALO, HEIGHT = TILE_ROWS + 2;
    Pack<T, V> at[HEIGHT][WIDTH];
};

template <typename T>
__global__ void __launch_bounds__(PACKS* THREADS_Y)
    star_tma(const __grid_constant__ CUtensorMap map, const T* in, T* out, Domain d, Coefficients<T> c) {
    constexpr int V = Box<T>::V, HALO = Box<T>::HALO, WIDTH = Box<T>::WIDTH;
    __shared__ alignas(128) Box<T> box;
    __shared__ Arrivals arrivals;
    const int x0 = blockIdx.x * PACKS * V, y0 = tile_y() * TILE_ROWS;

    if (threadIdx.x == 0 && threadIdx.y == 0) {
        arrivals.begin();
        arrivals.expect(sizeof box);
        arrivals.fetch(&box, map, x0 - HALO * V, y0 - 1);
    }
    __syncthreads();
    arrivals.wait();

    // Beyond the edge the copy engine has put zeros.
    const bool inner = d.inner_x(x0, x0 + PACKS * V, 1) && d.inner_y(y0, y0 + TILE_ROWS, 1);
    if (!inner && (d.boundary == Boundary::clamp || d.boundary == Boundary::periodic)) {
        for (int i = threadIdx.y * PACKS + threadIdx.x; i < WIDTH * Box<T>::HEIGHT; i += PACKS * THREADS_Y) {
            const int x = x0 + (i % WIDTH - HALO) * V, y = y0 - 1 + i / WIDTH;
            if (x < 0 || x >= d.nx || y < 0 || y >= d.ny)
                box.at[i / WIDTH][i % WIDTH] = read_pack<V>(in, d, x, y);
        }
        __syncthreads();
    }

    const int x = x0 + threadIdx.x * V, first = threadIdx.y * ROWS;
    Row<T, V> row[ROWS + 2];
#pragma unroll
    for (int i = 0; i < ROWS + 2; ++i) {
        const Pack<T, V>* own = &box.at[first + i][HALO + threadIdx.x];
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

template <typename T>
void launch_tma(const Task<T>& task) {
    const Domain& d = task.domain;
    static const CUtensorMap map =  // there is one task in a run
        tensor_map(task.in, {d.nx, d.ny}, {Box<T>::WIDTH * Box<T>::V, Box<T>::HEIGHT});
    star_tma<<<grid_of_tiles(ceil_div(d.nx, PACKS * Box<T>::V), ceil_div(d.ny, TILE_ROWS)),
               dim3(PACKS, THREADS_Y)>>>(map, task.in, task.out, d, task.c);
}

int main(int argc, char** argv) {
    Stencil ladder("tma_2d", "The 5-point stencil with tiles by Hopper's bulk tensor copies.", argc, argv,
                   star_2d, 1);
    ladder.variant("tma", "a tile with halo by the copy engine", [](const auto& t) { launch_tma(t); })
        .unless([](const DeviceInfo& device, const auto& t) -> std::string {
            if (device.major != 9) return "needs an sm_90 GPU";
            if (t.domain.nx * static_cast<int64_t>(sizeof(*t.in)) % 16)
                return "the copy engine needs rows that are multiples of 16 bytes";
            return "";
        });
    return ladder.run();
}
