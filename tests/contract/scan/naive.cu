// naive.cu: each thread adds up all that stands before it.
#include "scan.cuh"

constexpr int BLOCK_SIZE = 256;

template <typename T>
__global__ void scan_naive(const T* in, T* out, int64_t n) {
    const int64_t i = blockIdx.x * int64_t{BLOCK_SIZE} + threadIdx.x;
    if (i >= n) return;
    T sum = 0;
    for (int64_t k = 0; k <= i; ++k) sum += in[k];
    out[i] = sum;
}

int main(int argc, char** argv) {
    Scan ladder("naive", "Scans by the definition.", argc, argv);
    ladder.variant("naive", "each thread adds all before it", [](auto t) {
        scan_naive<<<grid_of_tiles(ceil_div(t.n, BLOCK_SIZE), 1), BLOCK_SIZE>>>(t.in, t.out, t.n);
    });
    return ladder.run();
}
