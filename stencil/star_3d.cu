// star_3d.cu: 7 points, or 25 with --radius 4, in three dimensions.
#include "packs.cuh"

constexpr int TILE_X = 32, TILE_Y = 8;

/// The first cell of this block's tile; blocks count along x, then y, then z.
struct Corner {
    int x, y, z;
};
__device__ Corner corner_of_tile(const Domain& d, int width, int height, int depth) {
    const unsigned across = (d.nx + width - 1) / width, down = (d.ny + height - 1) / height;
    const unsigned x = blockIdx.x % across, y = blockIdx.x / across % down, z = blockIdx.x / across / down;
    return {static_cast<int>(x * width), static_cast<int>(y * height), static_cast<int>(z * depth)};
}
inline dim3 tiles(const Domain& d, int width, int height, int depth) {
    return grid_of_tiles(ceil_div(d.nx, width) * ceil_div(d.ny, height) * ceil_div(d.nz, depth), 1);
}

/// at(dx, dy, dz): the cell so far away.
template <int R, typename T, typename At>
__device__ T star(const Coefficients<T>& c, const At& at) {
    T sum = c[0] * at(0, 0, 0);
#pragma unroll
    for (int k = 1; k <= R; ++k) {
        const T* const w = &c.at[1 + 6 * (k - 1)];
        sum += w[0] * at(-k, 0, 0) + w[1] * at(k, 0, 0);
        sum += w[2] * at(0, -k, 0) + w[3] * at(0, k, 0);
        sum += w[4] * at(0, 0, -k) + w[5] * at(0, 0, k);
    }
    return sum;
}

/// A thread a cell.
template <int R, typename T>
__global__ void star_naive(const T* in, T* out, Domain d, Coefficients<T> c) {
    const Corner corner = corner_of_tile(d, TILE_X, TILE_Y, 1);
    const int x = corner.x + threadIdx.x, y = corner.y + threadIdx.y, z = corner.z;
    if (d.inner_x(corner.x, corner.x + TILE_X, R) && d.inner_y(corner.y, corner.y + TILE_Y, R) &&
        d.inner_z(z, z + 1, R))
        out[d.index(x, y, z)] =
            star<R>(c, [&](int dx, int dy, int dz) { return in[d.index(x + dx, y + dy, z + dz)]; });
    else if (x < d.nx && y < d.ny)
        out[d.index(x, y, z)] =
            d.stays(x, y, z, R)
                ? in[d.index(x, y, z)]
                : star<R>(c, [&](int dx, int dy, int dz) { return d.read(in, x + dx, y + dy, z + dz); });
}

/// 2.5-D: a block walks along z with a plane in shared memory.
template <int R, typename T>
__global__ void star_plane(const T* in, T* out, Domain d, Coefficients<T> c, int depth) {
    constexpr int WIDTH = R + TILE_X + R, HEIGHT = R + TILE_Y + R;
    __shared__ T plane[HEIGHT][WIDTH];
    const Corner corner = corner_of_tile(d, TILE_X, TILE_Y, depth);
    const int x = corner.x + threadIdx.x, y = corner.y + threadIdx.y;
    const int end = min(corner.z + depth, static_cast<int>(d.nz));
    const bool inner = d.inner_x(corner.x, corner.x + TILE_X, R) &&
                       d.inner_y(corner.y, corner.y + TILE_Y, R) && d.inner_z(corner.z, end, R);
    const auto cell = [&](int at_x, int at_y, int at_z) {
        return inner ? in[d.index(at_x, at_y, at_z)] : d.read(in, at_x, at_y, at_z);
    };

    T queue[R + 1 + R];  // the cells of this thread in the planes z - R..z + R
#pragma unroll
    for (int k = -R; k < R; ++k) queue[R + 1 + k] = cell(x, y, corner.z + k);
    for (int z = corner.z; z < end; ++z) {
#pragma unroll
        for (int k = 0; k < 2 * R; ++k) queue[k] = queue[k + 1];
        queue[2 * R] = cell(x, y, z + R);

        for (int i = threadIdx.y * TILE_X + threadIdx.x; i < WIDTH * HEIGHT; i += TILE_X * TILE_Y)
            plane[i / WIDTH][i % WIDTH] = cell(corner.x - R + i % WIDTH, corner.y - R + i / WIDTH, z);
        __syncthreads();
        const auto at = [&](int dx, int dy, int dz) {
            return dz ? queue[R + dz] : plane[threadIdx.y + R + dy][threadIdx.x + R + dx];
        };
        if (x < d.nx && y < d.ny)
            out[d.index(x, y, z)] = !inner && d.stays(x, y, z, R) ? queue[R] : star<R>(c, at);
        __syncthreads();
    }
}

int main(int argc, char** argv) {
    Stencil ladder("star_3d", "The star in three dimensions.", argc, argv, star_3d, 1);
    ladder.takes_radius(4);
    ladder.variant("naive", "a thread a cell", [](const auto& task) {
        with_radius<4>(task.radius, [&](auto R) {
            star_naive<R()><<<tiles(task.domain, TILE_X, TILE_Y, 1), dim3(TILE_X, TILE_Y)>>>(
                task.in, task.out, task.domain, task.c);
        });
    });
    ladder.variant("plane", "2.5-D", [](const auto& task) {
        with_radius<4>(task.radius, [&](auto R) {
            constexpr int depth = 64;
            star_plane<R()><<<tiles(task.domain, TILE_X, TILE_Y, depth), dim3(TILE_X, TILE_Y)>>>(
                task.in, task.out, task.domain, task.c, depth);
        });
    });
    return ladder.run();
}
