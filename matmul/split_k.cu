// split_k.cu: a short C and a long k: several blocks share the k of a tile.
//
// Idea:   a C of 128 x 128 is one tile of sgemm.cu, one block, and all other multiprocessors stand idle, however long k
//         is. So k is cut into slices, each block sums one slice of one tile, and a second kernel adds the parts.
// Slices: so many that the blocks fill the GPU once, but none shorter than SHORTEST: each writes a tile and reads it
//         again, which must be little beside its work.
// Order:  the second kernel adds the parts of an element in the order of k. Atomic additions into C would need no second
//         launch and no workspace, but they come in any order: other bits each time. And beta, or a first C of zeros,
//         would be one more launch.
// Cost:   slices x m x n floats of workspace, written and read once; a second launch.
// Wrong still: with two slices of one tile too many, the last blocks run alone.
// Texts: none goes this far.
#include "cublas.cuh"
#include "sgemm.cuh"

using Tile = LargeTile;
constexpr int SHORTEST = 256;  // elements of k; a multiple of 4, so that each slice starts at 16 bytes

struct Slices {
    int count, length;  ///< the last may be shorter
};
Slices slices(int64_t m, int64_t n, int64_t k, int multiprocessors) {
    const int64_t wanted =
        std::max<int64_t>(1, blocks_a_multiprocessor(4) * multiprocessors / tiles_of<Tile>(m, n));
    const int64_t length = std::max<int64_t>(SHORTEST, ceil_div(ceil_div(k, wanted), Tile::BK) * Tile::BK);
    return {static_cast<int>(std::max<int64_t>(1, ceil_div(k, length))), static_cast<int>(length)};
}

/// Part `slice` of the workspace becomes the product of A's and B's part.
template <int V>
__global__ void __launch_bounds__(Tile::THREADS, blocks_a_multiprocessor(V))
    multiply_slices(Task<float> t, Slices slices) {
    __shared__ Buffers<Tile> buffers;
    const int slice = tile_y(), first = slice * slices.length;
    if (slice >= slices.count) return;
    Task<float> part = t;
    part.a += first;
    part.b += first * t.ldb;
    part.k = min(slices.length, t.k - first);
    part.c = t.workspace + slice * (int64_t{t.m} * t.n);
    part.ldc = t.n;
    part.alpha = 1;
    part.beta = 0;
    multiply_tile<Tile, V>(part, blockIdx.x, buffers);
}

__global__ void add_slices(Task<float> t, int count) {
    const int row = tile_y() * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= t.m || col >= t.n) return;
    float sum = 0;
    for (int slice = 0; slice < count; ++slice) sum += t.workspace[(int64_t{slice} * t.m + row) * t.n + col];
    t.store(row, col, sum);
}

void launch_split(const Task<float>& t) {
    const Slices parts = slices(t.m, t.n, t.k, t.multiprocessors);
    const auto kernel = in_fours(t) ? multiply_slices<4> : multiply_slices<1>;
    kernel<<<grid_of_tiles(tiles_of<Tile>(t.m, t.n), parts.count), Tile::THREADS>>>(t, parts);
    add_slices<<<t.tiles(8, 32), dim3(32, 8)>>>(t, parts.count);
}

int main(int argc, char** argv) {
    Matmul ladder("split_k", "Multiplies with the sum over k shared by several blocks.", argc, argv);
    ladder.family.needs_workspace([](const Shape& s, const DeviceInfo& device) -> int64_t {
        return slices(s.m, s.n, s.k, device.multiprocessors).count * s.m * s.n;
    });
    ladder.variant<float>("whole", "a block sums all of k", [](auto t) { launch_sgemm(t, t.m); });
    ladder.variant<float>("split", "slices of k that fill the GPU, 2 launches", launch_split);
    add_cublas(ladder);
    ladder.program.sweep_sizes = {"--m 128 --n 128 --k 262144", "--m 256 --n 256 --k 65536",
                                  "--m 512 --n 512 --k 16384", "--mnk 1024"};
    for (const char* size : {"--m 5 --n 7 --k 1030", "--m 65 --n 132 --k 600 --beta 1 --ldc 136"})
        ladder.program.test_sizes.push_back(size);
    return ladder.run();
}
