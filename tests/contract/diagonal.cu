// diagonal.cu: a program added to the family transpose.
#include "transpose.cuh"

template <typename T>
__global__ void transpose_diagonal(const T* in, T* out, Extent e) {
    const int x = (blockIdx.x + tile_y()) % gridDim.x, col = x * TILE_DIM + threadIdx.x;
    const int row = tile_y() * TILE_DIM + threadIdx.y;
    if (row < e.rows && col < e.cols) out[int64_t{col} * e.rows + row] = in[int64_t{row} * e.cols + col];
}

int main(int argc, char** argv) {
    Transpose ladder("diagonal", "Transposes with the blocks of a row shifted.", argc, argv);
    ladder.variant("diagonal", "blocks along a diagonal", [](auto t) {
        transpose_diagonal<<<tiles(t.extent), dim3(TILE_DIM, TILE_DIM)>>>(t.in, t.out, t.extent);
    });
    return ladder.run();
}
