// Barriers: of the block, with a reduction, named, arrive and wait, and mbarriers by library and by PTX.
#include <cuda/barrier>
#include <numeric>

#include "opcodes.cuh"

// A cuda::barrier in shared memory is initialised by init().
#pragma nv_diag_suppress static_var_with_dynamic_init

namespace {

constexpr int THREADS = 128;

__global__ void reverse(const int* in, int* out) {
    __shared__ int s[THREADS];
    s[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = s[THREADS - 1 - threadIdx.x];
}

__global__ void reductions(const int* in, int* out) {
    int v = in[threadIdx.x];
    out[threadIdx.x] = __syncthreads_count(v % 3 == 0);
    out[THREADS + threadIdx.x] = __syncthreads_and(v >= 0) + 2 * __syncthreads_and(v > 0);
    out[2 * THREADS + threadIdx.x] = __syncthreads_or(v == 77) + 2 * __syncthreads_or(v < 0);
}

// Only two of the three warps meet, under a number of their own; the third has other things to do.
__global__ void twoWarps(int* out) {
    __shared__ int s[64];
    int t = threadIdx.x;
    if (t < 64) {
        s[t] = t;
        asm volatile("bar.sync 5, 64;" ::: "memory");
        out[t] = s[63 - t];
    } else {
        out[t] = -1;
    }
}

// The numbers of the barriers come from registers, and one is used again and again.
__global__ void pairsOfWarps(int* out, int rounds) {
    __shared__ int s[THREADS];
    int pair = threadIdx.x / 64, first = 64 * pair, t = threadIdx.x % 64, v = t;
    for (int k = 0; k < rounds; ++k) {
        s[first + t] = v;
        asm volatile("barrier.sync %0, %1;" ::"r"(1 + pair), "r"(64) : "memory");
        v = s[first + (t + 1) % 64];
        asm volatile("barrier.sync %0, %1;" ::"r"(1 + pair), "r"(64) : "memory");
    }
    out[threadIdx.x] = v;
}

__global__ void namedReduction(const int* in, int* out) {
    int v = in[threadIdx.x], count = 0, any = 0;
    if (threadIdx.x < 96) {
        asm volatile("{.reg .pred p;\n\tsetp.gt.s32 p, %1, 40;\n\tbar.red.popc.u32 %0, 2, 96, p;}"
                     : "=r"(count)
                     : "r"(v)
                     : "memory");
        asm volatile(
            "{.reg .pred p, q;\n\tsetp.eq.s32 p, %1, 95;\n\tbar.red.or.pred q, 2, 96, p;\n\t"
            "selp.s32 %0, 1, 0, q;}"
            : "=r"(any)
            : "r"(v)
            : "memory");
    }
    out[threadIdx.x] = 10 * count + any;
}

// One warp produces, three consume: full and empty barriers, arrive on the one side and sync on the other.
__global__ void producerConsumers(const int* in, int* out, int tiles) {
    __shared__ int s[32];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, sum = 0;
    for (int k = 0; k < tiles; ++k) {
        if (warp == 0) {
            s[lane] = in[32 * k + lane];
            asm volatile("bar.arrive 1, 128;" ::: "memory");
            asm volatile("bar.sync 2, 128;" ::: "memory");
        } else {
            asm volatile("bar.sync 1, 128;" ::: "memory");
            sum += s[(lane + warp) % 32];
            asm volatile("bar.arrive 2, 128;" ::: "memory");
        }
    }
    out[threadIdx.x] = sum;
}

__global__ void libraryBarrier(const int* in, int* out, int rounds) {
    __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
    __shared__ int s[THREADS];
    if (threadIdx.x == 0) init(&barrier, THREADS);
    __syncthreads();
    int v = in[threadIdx.x];
    for (int k = 0; k < rounds; ++k) {
        s[threadIdx.x] = v;
        auto token = barrier.arrive();
        v += 1000;  // what does not depend on the others may go between
        barrier.wait(std::move(token));
        v += s[(threadIdx.x + 33) % THREADS];
        barrier.arrive_and_wait();
    }
    out[threadIdx.x] = v;
}

// Half of the threads leave after the first phase: the later ones expect fewer.
__global__ void dropping(int* out) {
    __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
    __shared__ int s[THREADS];
    if (threadIdx.x == 0) init(&barrier, THREADS);
    __syncthreads();
    s[threadIdx.x] = threadIdx.x;
    if (threadIdx.x >= 64) {
        barrier.arrive_and_drop();
        return;
    }
    barrier.arrive_and_wait();
    int v = s[127 - threadIdx.x];
    barrier.arrive_and_wait();
    s[threadIdx.x] = v;
    barrier.arrive_and_wait();
    out[threadIdx.x] = s[63 - threadIdx.x];
}

// The same by PTX, with the parity of the phase instead of a token.
__device__ unsigned sharedAddress(const void* p) {
    return unsigned(__cvta_generic_to_shared(p));
}
__global__ void parityBarrier(const int* in, int* out, int rounds) {
    __shared__ alignas(8) unsigned long long barrier;
    __shared__ int s[THREADS];
    unsigned address = sharedAddress(&barrier);
    if (threadIdx.x == 0)
        asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(address), "r"(THREADS) : "memory");
    __syncthreads();
    int v = in[threadIdx.x];
    unsigned parity = 0;
    auto meet = [&] {
        unsigned done = 0;
        asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(address) : "memory");
        while (!done)
            asm volatile(
                "{.reg .pred p;\n\tmbarrier.try_wait.parity.shared.b64 p, [%1], %2;\n\t"
                "selp.u32 %0, 1, 0, p;}"
                : "=r"(done)
                : "r"(address), "r"(parity)
                : "memory");
        parity ^= 1;
    };
    for (int k = 0; k < rounds; ++k) {
        s[threadIdx.x] = v;
        meet();
        v += s[THREADS - 1 - threadIdx.x];
        meet();
    }
    __syncthreads();
    if (threadIdx.x == 0) asm volatile("mbarrier.inval.shared.b64 [%0];" ::"r"(address) : "memory");
    out[threadIdx.x] = v;
}

// A token from arrive, tested without waiting: before and after the last arrival.
__global__ void testWait(int* out) {
    __shared__ alignas(8) unsigned long long barrier;
    unsigned address = sharedAddress(&barrier), early = 0, late = 0;
    if (threadIdx.x != 0) return;
    unsigned long long first;
    asm volatile("mbarrier.init.shared.b64 [%0], 2;" ::"r"(address) : "memory");
    asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(first) : "r"(address) : "memory");
    asm volatile("{.reg .pred p;\n\tmbarrier.test_wait.shared.b64 p, [%1], %2;\n\tselp.u32 %0, 1, 0, p;}"
                 : "=r"(early)
                 : "r"(address), "l"(first)
                 : "memory");
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(address) : "memory");
    asm volatile("{.reg .pred p;\n\tmbarrier.test_wait.shared.b64 p, [%1], %2;\n\tselp.u32 %0, 1, 0, p;}"
                 : "=r"(late)
                 : "r"(address), "l"(first)
                 : "memory");
    *out = int(early + 10 * late);
}

std::vector<int> counting(int n) {
    std::vector<int> values(n);
    std::iota(values.begin(), values.end(), 0);
    return values;
}

}  // namespace

int main() {
    Checks checks("barriers");
    Device<int> in(counting(THREADS)), out(THREADS), three(3 * THREADS);
    std::vector<int> want(THREADS);
    reverse<<<1, THREADS>>>(in, out);
    for (int i = 0; i < THREADS; ++i) want[i] = 127 - i;
    checks.equal("__syncthreads", out.get(), want);

    reductions<<<1, THREADS>>>(in, three);
    auto got = three.get();
    auto part = [&](int k) {
        return std::vector<int>(got.begin() + k * THREADS, got.begin() + (k + 1) * THREADS);
    };
    checks.equal("__syncthreads_count", part(0), std::vector<int>(THREADS, 43));
    checks.equal("__syncthreads_and", part(1), std::vector<int>(THREADS, 1));
    checks.equal("__syncthreads_or", part(2), std::vector<int>(THREADS, 1));

    twoWarps<<<1, 96>>>(out);
    for (int i = 0; i < 96; ++i) want[i] = i < 64 ? 63 - i : -1;
    auto two = out.get();
    checks.equal("named barrier of two warps", std::vector<int>(two.begin(), two.begin() + 96),
                 std::vector<int>(want.begin(), want.begin() + 96));
    pairsOfWarps<<<1, THREADS>>>(out, 5);
    for (int i = 0; i < THREADS; ++i) want[i] = (i % 64 + 5) % 64;
    checks.equal("barriers numbered by registers", out.get(), want);
    namedReduction<<<1, THREADS>>>(in, out);
    for (int i = 0; i < THREADS; ++i) want[i] = i < 96 ? 10 * 55 + 1 : 0;
    checks.equal("named barrier with a reduction", out.get(), want);
    Device<int> tiles(counting(32 * 4));
    producerConsumers<<<1, THREADS>>>(tiles, out, 4);
    for (int i = 0; i < THREADS; ++i) want[i] = i < 32 ? 0 : 4 * ((i + i / 32) % 32) + 32 * 6;
    checks.equal("producer and consumers", out.get(), want);

    auto rounds = [&](int count, int between, auto partner) {
        std::vector<int> v = counting(THREADS);
        for (int k = 0; k < count; ++k) {
            auto before = v;
            for (int i = 0; i < THREADS; ++i) v[i] += between + before[partner(i)];
        }
        return v;
    };
    libraryBarrier<<<1, THREADS>>>(in, out, 3);
    checks.equal("cuda::barrier", out.get(), rounds(3, 1000, [](int i) { return (i + 33) % THREADS; }));
    Device<int> half(64);
    dropping<<<1, THREADS>>>(half);
    std::vector<int> wantHalf(64);
    for (int i = 0; i < 64; ++i) wantHalf[i] = 127 - (63 - i);
    checks.equal("arrive_and_drop", half.get(), wantHalf);
    parityBarrier<<<1, THREADS>>>(in, out, 3);
    checks.equal("mbarrier by parity", out.get(), rounds(3, 0, [](int i) { return THREADS - 1 - i; }));
    Device<int> single(1);
    testWait<<<1, 32>>>(single);
    checks.equal("mbarrier.test_wait", single.get(), {10});
    return checks.finish();
}
