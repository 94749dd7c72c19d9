// Planted faults for the simulator's checker, each beside its correct twin.
//
//   faults --list       the names of all programs
//   faults NAME         one kernel with one planted fault: the simulator must name it
//   faults NAME-fixed   the same without the fault: it must run without a word (on a GPU too)
//   faults clean-NAME   correct code that a careless checker would call wrong
//
// A comment "fault: NAME" marks the line to blame; a race has two such lines, and the report must name one of
// them. The faulty kernels may hang or crash on a GPU: run only the fixed ones there.
#include <cooperative_groups.h>
#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda/atomic>
#include <cuda/barrier>
#include <numeric>
#include <vector>

namespace cg = cooperative_groups;

// A cuda::barrier in shared memory is initialised by init().
#pragma nv_diag_suppress static_var_with_dynamic_init

namespace {

bool wrong = false;  // a result or a call of a correct program was not what it should be

void expect(bool ok, const char* what) {
    if (ok) return;
    wrong = true;
    std::fprintf(stderr, "faults: %s\n", what);
}

// After a planted fault the runtime may refuse everything: main() looks at `wrong` only for correct programs.
void call(cudaError_t error) {
    if (error != cudaSuccess) expect(false, cudaGetErrorString(error));
}

/// Device memory that is freed at the end of its scope, so that no program leaks by accident.
template <class T>
class Buffer {
 public:
    explicit Buffer(size_t n) : size_(n) { call(cudaMalloc(&data_, n * sizeof(T))); }
    Buffer(size_t n, int byte) : Buffer(n) { call(cudaMemset(data_, byte, n * sizeof(T))); }
    ~Buffer() { call(cudaFree(data_)); }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;

    operator T*() const { return data_; }

    void set(const std::vector<T>& values) {
        call(cudaMemcpy(data_, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
    }
    std::vector<T> get() const {
        std::vector<T> values(size_);
        call(cudaMemcpy(values.data(), data_, size_ * sizeof(T), cudaMemcpyDeviceToHost));
        return values;
    }

 private:
    T* data_ = nullptr;
    size_t size_;
};

/// Page-locked host memory, without which an asynchronous copy is not asynchronous.
class Pinned {
 public:
    explicit Pinned(size_t n) {
        call(cudaMallocHost(&data_, n * sizeof(int)));
        for (size_t i = 0; i < n; ++i) data_[i] = int(i);
    }
    ~Pinned() { call(cudaFreeHost(data_)); }
    Pinned(const Pinned&) = delete;
    Pinned& operator=(const Pinned&) = delete;
    operator int*() const { return data_; }

 private:
    int* data_ = nullptr;
};

class Stream {
 public:
    explicit Stream(unsigned flags = cudaStreamDefault) { call(cudaStreamCreateWithFlags(&stream_, flags)); }
    ~Stream() {
        call(cudaStreamSynchronize(stream_));
        call(cudaStreamDestroy(stream_));
    }
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;
    operator cudaStream_t() const { return stream_; }

 private:
    cudaStream_t stream_ = nullptr;
};

class Event {
 public:
    Event() { call(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming)); }
    ~Event() { call(cudaEventDestroy(event_)); }
    Event(const Event&) = delete;
    Event& operator=(const Event&) = delete;
    operator cudaEvent_t() const { return event_; }

 private:
    cudaEvent_t event_ = nullptr;
};

std::vector<int> counting(size_t n) {
    std::vector<int> values(n);
    std::iota(values.begin(), values.end(), 0);
    return values;
}

void finish() {
    call(cudaGetLastError());
    call(cudaDeviceSynchronize());
}

// ---- out of bounds ----

template <bool fixed>
__global__ void storePastEnd(int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (fixed ? i < n : i <= n) out[i] = i;  // fault: global-past-end
}
template <bool fixed>
void globalPastEnd() {
    Buffer<int> out(256);
    storePastEnd<fixed><<<3, 128>>>(out, 256);
    finish();
    expect(out.get() == counting(256), "wrong sum");
}

template <bool fixed>
__global__ void loadBeforeStart(const int* in, int* out) {
    int i = threadIdx.x;
    int left = 0;
    if (!fixed || i > 0) left = in[i - 1];  // fault: global-before-start
    out[i] = left;
}
template <bool fixed>
void globalBeforeStart() {
    Buffer<int> in(64), out(64);
    in.set(counting(64));
    loadBeforeStart<fixed><<<1, 64>>>(in, out);
    finish();
    expect(out.get()[63] == 62, "wrong neighbour");
}

// The first element of the last vector is inside, its end is not.
template <bool fixed>
__global__ void vectorTail(const int* in, int* out, int n) {
    int i = 4 * threadIdx.x;
    if (fixed ? i + 3 < n : i < n) {
        int4 v = *reinterpret_cast<const int4*>(in + i);  // fault: global-vector-tail
        out[threadIdx.x] = v.x + v.y + v.z + v.w;
    } else if (i < n) {
        out[threadIdx.x] = in[i] + in[i + 1];
    }
}
template <bool fixed>
void globalVectorTail() {
    Buffer<int> in(254), out(64);
    in.set(counting(254));
    vectorTail<fixed><<<1, 64>>>(in, out, 254);
    finish();
    expect(out.get()[63] == 252 + 253, "wrong tail");
}

// Inside the memory, outside this allocation: the neighbour's data, no hardware fault.
__global__ void wildIndex(int* out, const int* index) {
    atomicAdd(out + index[threadIdx.x], 1);  // fault: global-atomic
}
template <bool fixed>
void globalAtomic() {
    Buffer<int> out(16, 0), index(32);
    std::vector<int> bins(32, 5);
    if (!fixed) bins[7] = 16;
    index.set(bins);
    wildIndex<<<1, 32>>>(out, index);
    finish();
    expect(out.get()[5] == 32, "wrong bin");
}

template <bool fixed>
__global__ void staticOverflow(const int* in, int* out) {
    __shared__ int s[64];
    int shift = fixed ? in[0] : in[8];
    s[threadIdx.x + shift] = in[threadIdx.x];  // fault: shared-static
    __syncthreads();
    out[threadIdx.x] = s[63 - threadIdx.x];
}
template <bool fixed>
void sharedStatic() {
    Buffer<int> in(64), out(64);
    in.set(counting(64));
    staticOverflow<fixed><<<1, 64>>>(in, out);
    finish();
    expect(out.get()[0] == 63, "wrong reversal");
}

__global__ void dynamicReversal(const int* in, int* out) {
    extern __shared__ int dynamic[];
    dynamic[threadIdx.x] = in[threadIdx.x];  // fault: shared-dynamic
    __syncthreads();
    out[threadIdx.x] = dynamic[63 - threadIdx.x];
}
template <bool fixed>
void sharedDynamic() {
    Buffer<int> in(64), out(64);
    in.set(counting(64));
    dynamicReversal<<<1, 64, (fixed ? 64 : 48) * sizeof(int)>>>(in, out);
    finish();
    expect(out.get()[0] == 63, "wrong reversal");
}

template <bool fixed>
__global__ void readBeforeShared(const int* in, int* out) {
    __shared__ int s[32];
    s[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    int i = int(threadIdx.x) - in[1];
    if (fixed && i < 0) i = 31;
    out[threadIdx.x] = s[i];  // fault: shared-before-start
}
template <bool fixed>
void sharedBeforeStart() {
    Buffer<int> in(32), out(32);
    in.set(counting(32));
    readBeforeShared<fixed><<<1, 32>>>(in, out);
    finish();
    expect(out.get()[0] == 31 && out.get()[31] == 30, "wrong rotation");
}

// ---- misaligned and null ----

template <bool fixed>
__global__ void vectorStore(float* out) {
    unsigned i = fixed ? 4 * threadIdx.x : threadIdx.x;
    *reinterpret_cast<float4*>(out + i) = make_float4(1, 2, 3, 4);  // fault: misaligned-float4
}
template <bool fixed>
void misalignedFloat4() {
    Buffer<float> out(128);
    vectorStore<fixed><<<1, 32>>>(out);
    finish();
    expect(out.get()[127] == 4, "wrong vector");
}

__global__ void pairLoad(const float* in, float* out) {
    float2 v = *reinterpret_cast<const float2*>(in + 2 * threadIdx.x);  // fault: misaligned-float2
    out[threadIdx.x] = v.x + v.y;
}
template <bool fixed>
void misalignedFloat2() {
    Buffer<float> in(80, 0), out(32);
    pairLoad<<<1, 32>>>(in + (fixed ? 2 : 1), out);
    finish();
    expect(out.get()[31] == 0, "wrong pair");
}

template <bool fixed>
__global__ void sharedPair(const int* in, int* out) {
    __shared__ alignas(16) int s[80];
    for (int i = threadIdx.x; i < 80; i += 32) s[i] = i;
    __syncthreads();
    int2 v = *reinterpret_cast<int2*>(s + 2 * threadIdx.x + in[fixed ? 2 : 1]);  // fault: misaligned-shared
    out[threadIdx.x] = v.x + v.y;
}
template <bool fixed>
void misalignedShared() {
    Buffer<int> in(32), out(32);
    in.set(counting(32));
    sharedPair<fixed><<<1, 32>>>(in, out);
    finish();
    expect(out.get()[31] == 64 + 65, "wrong pair");
}

__global__ void storeTo(int* out) {
    out[threadIdx.x] = 1;  // fault: null-store
}
template <bool fixed>
void nullStore() {
    Buffer<int> out(32);
    storeTo<<<1, 32>>>(fixed ? static_cast<int*>(out) : nullptr);
    finish();
}

__global__ void loadFrom(const int* in, int* out) {
    out[threadIdx.x] = in[threadIdx.x];  // fault: null-load
}
template <bool fixed>
void nullLoad() {
    Buffer<int> in(32, 0), out(32);
    loadFrom<<<1, 32>>>(fixed ? static_cast<int*>(in) : nullptr, out);
    finish();
}

// ---- the life of an allocation ----

__global__ void useFreed(int* out) {
    out[threadIdx.x] = 1;  // fault: use-after-free
}
template <bool fixed>
void useAfterFree() {
    int* data = nullptr;
    call(cudaMalloc(&data, 32 * sizeof(int)));
    if (!fixed) call(cudaFree(data));
    useFreed<<<1, 32>>>(data);
    finish();
    if (fixed) call(cudaFree(data));
}

__global__ void usePooled(int* out) {
    out[threadIdx.x] = 1;  // fault: use-after-free-async
}
template <bool fixed>
void useAfterFreeAsync() {
    Stream stream;
    int* data = nullptr;
    call(cudaMallocAsync(&data, 32 * sizeof(int), stream));
    if (!fixed) call(cudaFreeAsync(data, stream));
    usePooled<<<1, 32, 0, stream>>>(data);
    finish();
    if (fixed) call(cudaFreeAsync(data, stream));
}

template <bool fixed>
void doubleFree() {
    int* data = nullptr;
    call(cudaMalloc(&data, 128));
    call(cudaFree(data));
    call(cudaFree(fixed ? nullptr : data));  // to free a null pointer is allowed
}

template <bool fixed>
void leak() {
    int* data = nullptr;
    call(cudaMalloc(&data, 4096));
    call(cudaMemset(data, 0, 4096));
    if (fixed) call(cudaFree(data));
}

template <bool fixed>
void leakAsync() {
    Stream stream;
    int* data = nullptr;
    call(cudaMallocAsync(&data, 4096, stream));
    call(cudaMemsetAsync(data, 0, 4096, stream));
    if (fixed) call(cudaFreeAsync(data, stream));
}

// ---- uninitialised ----

__global__ void increment(const int* in, int* out) {
    out[threadIdx.x] = in[threadIdx.x] + 1;  // fault: uninitialised-global
}
template <bool fixed>
void uninitialisedGlobal() {
    Buffer<int> in(32), out(32);
    if (fixed) call(cudaMemset(in, 0, 32 * sizeof(int)));
    increment<<<1, 32>>>(in, out);
    finish();
    expect(out.get()[31] == 1, "wrong increment");
}

// A sum that starts from whatever the memory held: the store of the memset is forgotten, not the memory.
__global__ void addTo(int* out) {
    atomicAdd(out, 1);  // fault: uninitialised-atomic
}
template <bool fixed>
void uninitialisedAtomic() {
    Buffer<int> out(1);
    if (fixed) call(cudaMemset(out, 0, sizeof(int)));
    addTo<<<1, 32>>>(out);
    finish();
    expect(out.get()[0] == 32, "wrong sum");
}

// One kernel writes the first half only, the next reads all.
__global__ void fillFirst(int* out, int n) {
    if (threadIdx.x < n) out[threadIdx.x] = 1;
}
__global__ void readAll(const int* in, int* out) {
    out[threadIdx.x] = in[threadIdx.x] + 1;  // fault: uninitialised-half
}
template <bool fixed>
void uninitialisedHalf() {
    Buffer<int> in(64), out(64);
    fillFirst<<<1, 64>>>(in, fixed ? 64 : 48);
    readAll<<<1, 64>>>(in, out);
    finish();
    expect(out.get()[63] == 2, "wrong increment");
}

template <bool fixed>
__global__ void haloStencil(const int* in, int* out) {
    __shared__ int s[66];
    int t = threadIdx.x + 1;
    s[t] = in[threadIdx.x];
    if (fixed && threadIdx.x == 0) s[0] = s[65] = 0;
    __syncthreads();
    out[threadIdx.x] = s[t - 1] + s[t + 1];  // fault: uninitialised-shared
}
template <bool fixed>
void uninitialisedShared() {
    Buffer<int> in(64), out(64);
    in.set(counting(64));
    haloStencil<fixed><<<1, 64>>>(in, out);
    finish();
    expect(out.get()[63] == 62, "wrong stencil");
}

template <bool fixed>
__global__ void dynamicSum(int* out) {
    extern __shared__ int dynamicSums[];
    if (fixed) dynamicSums[threadIdx.x] = 0;
    dynamicSums[threadIdx.x] += threadIdx.x;  // fault: uninitialised-dynamic
    out[threadIdx.x] = dynamicSums[threadIdx.x];
}
template <bool fixed>
void uninitialisedDynamic() {
    Buffer<int> out(64);
    dynamicSum<fixed><<<1, 64, 64 * sizeof(int)>>>(out);
    finish();
    expect(out.get() == counting(64), "wrong sum");
}

// ---- races within a block ----

template <bool fixed>
__global__ void reverse(const int* in, int* out) {
    __shared__ int s[128];
    s[threadIdx.x] = in[threadIdx.x];  // fault: race-missing-barrier
    if (fixed) __syncthreads();
    out[threadIdx.x] = s[127 - threadIdx.x];  // fault: race-missing-barrier
}
template <bool fixed>
void raceMissingBarrier() {
    Buffer<int> in(128), out(128);
    in.set(counting(128));
    reverse<fixed><<<1, 128>>>(in, out);
    finish();
    expect(out.get()[0] == 127, "wrong reversal");
}

template <bool fixed>
__global__ void tileLoop(const int* in, int* out, int n) {
    __shared__ int s[64];
    int sum = 0;
    for (int k = 0; k < n; k += 64) {
        s[threadIdx.x] = in[k + threadIdx.x];  // fault: race-second-barrier
        __syncthreads();
        for (int j = 0; j < 64; ++j) sum += s[j];  // fault: race-second-barrier
        if (fixed) __syncthreads();
    }
    out[threadIdx.x] = sum;
}
template <bool fixed>
void raceSecondBarrier() {
    Buffer<int> in(256), out(64);
    in.set(counting(256));
    tileLoop<fixed><<<1, 64>>>(in, out, 256);
    finish();
    expect(out.get()[63] == 255 * 128, "wrong sum");
}

// What the tutorials before Volta did: the lanes of one warp are assumed to go in step.
template <bool fixed>
__global__ void lastWarp(const int* in, int* out) {
    __shared__ int s[64];
    unsigned t = threadIdx.x;
    s[t] = in[t];
    __syncthreads();
    if (t < 32) {
        volatile int* v = s;
        if (fixed) {
            for (int k = 32; k > 0; k /= 2) {
                int sum = v[t] + v[t + k];
                __syncwarp();
                v[t] = sum;
                __syncwarp();
            }
        } else {
            for (int k = 32; k > 0; k /= 2) v[t] = v[t] + v[t + k];  // fault: race-warp-synchronous
        }
    }
    if (t == 0) *out = s[0];
}
template <bool fixed>
void raceWarpSynchronous() {
    Buffer<int> in(64), out(1);
    in.set(counting(64));
    lastWarp<fixed><<<1, 64>>>(in, out);
    finish();
    expect(out.get()[0] == 63 * 32, "wrong sum");
}

// A write by one lane, a read by another of the same warp.
template <bool fixed>
__global__ void exchange(const int* in, int* out) {
    __shared__ volatile int s[32];
    s[threadIdx.x] = in[threadIdx.x];  // fault: race-lanes
    if (fixed) __syncwarp();
    out[threadIdx.x] = s[threadIdx.x ^ 1];  // fault: race-lanes
}
template <bool fixed>
void raceLanes() {
    Buffer<int> in(32), out(32);
    in.set(counting(32));
    exchange<fixed><<<1, 32>>>(in, out);
    finish();
    expect(out.get()[0] == 1, "wrong exchange");
}

template <bool fixed>
__global__ void writeWrite(int* out) {
    __shared__ int last;
    if (!fixed || threadIdx.x == 63) last = threadIdx.x;  // fault: race-write-write
    __syncthreads();
    out[threadIdx.x] = last;
}
template <bool fixed>
void raceWriteWrite() {
    Buffer<int> out(64);
    writeWrite<fixed><<<1, 64>>>(out);
    finish();
    expect(out.get()[0] == 63, "wrong writer");
}

template <bool fixed>
__global__ void sharedHistogram(const int* in, int* out) {
    __shared__ int bins[4];
    if (threadIdx.x < 4) bins[threadIdx.x] = 0;
    __syncthreads();
    if (fixed)
        atomicAdd(&bins[in[threadIdx.x] % 4], 1);
    else
        bins[in[threadIdx.x] % 4] += 1;  // fault: race-histogram
    __syncthreads();
    if (threadIdx.x < 4) out[threadIdx.x] = bins[threadIdx.x];
}
template <bool fixed>
void raceHistogram() {
    Buffer<int> in(128), out(4);
    in.set(counting(128));
    sharedHistogram<fixed><<<1, 128>>>(in, out);
    finish();
    expect(out.get() == std::vector<int>(4, 32), "wrong histogram");
}

// The same mistake in global memory, within one block.
template <bool fixed>
__global__ void scratchReverse(int* scratch, int* out) {
    scratch[threadIdx.x] = threadIdx.x;  // fault: race-global-in-block
    if (fixed) __syncthreads();
    out[threadIdx.x] = scratch[127 - threadIdx.x];  // fault: race-global-in-block
}
template <bool fixed>
void raceGlobalInBlock() {
    Buffer<int> scratch(128, 0), out(128);
    scratchReverse<fixed><<<1, 128>>>(scratch, out);
    finish();
    expect(out.get()[0] == 127, "wrong reversal");
}

// ---- races between blocks ----

template <bool fixed>
__global__ void blockSum(int* sum) {
    if (threadIdx.x != 0) return;
    if (fixed)
        atomicAdd(sum, int(blockIdx.x));
    else
        *sum += blockIdx.x;  // fault: race-blocks-sum
}
template <bool fixed>
void raceBlocksSum() {
    Buffer<int> sum(1, 0);
    blockSum<fixed><<<8, 32>>>(sum);
    finish();
    expect(sum.get()[0] == 28, "wrong sum");
}

template <bool fixed>
__global__ void neighbour(int* values, int* out) {
    int i = blockIdx.x * 32 + threadIdx.x;
    values[i] = i;  // fault: race-blocks-neighbour
    if (fixed) cg::this_grid().sync();
    out[i] = values[(i + 32) % (gridDim.x * 32)];  // fault: race-blocks-neighbour
}
template <bool fixed>
void raceBlocksNeighbour() {
    Buffer<int> values(128, 0), out(128);
    int *v = values, *o = out;
    void* arguments[] = {&v, &o};
    call(cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(neighbour<fixed>), 4, 32, arguments, 0,
                                     nullptr));
    finish();
    expect(out.get()[127] == 31, "wrong neighbour");
}

// A relaxation in place: the neighbour may or may not have been renewed already.
__global__ void relax(const int* in, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int left = i > 0 ? in[i - 1] : 0;       // fault: race-blocks-in-place
    int right = i + 1 < n ? in[i + 1] : 0;  // fault: race-blocks-in-place
    __syncthreads();
    out[i] = left + right;  // fault: race-blocks-in-place
}
template <bool fixed>
void raceBlocksInPlace() {
    Buffer<int> a(256), b(256);
    a.set(counting(256));
    relax<<<4, 64>>>(a, fixed ? static_cast<int*>(b) : static_cast<int*>(a), 256);
    finish();
    if (fixed) expect(b.get()[254] == 253 + 255, "wrong relaxation");
}

// ---- barriers ----

template <bool fixed>
__global__ void earlyReturn(const int* in, int* out, int n) {
    __shared__ int s[64];
    if (!fixed && threadIdx.x >= n) return;
    s[threadIdx.x] = threadIdx.x < n ? in[threadIdx.x] : 0;
    __syncthreads();  // fault: barrier-early-return
    if (threadIdx.x < n) out[threadIdx.x] = s[n - 1 - threadIdx.x];
}
template <bool fixed>
void barrierEarlyReturn() {
    Buffer<int> in(40), out(40);
    in.set(counting(40));
    earlyReturn<fixed><<<1, 64>>>(in, out, 40);
    finish();
    expect(out.get()[0] == 39, "wrong reversal");
}

template <bool fixed>
__global__ void barrierInside(int* out) {
    __shared__ int s[64];
    s[threadIdx.x] = threadIdx.x;
    if (fixed) __syncthreads();
    if (threadIdx.x < 16) {
        if (!fixed) __syncthreads();  // fault: barrier-in-branch
        out[threadIdx.x] = s[63 - threadIdx.x];
    }
}
template <bool fixed>
void barrierInBranch() {
    Buffer<int> out(16);
    barrierInside<fixed><<<1, 64>>>(out);
    finish();
    expect(out.get()[0] == 63, "wrong reversal");
}

// Odd threads go around once more: each of these barriers is missing half of a warp.
template <bool fixed>
__global__ void unequalTrips(int* out, int n) {
    int trips = fixed ? n : n + int(threadIdx.x % 2);
    int sum = 0;
    for (int k = 0; k < trips; ++k) {
        __syncthreads();  // fault: barrier-unequal-trips
        sum += k;
        out[threadIdx.x] = sum;
    }
}
template <bool fixed>
void barrierUnequalTrips() {
    Buffer<int> out(64);
    unequalTrips<fixed><<<1, 64>>>(out, 3);
    finish();
    expect(out.get()[63] == 3, "wrong sum");
}

template <bool fixed>
__global__ void producerConsumer(const int* in, int* out) {
    __shared__ int s[32];
    constexpr int threads = fixed ? 64 : 96;
    if (threadIdx.x < 32) {
        s[threadIdx.x] = in[threadIdx.x];
        asm volatile("bar.arrive 1, %0;" ::"n"(threads) : "memory");
    } else {
        asm volatile("bar.sync 1, %0;" ::"n"(threads) : "memory");  // fault: barrier-named-too-few
        out[threadIdx.x - 32] = s[63 - threadIdx.x];
    }
}
template <bool fixed>
void barrierNamedTooFew() {
    Buffer<int> in(32), out(32);
    in.set(counting(32));
    producerConsumer<fixed><<<1, 64>>>(in, out);
    finish();
    expect(out.get()[0] == 31, "wrong reversal");
}

// ---- masks ----

template <bool fixed>
__global__ void notInMask(int* out) {
    unsigned mask = fixed ? 0xffffffffu : 0x0000ffffu;
    int v = threadIdx.x;
    v += __shfl_xor_sync(mask, v, 1);  // fault: mask-without-self
    out[threadIdx.x] = v;
}
template <bool fixed>
void maskWithoutSelf() {
    Buffer<int> out(32);
    notInMask<fixed><<<1, 32>>>(out);
    finish();
    expect(out.get()[31] == 61, "wrong pair");
}

template <bool fixed>
__global__ void neverCome(int* out) {
    int v = threadIdx.x;
    if (threadIdx.x < 16)
        v += __shfl_down_sync(fixed ? 0xffffu : 0xffffffffu, v, 8, 16);  // fault: mask-never-come
    out[threadIdx.x] = v;
}
template <bool fixed>
void maskNeverCome() {
    Buffer<int> out(32);
    neverCome<fixed><<<1, 32>>>(out);
    finish();
    expect(out.get()[0] == 8, "wrong sum");
}

// The source lane is not among those that the mask names: its value is undefined.
template <bool fixed>
__global__ void outsideSource(int* out) {
    int v = threadIdx.x;
    if (threadIdx.x < 16) v = __shfl_sync(0xffffu, v, fixed ? 5 : 20);  // fault: mask-outside-source
    out[threadIdx.x] = v;
}
template <bool fixed>
void maskOutsideSource() {
    Buffer<int> out(32);
    outsideSource<fixed><<<1, 32>>>(out);
    finish();
    expect(out.get()[0] == 5, "wrong lane");
}

template <bool fixed>
__global__ void voteInBranch(int* out) {
    unsigned vote = 0;
    if (threadIdx.x % 2)
        vote = __ballot_sync(fixed ? 0xaaaaaaaau : 0xffffffffu, threadIdx.x > 20);  // fault: mask-vote
    out[threadIdx.x] = int(vote);
}
template <bool fixed>
void maskVote() {
    Buffer<int> out(32);
    voteInBranch<fixed><<<1, 32>>>(out);
    finish();
    expect(out.get()[31] == int(0xaaaaaaaau & ~0x1fffffu), "wrong vote");
}

// The last, partial warp of a tail loop with a full mask.
template <bool fixed>
__global__ void tailReduce(const int* in, int* out, int n) {
    int v = 0;
    if (fixed) {
        v = threadIdx.x < n ? in[threadIdx.x] : 0;
    } else {
        if (threadIdx.x >= n) return;
        v = in[threadIdx.x];
    }
    for (int k = 16; k > 0; k /= 2) v += __shfl_down_sync(0xffffffffu, v, k);  // fault: mask-tail
    if (threadIdx.x == 0) *out = v;
}
template <bool fixed>
void maskTail() {
    Buffer<int> in(20), out(1);
    in.set(counting(20));
    tailReduce<fixed><<<1, 32>>>(in, out, 20);
    finish();
    expect(out.get()[0] == 190, "wrong sum");
}

// ---- streams ----

__global__ void readCopied(const int* in, int* out) {
    out[threadIdx.x] = in[threadIdx.x];  // fault: stream-kernel-reads-copy
}
template <bool fixed>
void streamKernelReadsCopy() {
    Pinned host(64);
    Buffer<int> in(64, 0), out(64, 0);
    call(cudaDeviceSynchronize());
    {
        Stream copying, computing;
        Event copied;
        call(cudaMemcpyAsync(in, host, 64 * sizeof(int), cudaMemcpyHostToDevice, copying));
        call(cudaEventRecord(copied, copying));
        if (fixed) call(cudaStreamWaitEvent(computing, copied, 0));
        readCopied<<<1, 64, 0, computing>>>(in, out);
        finish();
    }
    expect(out.get() == counting(64), "wrong copy");
}

__global__ void writeForCopy(int* out) {
    out[threadIdx.x] = threadIdx.x;
}
template <bool fixed>
void streamCopyReadsKernel() {
    Pinned host(64);
    Buffer<int> data(64, 0);
    call(cudaDeviceSynchronize());
    {
        Stream computing, copying;
        writeForCopy<<<1, 64, 0, computing>>>(data);
        if (fixed) call(cudaStreamSynchronize(computing));
        call(cudaMemcpyAsync(host, data, 64 * sizeof(int), cudaMemcpyDeviceToHost, copying));
        finish();
    }
    expect(host[63] == 63, "wrong copy");
}

__global__ void produce(int* out) {
    out[threadIdx.x] = threadIdx.x;  // fault: stream-two-kernels
}
__global__ void consume(const int* in, int* out) {
    out[threadIdx.x] = in[threadIdx.x] + 1;  // fault: stream-two-kernels
}
template <bool fixed>
void streamTwoKernels() {
    Buffer<int> data(64, 0), out(64, 0);
    call(cudaDeviceSynchronize());
    {
        Stream first, second;
        produce<<<1, 64, 0, first>>>(data);
        consume<<<1, 64, 0, fixed ? first : second>>>(data, out);
        finish();
    }
    expect(out.get()[63] == 64, "wrong increment");
}

// The event is there, but it was recorded before the work that it should stand for.
__global__ void afterEvent(int* out) {
    out[threadIdx.x] = threadIdx.x;  // fault: stream-event-too-early
}
__global__ void waitedForEvent(const int* in, int* out) {
    out[threadIdx.x] = in[threadIdx.x] + 1;  // fault: stream-event-too-early
}
template <bool fixed>
void streamEventTooEarly() {
    Buffer<int> data(64, 0), out(64, 0);
    call(cudaDeviceSynchronize());
    {
        Stream first, second;
        Event event;
        if (!fixed) call(cudaEventRecord(event, first));
        afterEvent<<<1, 64, 0, first>>>(data);
        if (fixed) call(cudaEventRecord(event, first));
        call(cudaStreamWaitEvent(second, event, 0));
        waitedForEvent<<<1, 64, 0, second>>>(data, out);
        finish();
    }
    expect(out.get()[63] == 64, "wrong increment");
}

// cudaMemcpy goes through the legacy default stream, for which a non-blocking stream does not wait.
__global__ void writeNonBlocking(int* out) {
    out[threadIdx.x] = threadIdx.x;
}
template <bool fixed>
void streamNonBlocking() {
    Buffer<int> data(64, 0);
    call(cudaDeviceSynchronize());
    Stream stream(fixed ? cudaStreamDefault : cudaStreamNonBlocking);
    writeNonBlocking<<<1, 64, 0, stream>>>(data);
    std::vector<int> host = data.get();
    expect(host == counting(64), "wrong copy");
}

// Write after read: the next copy overwrites what the kernel still reads.
__global__ void slowReader(const int* in, int* out) {
    out[threadIdx.x] = in[threadIdx.x];
}
template <bool fixed>
void streamOverwritesRead() {
    Pinned host(64);
    Buffer<int> in(64, 0), out(64, 0);
    call(cudaDeviceSynchronize());
    {
        Stream computing, copying;
        Event read;
        slowReader<<<1, 64, 0, computing>>>(in, out);
        call(cudaEventRecord(read, computing));
        if (fixed) call(cudaStreamWaitEvent(copying, read, 0));
        call(cudaMemcpyAsync(in, host, 64 * sizeof(int), cudaMemcpyHostToDevice, copying));
        finish();
    }
    expect(out.get()[63] == 0, "the copy came first");
}

// ---- cp.async ----

template <bool fixed>
__global__ void withoutWait(const int* in, int* out) {
    __shared__ alignas(16) int s[128];
    unsigned i = 4 * threadIdx.x;
    __pipeline_memcpy_async(s + i, in + i, 16);
    __pipeline_commit();
    if (fixed) __pipeline_wait_prior(0);
    out[threadIdx.x] = s[i] + s[i + 3];  // fault: cp-async-without-wait
}
template <bool fixed>
void cpAsyncWithoutWait() {
    Buffer<int> in(128), out(32);
    in.set(counting(128));
    withoutWait<fixed><<<1, 32>>>(in, out);
    finish();
    expect(out.get()[31] == 124 + 127, "wrong sum");
}

// Waits for all groups but the newest, and reads the newest.
template <bool fixed>
__global__ void waitTooFew(const int* in, int* out) {
    __shared__ int s[2][32];
    for (int k = 0; k < 2; ++k) {
        __pipeline_memcpy_async(&s[k][threadIdx.x], in + 32 * k + threadIdx.x, 4);
        __pipeline_commit();
    }
    __pipeline_wait_prior(fixed ? 0 : 1);
    out[threadIdx.x] = s[1][threadIdx.x];  // fault: cp-async-wait-too-few
}
template <bool fixed>
void cpAsyncWaitTooFew() {
    Buffer<int> in(64), out(32);
    in.set(counting(64));
    waitTooFew<fixed><<<1, 32>>>(in, out);
    finish();
    expect(out.get()[31] == 63, "wrong value");
}

// Each thread waits for its own copies only: the others' are not known to be there without a barrier.
template <bool fixed>
__global__ void withoutBarrier(const int* in, int* out) {
    __shared__ int s[128];
    __pipeline_memcpy_async(s + threadIdx.x, in + threadIdx.x, 4);  // fault: cp-async-without-barrier
    __pipeline_commit();
    __pipeline_wait_prior(0);
    if (fixed) __syncthreads();
    out[threadIdx.x] = s[127 - threadIdx.x];  // fault: cp-async-without-barrier
}
template <bool fixed>
void cpAsyncWithoutBarrier() {
    Buffer<int> in(128), out(128);
    in.set(counting(128));
    withoutBarrier<fixed><<<1, 128>>>(in, out);
    finish();
    expect(out.get()[0] == 127, "wrong reversal");
}

// The next tile is copied into the buffer that other threads still read.
template <bool fixed>
__global__ void overwriteTile(const int* in, int* out, int tiles) {
    __shared__ int s[64];
    int sum = 0;
    for (int k = 0; k < tiles; ++k) {
        __pipeline_memcpy_async(s + threadIdx.x, in + 64 * k + threadIdx.x, 4);  // fault: cp-async-overwrites
        __pipeline_commit();
        __pipeline_wait_prior(0);
        __syncthreads();
        sum += s[63 - threadIdx.x];  // fault: cp-async-overwrites
        if (fixed) __syncthreads();
    }
    out[threadIdx.x] = sum;
}
template <bool fixed>
void cpAsyncOverwrites() {
    Buffer<int> in(192), out(64);
    in.set(counting(192));
    overwriteTile<fixed><<<1, 64>>>(in, out, 3);
    finish();
    expect(out.get()[63] == 0 + 64 + 128, "wrong sum");
}

// ---- clusters ----

template <bool fixed>
__global__ void __cluster_dims__(2) readPartner(int* out) {
    __shared__ int s[32];
    cg::cluster_group cluster = cg::this_cluster();
    s[threadIdx.x] = 0;
    cluster.sync();
    s[threadIdx.x] = 100 * cluster.block_rank() + threadIdx.x;  // fault: cluster-missing-barrier
    if (fixed) cluster.sync();
    int* partner = cluster.map_shared_rank(s, cluster.block_rank() ^ 1);
    out[32 * blockIdx.x + threadIdx.x] = partner[threadIdx.x];  // fault: cluster-missing-barrier
    cluster.sync();
}
template <bool fixed>
void clusterMissingBarrier() {
    Buffer<int> out(64);
    readPartner<fixed><<<2, 32>>>(out);
    finish();
    expect(out.get()[31] == 131 && out.get()[63] == 31, "wrong partner");
}

// The last barrier is forgotten: a block may be gone, its shared memory with it, when the partner reads.
template <bool fixed>
__global__ void __cluster_dims__(2) partnerGone(int* out) {
    __shared__ int s[32];
    cg::cluster_group cluster = cg::this_cluster();
    s[threadIdx.x] = 100 * cluster.block_rank() + threadIdx.x;
    cluster.sync();
    if (cluster.block_rank() == 1) {
        for (int k = 0; k < 32; ++k)
            out[32 * k + threadIdx.x] =
                cluster.map_shared_rank(s, 0)[threadIdx.x] + k;  // fault: cluster-early-exit
    }
    if (fixed) cluster.sync();
}
template <bool fixed>
void clusterEarlyExit() {
    Buffer<int> out(32 * 32);
    partnerGone<fixed><<<2, 32>>>(out);
    finish();
    expect(out.get()[32 * 31 + 31] == 62, "wrong partner");
}

// ---- correct programs that look suspicious ----

// One pass: the block that draws the last ticket adds up what the others published before their fences.
__global__ void ticketKernel(const int* in, int* partial, int* out, unsigned* ticket) {
    __shared__ int s[64];
    __shared__ bool last;
    unsigned t = threadIdx.x;
    s[t] = in[blockIdx.x * 64 + t];
    __syncthreads();
    for (unsigned k = 32; k > 0; k /= 2) {
        if (t < k) s[t] += s[t + k];
        __syncthreads();
    }
    if (t == 0) {
        partial[blockIdx.x] = s[0];
        __threadfence();
        last = atomicAdd(ticket, 1u) == gridDim.x - 1;
    }
    __syncthreads();
    if (!last) return;
    __threadfence();
    int sum = t < gridDim.x ? static_cast<volatile int*>(partial)[t] : 0;
    for (int k = 16; k > 0; k /= 2) sum += __shfl_down_sync(0xffffffffu, sum, k);
    if (t == 0) *out = sum;
}
void cleanTicket() {
    Buffer<int> in(512), partial(8), out(1);
    Buffer<unsigned> ticket(1, 0);
    in.set(counting(512));
    ticketKernel<<<8, 64>>>(in, partial, out, ticket);
    finish();
    expect(out.get()[0] == 511 * 256, "wrong sum");
}

__global__ void fenceFlag(int* data, volatile int* flag, int* out) {
    if (blockIdx.x == 0) {
        data[threadIdx.x] = threadIdx.x;
        __threadfence();
        __syncthreads();
        if (threadIdx.x == 0) *flag = 1;
    } else {
        if (threadIdx.x == 0)
            while (*flag == 0) {
            }
        __syncthreads();
        __threadfence();
        out[threadIdx.x] = data[63 - threadIdx.x];
    }
}
void cleanFenceFlag() {
    Buffer<int> data(64), flag(1, 0), out(64);
    fenceFlag<<<2, 64>>>(data, flag, out);
    finish();
    expect(out.get()[0] == 63, "wrong message");
}

__global__ void atomicFlag(int* data, int* flag, int* out) {
    cuda::atomic_ref<int, cuda::thread_scope_device> ready(*flag);
    if (blockIdx.x == 0) {
        data[threadIdx.x] = threadIdx.x;
        __syncthreads();
        if (threadIdx.x == 0) ready.store(1, cuda::memory_order_release);
    } else {
        if (threadIdx.x == 0)
            while (ready.load(cuda::memory_order_acquire) == 0) {
            }
        __syncthreads();
        out[threadIdx.x] = data[63 - threadIdx.x];
    }
}
void cleanAtomicFlag() {
    Buffer<int> data(64), flag(1, 0), out(64);
    atomicFlag<<<2, 64>>>(data, flag, out);
    finish();
    expect(out.get()[0] == 63, "wrong message");
}

// Block b waits for block b-1, as a scan with decoupled look-back does.
__global__ void lookBack(int* prefix, int* flags, int* ticket) {
    __shared__ int b;
    if (threadIdx.x == 0) b = atomicAdd(ticket, 1);  // blocks may start in any order
    __syncthreads();
    if (threadIdx.x != 0) return;
    int before = 0;
    if (b > 0) {
        cuda::atomic_ref<int, cuda::thread_scope_device> ready(flags[b - 1]);
        while (ready.load(cuda::memory_order_acquire) == 0) {
        }
        before = prefix[b - 1];
    }
    prefix[b] = before + b;
    cuda::atomic_ref<int, cuda::thread_scope_device>(flags[b]).store(1, cuda::memory_order_release);
}
void cleanLookBack() {
    Buffer<int> prefix(16), flags(16, 0), ticket(1, 0);
    lookBack<<<16, 32>>>(prefix, flags, ticket);
    finish();
    expect(prefix.get()[15] == 120, "wrong scan");
}

// One lane of each warp takes the lock; the data under it are plain.
__global__ void lockedCount(int* lock, volatile int* count) {
    if (threadIdx.x % 32 != 0) return;
    while (atomicCAS(lock, 0, 1) != 0) {
    }
    __threadfence();
    *count = *count + 1;
    __threadfence();
    atomicExch(lock, 0);
}
void cleanLock() {
    Buffer<int> lock(1, 0), count(1, 0);
    lockedCount<<<4, 128>>>(lock, count);
    finish();
    expect(count.get()[0] == 16, "wrong count");
}

__global__ void gridSteps(int* a, int* b, int steps) {
    cg::grid_group grid = cg::this_grid();
    int n = int(grid.size()), i = int(grid.thread_rank());
    for (int k = 0; k < steps; ++k) {
        b[i] = a[(i + 1) % n] + 1;
        grid.sync();
        int* swapped = a;
        a = b;
        b = swapped;
    }
}
void cleanGridSync() {
    Buffer<int> a(256), b(256);
    a.set(counting(256));
    int *first = a, *second = b, steps = 4;
    void* arguments[] = {&first, &second, &steps};
    call(cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(gridSteps), 4, 64, arguments, 0, nullptr));
    finish();
    expect(a.get()[0] == 8 && a.get()[255] == 3 + 4, "wrong step");
}

__global__ void addOne(int* data) {
    data[threadIdx.x] += 1;
}

void cleanDeviceSynchronize() {
    Pinned host(64);
    Buffer<int> data(64);
    {
        Stream first(cudaStreamNonBlocking), second(cudaStreamNonBlocking);
        call(cudaMemcpyAsync(data, host, 64 * sizeof(int), cudaMemcpyHostToDevice, first));
        call(cudaDeviceSynchronize());
        addOne<<<1, 64, 0, second>>>(data);
        finish();
        call(cudaMemcpyAsync(host, data, 64 * sizeof(int), cudaMemcpyDeviceToHost, first));
        call(cudaStreamSynchronize(first));
    }
    expect(host[63] == 64, "wrong increment");
}

// The legacy default stream waits for every blocking stream, and every blocking stream for it.
void cleanLegacyStream() {
    Pinned host(64);
    Buffer<int> data(64);
    Stream first, second;
    call(cudaMemcpyAsync(data, host, 64 * sizeof(int), cudaMemcpyHostToDevice, first));
    addOne<<<1, 64>>>(data);
    addOne<<<1, 64, 0, second>>>(data);
    expect(data.get()[63] == 65, "wrong increment");
}

// Two streams, each with its own half of one allocation.
void cleanStreamHalves() {
    Pinned host(128);
    Buffer<int> data(128);
    {
        Stream streams[2];
        for (int k = 0; k < 2; ++k) {
            call(cudaMemcpyAsync(data + 64 * k, host + 64 * k, 64 * sizeof(int), cudaMemcpyHostToDevice,
                                 streams[k]));
            addOne<<<1, 64, 0, streams[k]>>>(data + 64 * k);
            call(cudaMemcpyAsync(host + 64 * k, data + 64 * k, 64 * sizeof(int), cudaMemcpyDeviceToHost,
                                 streams[k]));
        }
        for (Stream& stream : streams) call(cudaStreamSynchronize(stream));
    }
    expect(host[0] == 1 && host[127] == 128, "wrong increment");
}

// Both streams only read the common input.
void cleanStreamReaders() {
    Buffer<int> in(64), a(64), b(64);
    in.set(counting(64));
    call(cudaDeviceSynchronize());
    {
        Stream first(cudaStreamNonBlocking), second(cudaStreamNonBlocking);
        loadFrom<<<1, 32, 0, first>>>(in, a);
        loadFrom<<<1, 32, 0, second>>>(in, b);
        finish();
    }
    expect(a.get()[31] == 31 && b.get()[31] == 31, "wrong copy");
}

void cleanSameStream() {
    Pinned host(64);
    Buffer<int> data(64);
    {
        Stream stream(cudaStreamNonBlocking);
        for (int k = 0; k < 3; ++k) {
            call(cudaMemcpyAsync(data, host, 64 * sizeof(int), cudaMemcpyHostToDevice, stream));
            addOne<<<1, 64, 0, stream>>>(data);
            call(cudaMemcpyAsync(host, data, 64 * sizeof(int), cudaMemcpyDeviceToHost, stream));
        }
        call(cudaStreamSynchronize(stream));
    }
    expect(host[63] == 66, "wrong increment");
}

// The pool may hand the same memory out again: in order, in one stream.
void cleanPool() {
    Stream stream;
    Pinned host(64);
    for (int k = 0; k < 4; ++k) {
        int* data = nullptr;
        call(cudaMallocAsync(&data, 64 * sizeof(int), stream));
        call(cudaMemsetAsync(data, 0, 64 * sizeof(int), stream));
        addOne<<<1, 64, 0, stream>>>(data);
        call(cudaMemcpyAsync(host, data, 64 * sizeof(int), cudaMemcpyDeviceToHost, stream));
        call(cudaFreeAsync(data, stream));
    }
    call(cudaStreamSynchronize(stream));
    expect(host[63] == 1, "wrong increment");
}

void cleanGraph() {
    Pinned host(64);
    Buffer<int> data(64);
    {
        Stream stream(cudaStreamNonBlocking);
        cudaGraph_t graph = nullptr;
        cudaGraphExec_t executable = nullptr;
        call(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
        call(cudaMemcpyAsync(data, host, 64 * sizeof(int), cudaMemcpyHostToDevice, stream));
        addOne<<<1, 64, 0, stream>>>(data);
        addOne<<<1, 64, 0, stream>>>(data);
        call(cudaMemcpyAsync(host, data, 64 * sizeof(int), cudaMemcpyDeviceToHost, stream));
        call(cudaStreamEndCapture(stream, &graph));
        expect(host[63] == 63, "a captured copy ran at once");
        call(cudaGraphInstantiate(&executable, graph, 0));
        for (int k = 0; k < 2; ++k) call(cudaGraphLaunch(executable, stream));
        call(cudaStreamSynchronize(stream));
        call(cudaGraphExecDestroy(executable));
        call(cudaGraphDestroy(graph));
    }
    expect(host[63] == 67, "wrong increment");
}

// The stream of the thread is captured and used afterwards.
void cleanGraphOfThread() {
    Buffer<int> data(64, 0);
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t executable = nullptr;
    call(cudaStreamBeginCapture(cudaStreamPerThread, cudaStreamCaptureModeThreadLocal));
    addOne<<<1, 64, 0, cudaStreamPerThread>>>(data);
    call(cudaStreamEndCapture(cudaStreamPerThread, &graph));
    call(cudaGraphInstantiate(&executable, graph, 0));
    for (int k = 0; k < 3; ++k) call(cudaGraphLaunch(executable, cudaStreamPerThread));
    call(cudaStreamSynchronize(cudaStreamPerThread));
    call(cudaGraphExecDestroy(executable));
    call(cudaGraphDestroy(graph));
    expect(data.get()[0] == 3, "wrong increment");
}

// A captured fork: the branch joins the capture by an event, and the origin waits for it.
void cleanGraphFork() {
    Buffer<int> a(64, 0), b(64, 0);
    call(cudaDeviceSynchronize());
    {
        Stream origin(cudaStreamNonBlocking), branch(cudaStreamNonBlocking);
        Event forked, joined;
        cudaGraph_t graph = nullptr;
        cudaGraphExec_t executable = nullptr;
        call(cudaStreamBeginCapture(origin, cudaStreamCaptureModeGlobal));
        call(cudaEventRecord(forked, origin));
        call(cudaStreamWaitEvent(branch, forked, 0));
        addOne<<<1, 64, 0, branch>>>(b);
        call(cudaEventRecord(joined, branch));
        addOne<<<1, 64, 0, origin>>>(a);
        call(cudaStreamWaitEvent(origin, joined, 0));
        addOne<<<1, 64, 0, origin>>>(b);
        call(cudaStreamEndCapture(origin, &graph));
        call(cudaGraphInstantiate(&executable, graph, 0));
        for (int k = 0; k < 2; ++k) call(cudaGraphLaunch(executable, origin));
        call(cudaStreamSynchronize(origin));
        call(cudaGraphExecDestroy(executable));
        call(cudaGraphDestroy(graph));
    }
    expect(a.get()[0] == 2 && b.get()[0] == 4, "wrong increment");
}

// Two buffers: the copy of the next tile is in flight while this one is read.
__global__ void doubleBuffer(const int* in, int* out, int tiles) {
    __shared__ alignas(16) int s[2][128];
    unsigned t = threadIdx.x;
    auto fetch = [&](int k) {
        if (k < tiles && t < 32) __pipeline_memcpy_async(&s[k % 2][4 * t], in + 128 * k + 4 * t, 16);
        __pipeline_commit();
    };
    fetch(0);
    int sum = 0;
    for (int k = 0; k < tiles; ++k) {
        fetch(k + 1);
        __pipeline_wait_prior(1);
        __syncthreads();
        sum += s[k % 2][127 - t];
        __syncthreads();
    }
    out[t] = sum;
}
void cleanDoubleBuffer() {
    Buffer<int> in(512), out(128);
    in.set(counting(512));
    doubleBuffer<<<1, 128>>>(in, out, 4);
    finish();
    expect(out.get()[127] == 128 * 6, "wrong sum");
}

// Two plain buffers and one barrier a step: the barrier of the next step protects the buffer of this one.
__global__ void oneBarrier(const int* in, int* out, int tiles) {
    __shared__ int s[2][128];
    int sum = 0;
    for (int k = 0; k < tiles; ++k) {
        s[k % 2][threadIdx.x] = in[128 * k + threadIdx.x];
        __syncthreads();
        sum += s[k % 2][127 - threadIdx.x];
    }
    out[threadIdx.x] = sum;
}
void cleanOneBarrier() {
    Buffer<int> in(512), out(128);
    in.set(counting(512));
    oneBarrier<<<1, 128>>>(in, out, 4);
    finish();
    expect(out.get()[127] == 128 * 6, "wrong sum");
}

// Reads of the same word by all, a write by one after a barrier; sums by whole warps through shuffles.
__global__ void blockReduce(const int* in, int* out) {
    __shared__ int warps[8];
    int v = in[blockIdx.x * blockDim.x + threadIdx.x];
    for (int k = 16; k > 0; k /= 2) v += __shfl_xor_sync(0xffffffffu, v, k);
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = v;
    __syncthreads();
    if (threadIdx.x < 32) {
        v = threadIdx.x < blockDim.x / 32 ? warps[threadIdx.x] : 0;
        for (int k = 4; k > 0; k /= 2) v += __shfl_down_sync(0xffffffffu, v, k);
        if (threadIdx.x == 0) atomicAdd(out, v);
    }
}
void cleanShuffleReduce() {
    Buffer<int> in(512), out(1, 0);
    in.set(counting(512));
    blockReduce<<<2, 256>>>(in, out);
    finish();
    expect(out.get()[0] == 511 * 256, "wrong sum");
}

// A ring of two named barriers (full, empty) between a producer and a consumer warp.
__global__ void namedRing(const int* in, int* out, int tiles) {
    __shared__ int s[32];
    unsigned lane = threadIdx.x % 32;
    int sum = 0;
    for (int k = 0; k < tiles; ++k) {
        if (threadIdx.x < 32) {
            if (k > 0) asm volatile("bar.sync 2, 64;" ::: "memory");
            s[lane] = in[32 * k + lane];
            asm volatile("bar.arrive 1, 64;" ::: "memory");
        } else {
            asm volatile("bar.sync 1, 64;" ::: "memory");
            sum += s[31 - lane];
            if (k + 1 < tiles) asm volatile("bar.arrive 2, 64;" ::: "memory");
        }
    }
    if (threadIdx.x >= 32) out[lane] = sum;
}
void cleanNamedRing() {
    Buffer<int> in(128), out(32);
    in.set(counting(128));
    namedRing<<<1, 64>>>(in, out, 4);
    finish();
    expect(out.get()[31] == 32 * 6, "wrong sum");
}

// Half of the block works with a barrier of its own; the other half has left.
__global__ void halfBlock(int* out) {
    __shared__ int s[64];
    if (threadIdx.x >= 64) return;
    s[threadIdx.x] = threadIdx.x;
    asm volatile("bar.sync 3, 64;" ::: "memory");
    out[threadIdx.x] = s[63 - threadIdx.x];
}
void cleanHalfBlock() {
    Buffer<int> out(64);
    halfBlock<<<1, 128>>>(out);
    finish();
    expect(out.get()[0] == 63, "wrong reversal");
}

__global__ void mbarrierReverse(const int* in, int* out) {
    __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
    __shared__ int s[128];
    if (threadIdx.x == 0) init(&barrier, blockDim.x);
    __syncthreads();
    for (int k = 0; k < 2; ++k) {
        s[threadIdx.x] = in[128 * k + threadIdx.x];
        barrier.arrive_and_wait();
        out[128 * k + threadIdx.x] = s[127 - threadIdx.x];
        barrier.arrive_and_wait();
    }
}
void cleanMbarrier() {
    Buffer<int> in(256), out(256);
    in.set(counting(256));
    mbarrierReverse<<<1, 128>>>(in, out);
    finish();
    expect(out.get()[0] == 127 && out.get()[255] == 128, "wrong reversal");
}

// Atomics on a neighbour's shared memory, ordered by the cluster's barriers.
__global__ void __cluster_dims__(4) clusterSum(int* out) {
    __shared__ int sum;
    cg::cluster_group cluster = cg::this_cluster();
    if (threadIdx.x == 0) sum = 0;
    cluster.sync();
    atomicAdd(cluster.map_shared_rank(&sum, threadIdx.x % 4), int(threadIdx.x));
    cluster.sync();
    if (threadIdx.x == 0) out[blockIdx.x] = sum;
}
void cleanClusterAtomics() {
    Buffer<int> out(4);
    clusterSum<<<4, 32>>>(out);
    finish();
    expect(out.get()[0] == 4 * 112 && out.get()[3] == 4 * 136, "wrong sum");
}

// Relaxed flags that only count, read again after the kernel: no data depend on their order.
__global__ void countEven(const int* in, int* count, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    bool even = i < n && in[i] % 2 == 0;
    int votes = __syncthreads_count(even);
    if (threadIdx.x == 0) atomicAdd(count, votes);
}
void cleanCount() {
    Buffer<int> in(100), count(1, 0);
    in.set(counting(100));
    countEven<<<4, 32>>>(in, count, 100);
    finish();
    expect(count.get()[0] == 50, "wrong count");
}

// Bytes of one word written by different threads: neighbours, not a race.
__global__ void bytes(unsigned char* out) {
    __shared__ unsigned char s[64];
    s[threadIdx.x] = static_cast<unsigned char>(threadIdx.x);
    __syncthreads();
    out[63 * blockIdx.x + threadIdx.x] = s[62 - threadIdx.x];
}
void cleanBytes() {
    Buffer<unsigned char> out(126);  // the word at 60 holds three bytes of block 0 and one of block 1
    bytes<<<2, 63>>>(out);
    finish();
    expect(out.get()[62] == 0 && out.get()[63] == 62, "wrong reversal");
}

// A pitched copy leaves the padding unwritten, and nobody reads it.
__global__ void pitchedSum(const int* in, size_t pitch, int columns, int rows, int* out) {
    int sum = 0;
    for (int y = 0; y < rows; ++y) {
        const int* row = reinterpret_cast<const int*>(reinterpret_cast<const char*>(in) + y * pitch);
        for (int x = threadIdx.x; x < columns; x += 32) sum += row[x];
    }
    atomicAdd(out, sum);
}
void cleanPitched() {
    std::vector<int> host = counting(5 * 33);
    Buffer<int> out(1, 0);
    int* data = nullptr;
    size_t pitch = 0;
    call(cudaMallocPitch(&data, &pitch, 33 * sizeof(int), 5));
    call(cudaMemcpy2D(data, pitch, host.data(), 33 * sizeof(int), 33 * sizeof(int), 5,
                      cudaMemcpyHostToDevice));
    pitchedSum<<<1, 32>>>(data, pitch, 33, 5, out);
    finish();
    call(cudaFree(data));
    expect(out.get()[0] == 165 * 164 / 2, "wrong sum");
}

void cleanManaged() {
    int* data = nullptr;
    call(cudaMallocManaged(&data, 64 * sizeof(int)));
    for (int i = 0; i < 64; ++i) data[i] = i;
    addOne<<<1, 64>>>(data);
    finish();
    expect(data[63] == 64, "wrong increment");
    call(cudaFree(data));
}

// ---- lines: a function of a toolkit header that is inlined twice ----

template <bool fixed>
__global__ void copyAhead(const int* in, int* out) {
    __shared__ int tile[32];
    const int* from = in + threadIdx.x + (fixed ? 0 : 1);
    __pipeline_memcpy_async(tile + threadIdx.x, from, 4);  // fault: inlined-twice
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncwarp();
    out[threadIdx.x] = tile[31 - threadIdx.x];
}
__global__ void copyInStep(const int* in, int* out) {
    __shared__ int tile[32];
    __pipeline_memcpy_async(tile + threadIdx.x, in + threadIdx.x, sizeof(int));
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncwarp();
    out[threadIdx.x] = tile[31 - threadIdx.x];
}
template <bool fixed>
void inlinedTwice() {
    Buffer<int> in(32), out(32);
    in.set(counting(32));
    copyAhead<fixed><<<1, 32>>>(in, out);
    copyInStep<<<1, 32>>>(in, out);
    finish();
    expect(out.get()[0] == 31, "wrong copy");
}

template <bool fixed>
__global__ void storeReleased(int* flag) {
    cuda::atomic_ref<int, cuda::thread_scope_device> there(*flag);
    there.store(1, cuda::memory_order_release);  // fault: inlined-never-launched
}
__global__ void storeReleasedElsewhere(int* flag) {
    cuda::atomic_ref<int, cuda::thread_scope_device> there(*flag);
    there.store(2, cuda::memory_order_release);
}
template <bool fixed>
void inlinedNeverLaunched() {
    Buffer<int> flag(1, 0);
    storeReleased<fixed><<<1, 1>>>(fixed ? static_cast<int*>(flag) : nullptr);
    if (!flag) storeReleasedElsewhere<<<1, 1>>>(flag);
    finish();
    expect(flag.get()[0] == 1, "the flag is not set");
}

// ---- an mbarrier for which too few threads arrive ----

template <bool fixed>
__global__ void arriveAndWait(int* out) {
    __shared__ cuda::barrier<cuda::thread_scope_block> meeting;
    if (threadIdx.x == 0) init(&meeting, fixed ? 64 : 65);
    __syncthreads();
    meeting.arrive_and_wait();  // fault: deadlock-mbarrier
    out[threadIdx.x] = 1;
}
template <bool fixed>
void deadlockMbarrier() {
    Buffer<int> out(64, 0);
    arriveAndWait<fixed><<<1, 64>>>(out);
    finish();
    expect(out.get()[63] == 1, "nothing was written");
}

// ---- the wrong way to free ----

template <bool fixed>
void freeAsHost() {
    int* data = nullptr;
    call(cudaMalloc(&data, 128));
    if (!fixed) cudaFreeHost(data);
    call(cudaFree(data));
}

// ---- strong accesses of the lanes of a warp ----

__global__ void releaseToNextLane(int* out) {
    __shared__ int flag, data;
    if (threadIdx.x == 0) flag = 0;
    __syncthreads();
    cuda::atomic_ref<int, cuda::thread_scope_block> there(flag);
    if (threadIdx.x == 0) {
        data = 42;
        there.store(1, cuda::memory_order_release);
    } else if (threadIdx.x == 1) {
        while (there.load(cuda::memory_order_acquire) == 0) continue;
        *out = data;
    }
}
void cleanReleaseBetweenLanes() {
    Buffer<int> out(1, 0);
    releaseToNextLane<<<1, 32>>>(out);
    finish();
    expect(out.get()[0] == 42, "the data did not arrive");
}

__global__ void relaxedByAll(int* out) {
    __shared__ int last;
    if (threadIdx.x == 0) last = 0;
    __syncthreads();
    cuda::atomic_ref<int, cuda::thread_scope_block> there(last);
    there.store(threadIdx.x, cuda::memory_order_relaxed);
    out[threadIdx.x] = there.load(cuda::memory_order_relaxed);
}
void cleanRelaxedLanes() {
    Buffer<int> out(32, 255);
    relaxedByAll<<<1, 32>>>(out);
    finish();
    for (int value : out.get()) expect(value >= 0 && value < 32, "no lane has stored that");
}

// ---- values that nothing has defined ----

template <bool fixed>
__global__ void sumAcrossHalves(int* out) {
    int v = threadIdx.x;
    if (threadIdx.x < 16) v += __shfl_xor_sync(0xffffu, v, fixed ? 8 : 16);
    out[threadIdx.x] = v;  // fault: undefined-shuffle-xor
}
template <bool fixed>
void undefinedShuffleXor() {
    Buffer<int> out(32, 0);
    sumAcrossHalves<fixed><<<1, 32>>>(out);
    finish();
    expect(out.get()[3] == 3 + 11, "wrong sum");
}

template <bool fixed>
__global__ void fromNextOfTwenty(int* out) {
    int v = threadIdx.x;
    if (threadIdx.x < 20) {
        int next = __shfl_down_sync(0xfffffu, v, 1);
        if (!fixed || threadIdx.x < 19) v = next;
    }
    if (v == 1) out[threadIdx.x] = 1;  // fault: undefined-shuffle-down
}
template <bool fixed>
void undefinedShuffleDown() {
    Buffer<int> out(32, 0);
    fromNextOfTwenty<fixed><<<1, 32>>>(out);
    finish();
    expect(out.get()[0] == 1 && out.get()[2] == 0, "wrong neighbour");
}

template <bool fixed>
__global__ void sumOfLocals(const int* order, int* out) {
    int values[8];
    for (int i = 0; i < (fixed ? 8 : 7); ++i) values[order[i]] = i;
    int sum = 0;
    for (int i = 0; i < 8; ++i) sum += values[order[i]];
    out[threadIdx.x] = sum;  // fault: undefined-local
}
template <bool fixed>
void undefinedLocal() {
    Buffer<int> order(8), out(32, 0);
    order.set(counting(8));
    sumOfLocals<fixed><<<1, 32>>>(order, out);
    finish();
    expect(out.get()[31] == 28, "wrong sum");
}

// The lanes above take values from no lane, but nobody uses what becomes of them.
__global__ void sumOfTwelve(int* out) {
    int v = 1;
    if (threadIdx.x < 12) {
        for (int step = 8; step > 0; step /= 2) {
            int other = __shfl_down_sync(0xfffu, v, step);
            if (threadIdx.x + step < 12) v += other;
        }
        int unused = __shfl_down_sync(0xfffu, v, 16);
        unused += __shfl_down_sync(0xfffu, unused, 1);
        if (threadIdx.x == 0) *out = v;
    }
}
void cleanShuffleTail() {
    Buffer<int> out(1, 0);
    sumOfTwelve<<<1, 32>>>(out);
    finish();
    expect(out.get()[0] == 12, "wrong sum");
}

// Each lane of the first eight sums garbage, except the first.
__global__ void sumOfEight(const int* in, int* out) {
    if (threadIdx.x >= 8) return;
    int v = in[threadIdx.x];
    for (int step = 4; step > 0; step /= 2) v += __shfl_down_sync(0xffu, v, step);
    if (threadIdx.x == 0) *out = v;
}
void cleanShuffleGarbage() {
    Buffer<int> in(8), out(1, 0);
    in.set(counting(8));
    sumOfEight<<<1, 32>>>(in, out);
    finish();
    expect(out.get()[0] == 28, "wrong sum");
}

// ---- errors that nobody looks at ----

__global__ void writeOnes(int* out) {
    out[threadIdx.x] = 1;
}

template <bool fixed>
void refusedLaunch() {
    Buffer<int> out(1025, 0);
    writeOnes<<<1, fixed ? 1024 : 1025>>>(out);
    call(cudaDeviceSynchronize());
    expect(out.get()[0] == 1, "nothing was written");
}

__device__ int sixteen[16];

template <bool fixed>
void refusedCall() {
    const std::vector<int> values = counting(32);
    cudaMemcpyToSymbol(sixteen, values.data(), (fixed ? 16 : 32) * sizeof(int));
}

void cleanErrorLookedAt() {
    const std::vector<int> values = counting(32);
    const cudaError_t error = cudaMemcpyToSymbol(sixteen, values.data(), 32 * sizeof(int));
    expect(!std::strcmp(cudaGetErrorName(error), "cudaErrorInvalidValue"),
           "the copy is too long and was not refused");
    Buffer<int> out(2, 0);
    writeOnes<<<1, 1025>>>(out);
    expect(cudaGetLastError() == cudaErrorInvalidConfiguration, "the block is too large and was not refused");
}

// ---- one side's memory used by the other ----

template <bool fixed>
void devicePointerOnHost() {
    Buffer<int> data(32, 0);
    if (fixed) {
        data.set(std::vector<int>(32, 5));
    } else {
        static_cast<int*>(data)[3] = 5;
    }
    expect(data.get()[3] == 5, "the value did not arrive");
}

template <bool fixed>
__global__ void writeAnywhere(int* out) {
    out[threadIdx.x] = 1;  // fault: host-pointer-in-kernel
}
template <bool fixed>
void hostPointerInKernel() {
    std::vector<int> values(32);
    Buffer<int> out(32, 0);
    writeAnywhere<fixed><<<1, 32>>>(fixed ? static_cast<int*>(out) : values.data());
    finish();
}

__managed__ int shared_by_both[32];

void cleanManagedVariable() {
    shared_by_both[3] = 7;
    writeOnes<<<1, 2>>>(shared_by_both);
    finish();
    expect(shared_by_both[1] == 1 && shared_by_both[3] == 7, "the host and the device see two variables");
}

// ---- the neighbour of a shared array ----

template <bool fixed>
__global__ void fillFirst(int* out, int n) {
    __shared__ int first[32], second[32];
    second[threadIdx.x] = 7;
    __syncthreads();
    if (threadIdx.x == 0)
        for (int i = 0; fixed ? i < n : i <= n; ++i) first[i] = i;  // fault: shared-neighbour
    __syncthreads();
    out[threadIdx.x] = first[threadIdx.x] + second[threadIdx.x];
}
template <bool fixed>
void sharedNeighbour() {
    Buffer<int> out(32, 0);
    fillFirst<fixed><<<1, 32>>>(out, 32);
    finish();
    expect(out.get()[31] == 38, "wrong sum");
}

// One pointer for all of the block's arrays, each lane in its own.
__global__ void writeThroughOnePointer(int* out) {
    __shared__ int first[32], second[32];
    extern __shared__ int third[];
    int* mine = threadIdx.x % 3 == 0 ? first : threadIdx.x % 3 == 1 ? second : third;
    mine[threadIdx.x] = threadIdx.x;
    __syncwarp();
    out[threadIdx.x] = mine[threadIdx.x];
}
void cleanSharedArrays() {
    Buffer<int> out(32, 0);
    writeThroughOnePointer<<<1, 32, 32 * sizeof(int)>>>(out);
    finish();
    expect(out.get() == counting(32), "the arrays overlap");
}

// ---- bytes of one word that several threads write ----

template <bool fixed>
__global__ void readFirstBytes(unsigned char* out) {
    __shared__ unsigned char bytes[128];
    bytes[threadIdx.x] = threadIdx.x;  // fault: race-bytes
    if (fixed) __syncthreads();
    out[threadIdx.x] = bytes[(127 - threadIdx.x) & ~3];  // fault: race-bytes
}
template <bool fixed>
void raceBytes() {
    Buffer<unsigned char> out(128, 0);
    readFirstBytes<fixed><<<1, 128>>>(out);
    finish();
    expect(out.get()[0] == 124, "wrong byte");
}

template <bool fixed>
__global__ void readFlagOfFirstWarp(int* out) {
    __shared__ bool done[4];
    if (threadIdx.x % 32 == 0) done[threadIdx.x / 32] = threadIdx.x > 50;  // fault: race-flags
    if (fixed) __syncthreads();
    if (threadIdx.x >= 96) out[threadIdx.x] = done[0];  // fault: race-flags
}
template <bool fixed>
void raceFlags() {
    Buffer<int> out(128, 255);
    readFlagOfFirstWarp<fixed><<<1, 128>>>(out);
    finish();
    expect(out.get()[127] == 0, "wrong flag");
}

// ---- memory that both sides write ----

template <bool fixed>
__global__ void readManaged(const int* in, int* out) {
    out[threadIdx.x] = in[threadIdx.x];  // fault: uninitialised-managed
}
template <bool fixed>
void uninitialisedManaged() {
    int* data = nullptr;
    call(cudaMallocManaged(&data, 32 * sizeof(int)));
    if (fixed) std::iota(data, data + 32, 0);
    Buffer<int> out(32, 0);
    readManaged<fixed><<<1, 32>>>(data, out);
    finish();
    expect(out.get() == counting(32), "wrong values");
    call(cudaFree(data));
}

// ---- frees and copies in the order of streams ----

// cudaMemcpy from pageable memory may return before its last byte is on the device; a stream that does not wait for the
// default stream must be told to.
template <bool fixed>
void streamReadsPageableCopy() {
    Stream side(cudaStreamNonBlocking);
    Event copied;
    int* data = nullptr;
    call(cudaMalloc(&data, 128));
    std::vector<int> ones(32, 1);
    call(cudaMemcpy(data, ones.data(), 128, cudaMemcpyHostToDevice));
    if (fixed) {
        call(cudaEventRecord(copied, nullptr));
        call(cudaStreamWaitEvent(side, copied));
    }
    addOne<<<1, 32, 0, side>>>(data);
    finish();
    call(cudaFree(data));
}

// A copy within the device does not wait for the host at all.
template <bool fixed>
void streamReadsDeviceCopy() {
    Stream side(cudaStreamNonBlocking);
    int *from = nullptr, *to = nullptr;
    call(cudaMalloc(&from, 128));
    call(cudaMalloc(&to, 128));
    call(cudaMemset(from, 0, 128));
    call(cudaMemcpy(to, from, 128, cudaMemcpyDeviceToDevice));
    if (fixed) call(cudaDeviceSynchronize());
    addOne<<<1, 32, 0, side>>>(to);
    finish();
    call(cudaFree(from));
    call(cudaFree(to));
}

template <bool fixed>
void streamFreesUsed() {
    Stream a, b;
    Event written;
    int* data = nullptr;
    call(cudaMallocAsync(&data, 128, a));
    writeOnes<<<1, 32, 0, a>>>(data);
    if (fixed) {
        call(cudaEventRecord(written, a));
        call(cudaStreamWaitEvent(b, written));
    }
    call(cudaFreeAsync(data, b));
    finish();
}

// ---- leaks of all kinds, where they are asked for ----

template <bool fixed>
void leakOfHandles() {
    setenv("LADDER_SIMULATOR_LEAKS", "all", 1);
    cudaEvent_t event;
    call(cudaEventCreate(&event));
    if (fixed) call(cudaEventDestroy(event));
}

template <bool fixed>
void leakOfPinned() {
    setenv("LADDER_SIMULATOR_LEAKS", "all", 1);
    int* data = nullptr;
    call(cudaMallocHost(&data, 128));
    if (fixed) call(cudaFreeHost(data));
}

// ---- a grid-wide barrier made by hand, of more blocks than fit the chip ----

__global__ void meetAllBlocks(int* arrived, int* out) {
    if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd(arrived, 1);
        while (atomicAdd(arrived, 0) < gridDim.x) continue;  // fault: deadlock-grid
        __threadfence();
    }
    __syncthreads();
    out[blockIdx.x * blockDim.x + threadIdx.x] = 1;
}
template <bool fixed>
void deadlockGrid() {
    const int blocks = fixed ? 200 : 300;  // two of 1024 threads on each of an H200's 132 multiprocessors
    Buffer<int> arrived(1, 0), out(300 * 1024, 0);
    meetAllBlocks<<<blocks, 1024>>>(arrived, out);
    finish();
    expect(out.get()[200 * 1024 - 1] == 1, "nothing was written");
}

// ---- a fence that only one lane makes ----

template <bool fixed>
__global__ void publishForOthers(int* data, volatile int* flag, int* out) {
    if (blockIdx.x == 0) {
        data[threadIdx.x] = 5;  // fault: fence-of-one-lane
        if (fixed) __syncwarp();
        if (threadIdx.x == 0) {
            __threadfence();
            *flag = 1;
        }
    } else {
        if (threadIdx.x == 0)
            while (!*flag) continue;
        __syncthreads();
        __threadfence();
        out[threadIdx.x] = data[threadIdx.x];  // fault: fence-of-one-lane
    }
}
template <bool fixed>
void fenceOfOneLane() {
    Buffer<int> data(32, 0), flag(1, 0), out(32, 0);
    publishForOthers<fixed><<<2, 32>>>(data, flag, out);
    finish();
    expect(out.get()[31] == 5, "the data did not arrive");
}

// Each lane publishes what is its own; and one lane what all have fenced.
__global__ void publishOwn(int* data, int* flags, int* out) {
    const int i = threadIdx.x;
    if (blockIdx.x == 0) {
        data[i] = i;
        for (int lane = 0; lane < 32; ++lane)
            if (i == lane) {
                __threadfence();
                atomicExch(&flags[i], 1);
            }
        data[32 + i] = i;
        __threadfence();
        __syncwarp();
        if (i == 7) atomicExch(&flags[32], 1);
    } else {
        while (atomicAdd(&flags[31 - i], 0) == 0) continue;
        while (atomicAdd(&flags[32], 0) == 0) continue;
        __threadfence();
        out[i] = data[31 - i] + data[32 + (i + 5) % 32];
    }
}
void cleanPublishOwn() {
    Buffer<int> data(64, 0), flags(33, 0), out(32, 0);
    publishOwn<<<2, 32>>>(data, flags, out);
    finish();
    expect(out.get()[0] == 36, "wrong data");
}

// ---- the list ----

struct Program {
    const char* name;
    void (*run)();
    bool correct;
};

#define TWINS(name, function)               \
    {name, function<false>, false}, {       \
        name "-fixed", function<true>, true \
    }

const Program programs[] = {
    TWINS("global-past-end", globalPastEnd),
    TWINS("global-before-start", globalBeforeStart),
    TWINS("global-vector-tail", globalVectorTail),
    TWINS("global-atomic", globalAtomic),
    TWINS("shared-static", sharedStatic),
    TWINS("shared-dynamic", sharedDynamic),
    TWINS("shared-before-start", sharedBeforeStart),
    TWINS("misaligned-float4", misalignedFloat4),
    TWINS("misaligned-float2", misalignedFloat2),
    TWINS("misaligned-shared", misalignedShared),
    TWINS("null-store", nullStore),
    TWINS("null-load", nullLoad),
    TWINS("use-after-free", useAfterFree),
    TWINS("use-after-free-async", useAfterFreeAsync),
    TWINS("double-free", doubleFree),
    TWINS("free-as-host", freeAsHost),
    TWINS("leak", leak),
    TWINS("leak-async", leakAsync),
    TWINS("uninitialised-global", uninitialisedGlobal),
    TWINS("uninitialised-atomic", uninitialisedAtomic),
    TWINS("uninitialised-half", uninitialisedHalf),
    TWINS("uninitialised-shared", uninitialisedShared),
    TWINS("uninitialised-dynamic", uninitialisedDynamic),
    TWINS("race-missing-barrier", raceMissingBarrier),
    TWINS("race-second-barrier", raceSecondBarrier),
    TWINS("race-warp-synchronous", raceWarpSynchronous),
    TWINS("race-lanes", raceLanes),
    TWINS("race-write-write", raceWriteWrite),
    TWINS("race-histogram", raceHistogram),
    TWINS("race-global-in-block", raceGlobalInBlock),
    TWINS("race-blocks-sum", raceBlocksSum),
    TWINS("race-blocks-neighbour", raceBlocksNeighbour),
    TWINS("race-blocks-in-place", raceBlocksInPlace),
    TWINS("barrier-early-return", barrierEarlyReturn),
    TWINS("barrier-in-branch", barrierInBranch),
    TWINS("barrier-unequal-trips", barrierUnequalTrips),
    TWINS("barrier-named-too-few", barrierNamedTooFew),
    TWINS("mask-without-self", maskWithoutSelf),
    TWINS("mask-never-come", maskNeverCome),
    TWINS("mask-outside-source", maskOutsideSource),
    TWINS("mask-vote", maskVote),
    TWINS("mask-tail", maskTail),
    TWINS("stream-kernel-reads-copy", streamKernelReadsCopy),
    TWINS("stream-copy-reads-kernel", streamCopyReadsKernel),
    TWINS("stream-two-kernels", streamTwoKernels),
    TWINS("stream-event-too-early", streamEventTooEarly),
    TWINS("stream-non-blocking", streamNonBlocking),
    TWINS("stream-overwrites-read", streamOverwritesRead),
    TWINS("cp-async-without-wait", cpAsyncWithoutWait),
    TWINS("cp-async-wait-too-few", cpAsyncWaitTooFew),
    TWINS("cp-async-without-barrier", cpAsyncWithoutBarrier),
    TWINS("cp-async-overwrites", cpAsyncOverwrites),
    TWINS("cluster-missing-barrier", clusterMissingBarrier),
    TWINS("cluster-early-exit", clusterEarlyExit),
    TWINS("inlined-twice", inlinedTwice),
    TWINS("inlined-never-launched", inlinedNeverLaunched),
    TWINS("deadlock-mbarrier", deadlockMbarrier),
    TWINS("undefined-shuffle-xor", undefinedShuffleXor),
    TWINS("undefined-shuffle-down", undefinedShuffleDown),
    TWINS("undefined-local", undefinedLocal),
    TWINS("refused-launch", refusedLaunch),
    TWINS("refused-call", refusedCall),
    TWINS("device-pointer-on-host", devicePointerOnHost),
    TWINS("host-pointer-in-kernel", hostPointerInKernel),
    TWINS("shared-neighbour", sharedNeighbour),
    TWINS("race-bytes", raceBytes),
    TWINS("race-flags", raceFlags),
    TWINS("uninitialised-managed", uninitialisedManaged),
    TWINS("stream-frees-used", streamFreesUsed),
    TWINS("stream-reads-pageable-copy", streamReadsPageableCopy),
    TWINS("stream-reads-device-copy", streamReadsDeviceCopy),
    TWINS("leak-of-handles", leakOfHandles),
    TWINS("leak-of-pinned", leakOfPinned),
    TWINS("deadlock-grid", deadlockGrid),
    TWINS("fence-of-one-lane", fenceOfOneLane),
    {"clean-ticket", cleanTicket, true},
    {"clean-fence-flag", cleanFenceFlag, true},
    {"clean-atomic-flag", cleanAtomicFlag, true},
    {"clean-look-back", cleanLookBack, true},
    {"clean-lock", cleanLock, true},
    {"clean-grid-sync", cleanGridSync, true},
    {"clean-device-synchronize", cleanDeviceSynchronize, true},
    {"clean-legacy-stream", cleanLegacyStream, true},
    {"clean-stream-halves", cleanStreamHalves, true},
    {"clean-stream-readers", cleanStreamReaders, true},
    {"clean-same-stream", cleanSameStream, true},
    {"clean-pool", cleanPool, true},
    {"clean-graph", cleanGraph, true},
    {"clean-graph-fork", cleanGraphFork, true},
    {"clean-graph-of-thread", cleanGraphOfThread, true},
    {"clean-double-buffer", cleanDoubleBuffer, true},
    {"clean-one-barrier", cleanOneBarrier, true},
    {"clean-shuffle-reduce", cleanShuffleReduce, true},
    {"clean-named-ring", cleanNamedRing, true},
    {"clean-half-block", cleanHalfBlock, true},
    {"clean-mbarrier", cleanMbarrier, true},
    {"clean-cluster-atomics", cleanClusterAtomics, true},
    {"clean-count", cleanCount, true},
    {"clean-bytes", cleanBytes, true},
    {"clean-pitched", cleanPitched, true},
    {"clean-managed", cleanManaged, true},
    {"clean-release-between-lanes", cleanReleaseBetweenLanes, true},
    {"clean-relaxed-lanes", cleanRelaxedLanes, true},
    {"clean-shuffle-tail", cleanShuffleTail, true},
    {"clean-shuffle-garbage", cleanShuffleGarbage, true},
    {"clean-error-looked-at", cleanErrorLookedAt, true},
    {"clean-managed-variable", cleanManagedVariable, true},
    {"clean-shared-arrays", cleanSharedArrays, true},
    {"clean-publish-own", cleanPublishOwn, true},
};

}  // namespace

int main(int argc, char** argv) {
    const char* wanted = argc == 2 ? argv[1] : "";
    for (const Program& program : programs) {
        if (!std::strcmp(wanted, "--list")) std::printf("%s\n", program.name);
        if (std::strcmp(wanted, program.name)) continue;
        program.run();
        return program.correct && wrong ? 1 : 0;
    }
    if (!std::strcmp(wanted, "--list")) return 0;
    std::fprintf(stderr, "usage: faults NAME | faults --list\n");
    return 2;
}
