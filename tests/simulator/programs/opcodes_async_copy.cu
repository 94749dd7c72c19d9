// Copies from global to shared memory that the threads do not wait for: by PTX, by the pipeline's primitives
// and by the library, with groups, zero fill, barriers that count them, and cuda::pipeline.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda_pipeline.h>

#include <cuda/barrier>
#include <cuda/pipeline>
#include <numeric>

#include "opcodes.cuh"

namespace cg = cooperative_groups;

// A cuda::barrier in shared memory is initialised by init().
#pragma nv_diag_suppress static_var_with_dynamic_init

namespace {

constexpr int THREADS = 64;

__device__ unsigned sharedAddress(const void* p) {
    return unsigned(__cvta_generic_to_shared(p));
}

// One copy of each size, by the opcode itself; .ca goes through L1, .cg (16 bytes only) does not.
template <int bytes>
__global__ void copyByPtx(const int* in, int* out) {
    constexpr int words = bytes / 4;
    __shared__ alignas(16) int s[THREADS * words];
    int first = words * threadIdx.x;
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(sharedAddress(s + first)), "l"(in + first),
                 "n"(bytes)
                 : "memory");
    asm volatile("cp.async.commit_group;" ::: "memory");
    asm volatile("cp.async.wait_group 0;" ::: "memory");
    __syncthreads();
    for (int k = 0; k < words; ++k) out[first + k] = s[THREADS * words - 1 - first - k];
}
__global__ void copyAroundL1(const int* in, int* out) {
    __shared__ alignas(16) int s[4 * THREADS];
    int first = 4 * threadIdx.x;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(sharedAddress(s + first)), "l"(in + first)
                 : "memory");
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();
    for (int k = 0; k < 4; ++k) out[first + k] = s[4 * THREADS - 1 - first - k];
}

// Zero fill: of the 16 bytes only so many are read; the rest is zero. The edge of an image, for example.
__global__ void zeroFill(const int* in, int* out, int n) {
    __shared__ alignas(16) int s[4 * THREADS];
    int first = 4 * threadIdx.x, valid = min(max(n - first, 0), 4);
    for (int k = 0; k < 4; ++k) s[first + k] = -1;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(sharedAddress(s + first)),
                 "l"(valid ? in + first : in), "r"(4 * valid)
                 : "memory");
    asm volatile("cp.async.commit_group;\n\tcp.async.wait_group 0;" ::: "memory");
    for (int k = 0; k < 4; ++k) out[first + k] = s[first + k];
}
__global__ void zeroFillByPrimitive(const int* in, int* out) {
    __shared__ alignas(16) int s[2 * THREADS];
    __pipeline_memcpy_async(s + 2 * threadIdx.x, in + 2 * threadIdx.x, 8, threadIdx.x % 2 ? 4 : 0);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    out[2 * threadIdx.x] = s[2 * threadIdx.x];
    out[2 * threadIdx.x + 1] = s[2 * threadIdx.x + 1];
}

// Four groups in flight; each is waited for in its turn.
__global__ void groups(const int* in, int* out) {
    __shared__ int s[4][THREADS];
    int t = threadIdx.x, sum = 0;
    for (int k = 0; k < 4; ++k) {
        __pipeline_memcpy_async(&s[k][t], in + THREADS * k + t, 4);
        __pipeline_commit();
    }
    __pipeline_wait_prior(3);
    sum += s[0][t];
    __pipeline_wait_prior(2);
    sum += 10 * s[1][t];
    __pipeline_wait_prior(1);
    sum += 100 * s[2][t];
    __pipeline_wait_prior(0);
    out[t] = sum + 1000 * s[3][t];
}

// The loop of a matrix product: three stages, one barrier a step, empty groups at the end.
__global__ void stages(const int* in, int* out, int tiles) {
    constexpr int depth = 3;
    __shared__ int s[depth][THREADS];
    int t = threadIdx.x, sum = 0;
    auto fetch = [&](int k) {
        if (k < tiles) __pipeline_memcpy_async(&s[k % depth][t], in + THREADS * k + t, 4);
        __pipeline_commit();
    };
    for (int k = 0; k < depth - 1; ++k) fetch(k);
    for (int k = 0; k < tiles; ++k) {
        __pipeline_wait_prior(depth - 2);
        __syncthreads();
        sum += (k + 1) * s[k % depth][THREADS - 1 - t];
        fetch(k + depth - 1);
    }
    out[t] = sum;
}

// The whole block copies, by cooperative groups.
__global__ void groupCopy(const int* in, int* out) {
    __shared__ alignas(16) int s[4 * THREADS];
    auto block = cg::this_thread_block();
    cg::memcpy_async(block, s, in, sizeof s);
    cg::wait(block);
    for (int k = 0; k < 4; ++k)
        out[k * THREADS + threadIdx.x] = s[4 * THREADS - 1 - k * THREADS - threadIdx.x];
}

// The arrival of a copy counts at a barrier in shared memory.
__global__ void barrierCopy(const int* in, int* out) {
    __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
    __shared__ int s[THREADS];
    if (threadIdx.x == 0) init(&barrier, THREADS);
    __syncthreads();
    for (int k = 0; k < 2; ++k) {
        cuda::memcpy_async(s + threadIdx.x, in + THREADS * k + threadIdx.x, cuda::aligned_size_t<4>(4),
                           barrier);
        barrier.arrive_and_wait();
        out[THREADS * k + threadIdx.x] = s[THREADS - 1 - threadIdx.x];
        barrier.arrive_and_wait();
    }
}
__global__ void barrierCopyByPtx(const int* in, int* out) {
    __shared__ alignas(8) unsigned long long barrier;
    __shared__ int s[THREADS];
    unsigned address = sharedAddress(&barrier);
    if (threadIdx.x == 0)
        asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(address), "r"(THREADS) : "memory");
    __syncthreads();
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(sharedAddress(s + threadIdx.x)),
                 "l"(in + threadIdx.x)
                 : "memory");
    asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(address) : "memory");
    unsigned done = 0;
    while (!done)
        asm volatile(
            "{.reg .pred p;\n\tmbarrier.try_wait.parity.shared.b64 p, [%1], 0;\n\tselp.u32 %0, 1, 0, p;}"
            : "=r"(done)
            : "r"(address)
            : "memory");
    out[threadIdx.x] = s[THREADS - 1 - threadIdx.x];
}

// A pipeline of the block: all threads produce and consume, two stages.
__global__ void blockPipeline(const int* in, int* out, int tiles) {
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    __shared__ int s[2][THREADS];
    auto block = cg::this_thread_block();
    auto pipeline = cuda::make_pipeline(block, &state);
    auto fetch = [&](int k) {
        pipeline.producer_acquire();
        if (k < tiles)
            cuda::memcpy_async(block, s[k % 2], in + THREADS * k, cuda::aligned_size_t<4>(sizeof s[0]),
                               pipeline);
        pipeline.producer_commit();
    };
    int sum = 0;
    fetch(0);
    for (int k = 0; k < tiles; ++k) {
        fetch(k + 1);
        pipeline.consumer_wait();
        sum += (k + 1) * s[k % 2][THREADS - 1 - threadIdx.x];
        pipeline.consumer_release();
    }
    out[threadIdx.x] = sum;
}
// A pipeline of one thread: no barrier, only the thread's own copies.
__global__ void threadPipeline(const int* in, int* out, int tiles) {
    __shared__ int s[2][THREADS];
    auto pipeline = cuda::make_pipeline();
    int t = threadIdx.x, sum = 0;
    auto fetch = [&](int k) {
        pipeline.producer_acquire();
        if (k < tiles)
            cuda::memcpy_async(&s[k % 2][t], in + THREADS * k + t, cuda::aligned_size_t<4>(4), pipeline);
        pipeline.producer_commit();
    };
    fetch(0);
    for (int k = 0; k < tiles; ++k) {
        fetch(k + 1);
        cuda::pipeline_consumer_wait_prior<1>(pipeline);
        sum += (k + 1) * s[k % 2][t];
        pipeline.consumer_release();
    }
    out[t] = sum;
}

std::vector<int> counting(int n) {
    std::vector<int> values(n);
    std::iota(values.begin(), values.end(), 1);
    return values;
}
std::vector<int> reversed(int n) {
    auto values = counting(n);
    return {values.rbegin(), values.rend()};
}

}  // namespace

int main() {
    Checks checks("async_copy");
    Device<int> in(counting(5 * THREADS)), one(THREADS), two(2 * THREADS), four(4 * THREADS);
    copyByPtx<4><<<1, THREADS>>>(in, one);
    checks.equal("cp.async of 4 bytes", one.get(), reversed(THREADS));
    copyByPtx<8><<<1, THREADS>>>(in, two);
    checks.equal("cp.async of 8 bytes", two.get(), reversed(2 * THREADS));
    copyByPtx<16><<<1, THREADS>>>(in, four);
    checks.equal("cp.async of 16 bytes", four.get(), reversed(4 * THREADS));
    copyAroundL1<<<1, THREADS>>>(in, four);
    checks.equal("cp.async.cg", four.get(), reversed(4 * THREADS));

    auto want = counting(4 * THREADS);
    for (int i = 101; i < 4 * THREADS; ++i) want[i] = 0;
    zeroFill<<<1, THREADS>>>(in, four, 101);
    checks.equal("zero fill", four.get(), want);
    want = counting(2 * THREADS);
    for (int i = 0; i < 2 * THREADS; ++i)
        if (i / 2 % 2 && i % 2) want[i] = 0;
    zeroFillByPrimitive<<<1, THREADS>>>(in, two);
    checks.equal("zero fill by __pipeline_memcpy_async", two.get(), want);

    want.assign(THREADS, 0);
    for (int i = 0; i < THREADS; ++i)
        for (int k = 0, factor = 1; k < 4; ++k, factor *= 10) want[i] += factor * (THREADS * k + i + 1);
    groups<<<1, THREADS>>>(in, one);
    checks.equal("groups", one.get(), want);

    std::vector<int> own(THREADS), others(THREADS);
    for (int k = 0; k < 5; ++k) {
        for (int i = 0; i < THREADS; ++i) {
            own[i] += (k + 1) * (THREADS * k + i + 1);
            others[i] += (k + 1) * (THREADS * k + THREADS - i);
        }
    }
    stages<<<1, THREADS>>>(in, one, 5);
    checks.equal("three stages", one.get(), others);
    groupCopy<<<1, THREADS>>>(in, four);
    checks.equal("cg::memcpy_async", four.get(), reversed(4 * THREADS));
    barrierCopy<<<1, THREADS>>>(in, two);
    want = reversed(THREADS);
    for (int i = 0; i < THREADS; ++i) want.push_back(2 * THREADS - i);
    checks.equal("cuda::memcpy_async with a barrier", two.get(), want);
    barrierCopyByPtx<<<1, THREADS>>>(in, one);
    checks.equal("cp.async.mbarrier.arrive", one.get(), reversed(THREADS));
    blockPipeline<<<1, THREADS>>>(in, one, 5);
    checks.equal("pipeline of the block", one.get(), others);
    threadPipeline<<<1, THREADS>>>(in, one, 5);
    checks.equal("pipeline of the thread", one.get(), own);
    return checks.finish();
}
