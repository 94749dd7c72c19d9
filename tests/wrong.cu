// wrong.cu: variants that are wrong on purpose, beside a right one, to see what the harness makes of them.
#include "../transpose/transpose.cuh"

enum class Fault { none, last_row_missing, tile_stays_in_place, race };

template <Fault FAULT, typename T>
__global__ void transpose(const T* in, T* out, Extent e) {
    __shared__ T tile[TILE_DIM][TILE_DIM + 1];
    const int col = blockIdx.x * TILE_DIM + threadIdx.x;
    const int row = tile_y() * TILE_DIM + threadIdx.y;
    if (row < e.rows && col < e.cols) tile[threadIdx.y][threadIdx.x] = in[int64_t{row} * e.cols + col];
    if (FAULT != Fault::race) __syncthreads();

    int out_row = blockIdx.x * TILE_DIM + threadIdx.y;
    int out_col = tile_y() * TILE_DIM + threadIdx.x;
    if (FAULT == Fault::tile_stays_in_place) {
        out_row = tile_y() * TILE_DIM + threadIdx.y;
        out_col = blockIdx.x * TILE_DIM + threadIdx.x;
    }
    if (out_row < e.cols - (FAULT == Fault::last_row_missing) && out_col < e.rows)
        out[int64_t{out_row} * e.rows + out_col] = tile[threadIdx.x][threadIdx.y];
}

int main(int argc, char** argv) {
    Transpose ladder("wrong", "Wrong on purpose: a test of the harness.", argc, argv);
    const dim3 block(TILE_DIM, TILE_DIM);
    ladder.variant("right", "nothing wrong here", [=](auto t) {
        transpose<Fault::none><<<tiles(t.extent), block>>>(t.in, t.out, t.extent);
    });
    ladder.variant("last_row_missing", "leaves the last row of B as it was", [=](auto t) {
        transpose<Fault::last_row_missing><<<tiles(t.extent), block>>>(t.in, t.out, t.extent);
    });
    ladder.variant("tile_stays_in_place", "the tutorial's index fault", [=](auto t) {
        transpose<Fault::tile_stays_in_place><<<tiles(t.extent), block>>>(t.in, t.out, t.extent);
    });
    ladder.variant("race", "no barrier between write and read", [=](auto t) {
        transpose<Fault::race><<<tiles(t.extent), block>>>(t.in, t.out, t.extent);
    });
    return ladder.run();
}
