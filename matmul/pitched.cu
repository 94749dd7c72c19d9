// pitched.cu: rows that start where memory likes it.
//
// Idea:   a block of 256 threads computes a row of C. It keeps the row of A in shared memory, 1024 elements at a time, and
//         each thread computes four columns, 256 apart: a warp reads 32 neighbours of a row of B, 128 bytes. Where rows
//         start at multiples of 128 bytes (1024 floats) these are four sectors in one line of the cache. With rows of
//         1000 floats, 4000 bytes, they are four sectors in two lines, each looked up by itself; with 1023 mostly five
//         sectors. cudaMallocPitch puts the start of each row at a multiple of the pitch (512 bytes and more);
//         cudaMemcpy2D copies between such a matrix and one of another pitch.
// Pitch:  is in bytes, and each matrix has its own: a row is found by its bytes, then read by its elements.
// Cost:   up to a pitch less one element a row, and copies that know of it.
// Wrong still: the row of A is used by one block only, and all of B is read for each row of C. See tiled.cu.
// Text 2, matrix multiplication with pitched memory. There the cached row is a fixed array of 1000 and overflows beyond,
//         C is indexed with the pitch of A, and the pitch counts elements in the kernel.
#include "matmul.cuh"

constexpr int BLOCK_SIZE = 256, CHUNK = 1024, COLUMNS = 4;

/// The start of a row in a matrix whose rows lie `pitch` bytes apart.
template <typename T>
__device__ T* row_of(T* matrix, size_t pitch, int64_t row) {
    return reinterpret_cast<T*>(reinterpret_cast<uintptr_t>(matrix) + row * pitch);
}

template <typename T>
__global__ void __launch_bounds__(BLOCK_SIZE)
    matmul_row_per_block(Task<T> t, size_t pitch_a, size_t pitch_b, size_t pitch_c) {
    __shared__ T cached[CHUNK];
    const T* row_of_a = row_of(t.a, pitch_a, blockIdx.x);
    T* row_of_c = row_of(t.c, pitch_c, blockIdx.x);

    for (int64_t first = threadIdx.x; first - threadIdx.x < t.n; first += COLUMNS * BLOCK_SIZE) {
        T sum[COLUMNS] = {};
        for (int chunk = 0; chunk < t.k; chunk += CHUNK) {
            const int length = min(CHUNK, t.k - chunk);
            for (int i = threadIdx.x; i < length; i += BLOCK_SIZE) cached[i] = row_of_a[chunk + i];
            __syncthreads();
            for (int i = 0; i < length; ++i) {
                const T* row_of_b = row_of(t.b, pitch_b, chunk + i);
#pragma unroll
                for (int j = 0; j < COLUMNS; ++j)
                    if (first + j * BLOCK_SIZE < t.n) sum[j] += cached[i] * row_of_b[first + j * BLOCK_SIZE];
            }
            __syncthreads();
        }
#pragma unroll
        for (int j = 0; j < COLUMNS; ++j) {
            const int64_t col = first + j * BLOCK_SIZE;
            if (col < t.n) row_of_c[col] = t.combine(sum[j], t.beta == 0 ? T{0} : row_of_c[col]);
        }
    }
}

/// Pitched copies of the task's matrices.
template <typename T>
struct Pitched {
    PitchedBuffer<T> a, b, c;

    explicit Pitched(const Task<T>& t) : a(t.m, t.k), b(t.k, t.n), c(t.m, t.n) {
        copy(a.data(), a.pitch_bytes(), t.a, t.lda * sizeof(T), t.k, t.m);
        copy(b.data(), b.pitch_bytes(), t.b, t.ldb * sizeof(T), t.n, t.k);
    }
    void take_c(const Task<T>& t) { copy(c.data(), c.pitch_bytes(), t.c, t.ldc * sizeof(T), t.n, t.m); }
    void bring_c(const Task<T>& t) { copy(t.c, t.ldc * sizeof(T), c.data(), c.pitch_bytes(), t.n, t.m); }

 private:
    static void copy(T* to, size_t to_pitch, const T* from, size_t from_pitch, int cols, int rows) {
        if (rows == 0 || cols == 0) return;
        CHECK_CUDA_CALL(
            cudaMemcpy2D(to, to_pitch, from, from_pitch, cols * sizeof(T), rows, cudaMemcpyDeviceToDevice));
    }
};

/// Made when they are first asked for.
template <typename T>
Pitched<T>& pitched(const Task<T>& t) {
    static Pitched<T> copies(t);
    return copies;
}

int main(int argc, char** argv) {
    Matmul ladder("pitched", "Multiplies a row a block, with rows end to end and with cudaMallocPitch.", argc,
                  argv);
    ladder.variant("unpitched", "a row starts where the last one ends", [](auto t) {
        const size_t size = sizeof(t.alpha);
        matmul_row_per_block<<<t.m, BLOCK_SIZE>>>(t, t.lda * size, t.ldb * size, t.ldc * size);
    });
    Matmul::Entry& copies =
        ladder.variant("pitched", "cudaMallocPitch: rows start at multiples of 512 bytes", [](auto t) {
            auto& [a, b, c] = pitched(t);
            t.a = a.data(), t.b = b.data(), t.c = c.data();
            matmul_row_per_block<<<t.m, BLOCK_SIZE>>>(t, a.pitch_bytes(), b.pitch_bytes(), c.pitch_bytes());
        });
    copies.take = [](const auto& t) { pitched(t).take_c(t); };
    copies.bring = [](const auto& t) { pitched(t).bring_c(t); };
    ladder.program.sweep_sizes = {"--mnk 1000", "--mnk 1023", "--mnk 1024", "--mnk 4095", "--mnk 4096"};
    for (const char* size : {"--m 2 --n 1025 --k 1100", "--m 3 --n 257 --k 1024 --type double"})
        ladder.program.test_sizes.push_back(size);
    return ladder.run();
}
