// temporal_2d.cu: several time steps in one pass over memory. Past the copy.
//
// Idea:   a step reads and writes each cell once, and the copy says how fast that can be. So take several
//         steps while the cells are on the chip: a block loads a tile with T cells more on every side
//         (--steps T), takes T steps, each of which reaches one cell less far, and stores what is right:
//
//             loaded  # # # # # # # # # #
//             step 1    # # # # # # # #
//             step 2      # # # # # #         stored, T = 2
//
//         one_step   a launch a step, a thread a cell: what is to be beaten.
//         shared     the tile in shared memory, twice: a step reads one and fills the other. Three loads
//                    and a store a cell and step, 16 bytes; a multiprocessor moves 128 bytes a cycle.
//         registers  a warp holds 16 rows, a lane 16 bytes of each. The cells beside a pack come from the
//                    neighbour lane by shuffle: two for a pack. The rows above and below are the lane's
//                    own; only a warp's outer rows go through shared memory, 2 of 16. While they are in
//                    flight the warp takes the inner rows' step.
//         cluster    the blocks of a cluster lie one below the other and put their outer rows into each
//                    other's memory (distributed shared memory): only the cluster has a halo, not the block.
// Edge:   the rule holds anew in every step (register_tile.cuh, step_at_edge).
// Cost:   cells are computed twice where tiles overlap: a tile of w x h cells stores (w - 2T)(h - 2T). Of 128 x
//         128 floats that is 77 % for T = 8 and 56 % for T = 16; of a cluster's 128 x 256, 82 % and 66 %.
// Wrong still: the larger T, the fewer bytes a step and the more cells twice: beyond T = 8 the arithmetic, 9
//         operations a cell and step, is the limit. The cluster computes less and takes longer: its
//         blocks go in lock step, a barrier over two multiprocessors in every step. Two blocks on one
//         multiprocessor, of which one computes while the other loads, do not wait for each other.
// Texts: none goes this far.
#include "register_tile.cuh"

constexpr int BLOCK_X = 32, BLOCK_Y = 8;

template <typename T>
__global__ void one_step(const T* in, T* out, Domain d, Coefficients<T> c) {
    const int x0 = blockIdx.x * BLOCK_X, x = x0 + threadIdx.x, y0 = tile_y() * BLOCK_Y, y = y0 + threadIdx.y;
    const auto at = [&](int dx, int dy) { return in[d.index(x + dx, y + dy)]; };
    if (d.inner_x(x0, x0 + BLOCK_X, 1) && d.inner_y(y0, y0 + BLOCK_Y, 1))
        out[d.index(x, y)] = five_points(c, at);
    else if (x < d.nx && y < d.ny)
        out[d.index(x, y)] = d.stays(x, y, 1)
                                 ? at(0, 0)
                                 : five_points(c, [&](int dx, int dy) { return d.read(in, x + dx, y + dy); });
}

template <typename T>
void take_steps_one_by_one(const Task<T>& task) {
    const dim3 grid = grid_of_tiles(ceil_div(task.domain.nx, BLOCK_X), ceil_div(task.domain.ny, BLOCK_Y));
    const T* from = task.in;
    for (int64_t left = task.steps; left > 0; --left) {
        T* const to = left % 2 ? task.out : task.scratch;  // the last into out
        one_step<<<grid, dim3(BLOCK_X, BLOCK_Y)>>>(from, to, task.domain, task.c);
        from = to;
    }
}

/// Rows of 512 bytes: a tile and its double have 64 KB.
template <typename T>
struct SharedTile {
    static constexpr int WIDTH = 512 / sizeof(T), HEIGHT = 64;
    T at[HEIGHT][WIDTH];
};

/// A thread walks down its part of a column, and so has the cell above from before.
template <typename T>
__global__ void __launch_bounds__(BLOCK_X* BLOCK_Y)
    stencil_in_shared(const T* in, T* out, Domain d, Coefficients<T> c, int steps) {
    constexpr int WIDTH = SharedTile<T>::WIDTH, HEIGHT = SharedTile<T>::HEIGHT, PART = HEIGHT / BLOCK_Y;
    extern __shared__ __align__(16) unsigned char memory[];
    auto* tile = reinterpret_cast<SharedTile<T>*>(memory);

    const int x0 = blockIdx.x * (WIDTH - 2 * steps) - steps, y0 = tile_y() * (HEIGHT - 2 * steps) - steps;
    const bool inner = d.inner_x(x0, x0 + WIDTH, 1) && d.inner_y(y0, y0 + HEIGHT, 1);
    for (int row = threadIdx.y; row < HEIGHT; row += BLOCK_Y)
        for (int column = threadIdx.x; column < WIDTH; column += BLOCK_X)
            tile[0].at[row][column] =
                inner ? in[d.index(x0 + column, y0 + row)] : d.read(in, x0 + column, y0 + row);
    __syncthreads();

    for (int step = 1; step <= steps; ++step) {
        const SharedTile<T>& now = tile[(step - 1) % 2];
        SharedTile<T>& next = tile[step % 2];
        const int first = max(static_cast<int>(threadIdx.y) * PART, step);
        const int end = min(static_cast<int>(threadIdx.y + 1) * PART, HEIGHT - step);
        for (int column = threadIdx.x; column < WIDTH; column += BLOCK_X) {
            if (column < step || column >= WIDTH - step) continue;
            T above = now.at[first - 1][column], own = now.at[first][column];
#pragma unroll 8
            for (int row = first; row < end; ++row) {
                const T below = now.at[row + 1][column];
                const auto at = [&](int dx, int dy) {
                    return dy < 0 ? above : dy > 0 ? below : dx ? now.at[row][column + dx] : own;
                };
                next.at[row][column] =
                    inner ? five_points(c, at) : step_at_edge(d, x0 + column, y0 + row, c, at);
                above = own;
                own = below;
            }
        }
        __syncthreads();
    }

    for (int row = steps + threadIdx.y; row < HEIGHT - steps; row += BLOCK_Y)
        for (int column = steps + threadIdx.x; column < WIDTH - steps; column += BLOCK_X)
            if (x0 + column < d.nx && y0 + row < d.ny)
                out[d.index(x0 + column, y0 + row)] = tile[steps % 2].at[row][column];
}

template <typename T>
void take_steps_in_shared(const Task<T>& task) {
    using Tile = SharedTile<T>;
    const int steps = static_cast<int>(task.steps), bytes = 2 * sizeof(Tile);
    const auto kernel = stencil_in_shared<T>;
    CHECK_CUDA_CALL(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    kernel<<<grid_of_tiles(ceil_div(task.domain.nx, Tile::WIDTH - 2 * steps),
                           ceil_div(task.domain.ny, Tile::HEIGHT - 2 * steps)),
             dim3(BLOCK_X, BLOCK_Y), bytes>>>(task.in, task.out, task.domain, task.c, steps);
}

constexpr int CLUSTER = 2;

template <int BLOCKS, typename T>
void take_steps_in_registers(const Task<T>& task) {
    take_steps<BLOCKS>(task.in, task.out, task.domain, task.c, static_cast<int>(task.steps));
}

int main(int argc, char** argv) {
    Stencil ladder("temporal_2d", "Several steps of the 5-point stencil in one pass.", argc, argv, star_2d,
                   1);
    ladder.family.takes_steps(8, MOST_STEPS);
    ladder.program.sweep_sizes = {"--n 4096", "--n 16384", "--n 16384 --steps 4", "--n 16384 --steps 16",
                                  "--n 8192 --type double"};
    for (const char* rest :
         {"--n 3 --steps 1", "--nx 130 --ny 37 --steps 3 --boundary clamp", "--nx 97 --ny 131 --steps 16",
          "--nx 100 --ny 129 --steps 16 --boundary periodic",
          "--nx 5 --ny 700 --steps 5 --boundary zero --type double"})
        ladder.program.test_sizes.push_back(rest);

    for (std::string& size : ladder.program.large_sizes)
        size += " --steps 1";  // the reference of several steps needs another 17 GB on the host
    ladder.program.large_sizes.push_back("--nx 16411 --ny 9001");

    ladder.variant("one_step", "a launch a step, a thread a cell",
                   [](const auto& task) { take_steps_one_by_one(task); });
    ladder.variant("shared", "the tile in shared memory, twice",
                   [](const auto& task) { take_steps_in_shared(task); });
    ladder.variant("registers", "16 rows a warp, outer rows through shared",
                   [](const auto& task) { take_steps_in_registers<1>(task); });
    ladder
        .variant("cluster", "the same, by two blocks of a cluster",
                 [](const auto& task) { take_steps_in_registers<CLUSTER>(task); })
        .unless([](const DeviceInfo& device, const auto&) {
            return device.major < 9 ? "clusters need an sm_90 GPU or newer" : "";
        });
    return ladder.run();
}
