// Loads and stores: widths, vectors, state spaces, cache operators, symbols, copies of every shape.
#include <cuda_fp16.h>
#include <dlfcn.h>

#include <numeric>

#include "opcodes.cuh"

namespace {

// ---- widths and vectors in global memory

template <class V>
__global__ void copyEach(const V* in, V* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[i];
}
template <class V>
__global__ void copyThroughShared(const V* in, V* out) {
    __shared__ V s[64];
    s[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    out[63 - threadIdx.x] = s[threadIdx.x];
}
template <class V>
__global__ void copyReadOnly(const V* in, V* out) {
    out[threadIdx.x] = __ldg(in + threadIdx.x);
}
/// Every cache operator that CUDA has a name for: none of them changes a value.
template <class V>
__global__ void copyCached(const V* in, V* out) {
    int i = threadIdx.x;
    switch (i % 4) {
        case 0:
            __stwb(out + i, __ldca(in + i));
            break;
        case 1:
            __stcg(out + i, __ldcg(in + i));
            break;
        case 2:
            __stcs(out + i, __ldcs(in + i));
            break;
        case 3:
            __stwt(out + i, __ldlu(in + i));
            break;
    }
}

template <class V>
std::vector<V> pattern(size_t n) {
    std::vector<unsigned char> bytes(n * sizeof(V));
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<unsigned char>(7 * i + i / 256);
    std::vector<V> values(n);
    std::memcpy(static_cast<void*>(values.data()), bytes.data(), bytes.size());
    return values;
}
template <class V>
bool sameBytes(const std::vector<V>& a, const std::vector<V>& b) {
    return a.size() == b.size() && !std::memcmp(a.data(), b.data(), a.size() * sizeof(V));
}

template <class V>
void plainCopies(Checks& checks, const std::string& type) {
    auto in = pattern<V>(64);
    Device<V> from(in), straight(64), reversed(64);
    copyEach<V><<<2, 32>>>(from, straight);
    checks.that(sameBytes(straight.get(), in), "global copy of " + type);
    copyThroughShared<V><<<1, 64>>>(from, reversed);
    auto backwards = in;
    for (int i = 0; i < 64; ++i) backwards[63 - i] = in[i];
    checks.that(sameBytes(reversed.get(), backwards), "shared copy of " + type);
}
template <class V>
void cachedCopies(Checks& checks, const std::string& type) {
    auto in = pattern<V>(64);
    Device<V> from(in), readOnly(64), cached(64);
    copyReadOnly<V><<<1, 64>>>(from, readOnly);
    checks.that(sameBytes(readOnly.get(), in), "read-only copy of " + type);
    copyCached<V><<<1, 64>>>(from, cached);
    checks.that(sameBytes(cached.get(), in), "cached copy of " + type);
}

// ---- other spaces

struct Mixed {
    char letter;
    short small;
    int whole[3];
    double real;
    float4 vector;
};
__global__ void parameterStruct(Mixed mixed, int index, double* out) {
    out[threadIdx.x] = mixed.letter + mixed.small + mixed.whole[index] + mixed.real + mixed.vector.z;
}
__global__ void __launch_bounds__(32) indexedParameter(const __grid_constant__ Mixed mixed, int* out) {
    out[threadIdx.x] = mixed.whole[threadIdx.x % 3];
}

__constant__ int table[64];
__constant__ float4 vectors[4] = {{1, 2, 3, 4}, {5, 6, 7, 8}, {9, 10, 11, 12}, {13, 14, 15, 16}};
__device__ int counter = 41;
__device__ int image[4][8] = {{1}, {2}, {3}, {4}};
__device__ int* pointerToImage = &image[2][0];
__managed__ int managed[32];

__global__ void constants(const int* index, float* out) {
    int i = index[threadIdx.x];
    out[threadIdx.x] = float(table[i]) + vectors[i % 4].y;
}
__global__ void symbols(int* out) {
    out[threadIdx.x] = counter + image[threadIdx.x / 8][threadIdx.x % 8] + pointerToImage[0];
    managed[threadIdx.x] = threadIdx.x;
}

// An array with indices that are only known at run time lives in local memory.
__global__ void localArray(const int* in, int* out) {
    int a[16];
    for (int i = 0; i < 16; ++i) a[i] = in[i] * int(threadIdx.x);
    for (int k = 0; k < 16; ++k) {
        int i = in[k] % 16, j = in[15 - k] % 16;
        int swapped = a[i];
        a[i] = a[j];
        a[j] = swapped;
    }
    out[threadIdx.x] = a[in[threadIdx.x % 16] % 16] - 2 * a[0];
}
std::vector<int> hostLocalArray(const std::vector<int>& in) {
    std::vector<int> out;
    for (int t = 0; t < 32; ++t) {
        int a[16];
        for (int i = 0; i < 16; ++i) a[i] = in[i] * t;
        for (int k = 0; k < 16; ++k) std::swap(a[in[k] % 16], a[in[15 - k] % 16]);
        out.push_back(a[in[t % 16] % 16] - 2 * a[0]);
    }
    return out;
}

// One pointer to three spaces: the address alone says which.
__device__ __noinline__ int readGeneric(const int* p, int i) {
    return p[i];
}
__global__ void generic(const int* in, int* out) {
    __shared__ int s[32];
    int own[2] = {in[threadIdx.x], -in[threadIdx.x]};
    s[threadIdx.x] = 1000 + threadIdx.x;
    __syncwarp();
    const int* p = threadIdx.x % 3 == 0 ? in : threadIdx.x % 3 == 1 ? s : own;
    out[threadIdx.x] = readGeneric(p, threadIdx.x % 3 == 2 ? threadIdx.x % 2 : threadIdx.x);
}
__global__ void spaces(const int* in, int* out) {
    __shared__ int s[1];
    int own = in[0];
    out[threadIdx.x] = __isGlobal(in) + 2 * __isShared(s) + 4 * __isLocal(&own) + 8 * __isShared(in) +
                       16 * __isGlobal(s) + 32 * int(__cvta_generic_to_shared(s) < 4096);
}

// Dynamic shared memory cut into pieces of several types, after static one.
__global__ void dynamicPieces(double* out) {
    __shared__ int fixedPiece[32];
    extern __shared__ double dynamicDoubles[];
    float* floats = reinterpret_cast<float*>(dynamicDoubles + 32);
    unsigned char* bytes = reinterpret_cast<unsigned char*>(floats + 32);
    int t = threadIdx.x, u = 31 - t;
    fixedPiece[t] = t;
    dynamicDoubles[t] = 0.5 * t;
    floats[t] = 0.25f * t;
    bytes[t] = static_cast<unsigned char>(200 + t);
    __syncwarp();
    out[t] = fixedPiece[u] + dynamicDoubles[u] + floats[u] + bytes[u];
}

// Shared variables of functions: nvcc puts them outside of the kernels, which have inlined the function or
// call it.
template <int N>
__device__ int* sharedOf() {
    __shared__ int all[N];
    return all;
}
__device__ __noinline__ int reversedByCall(int v) {
    __shared__ int of_function[32];
    of_function[31 - threadIdx.x] = v;
    __syncwarp();
    return of_function[threadIdx.x];
}
__global__ void largeShared(int* out) {
    int *large = sharedOf<4096>(), *small = sharedOf<32>();
    large[threadIdx.x] = threadIdx.x;
    small[threadIdx.x] = 100 * threadIdx.x;
    __syncwarp();
    out[threadIdx.x] =
        large[31 - threadIdx.x] + small[31 - threadIdx.x] + reversedByCall(10000 * threadIdx.x);
}
__global__ void largeSharedToo(int* out) {
    int* large = sharedOf<4096>();
    large[threadIdx.x] = threadIdx.x;
    __syncwarp();
    out[threadIdx.x] = large[31 - threadIdx.x];
}
__global__ void smallShared(int* out) {
    extern __shared__ int dynamicInts[];
    int* small = sharedOf<32>();
    dynamicInts[threadIdx.x] = threadIdx.x;
    small[threadIdx.x] = 100 * threadIdx.x;
    __syncwarp();
    out[threadIdx.x] = dynamicInts[31 - threadIdx.x] + small[31 - threadIdx.x];
}

// Narrow loads extend by their type, and narrow stores cut off.
__global__ void narrow(const signed char* s8, const unsigned char* u8, const short* s16,
                       const unsigned short* u16, long long* out, unsigned char* cut) {
    int t = threadIdx.x;
    out[t] = (long long)(s8[t]) + u8[t] * 1000ll + s16[t] * 1000000ll + u16[t] * 100000000000ll;
    cut[t] = static_cast<unsigned char>(s16[t]);
}

__global__ void volatileAndFence(volatile int* p, int* out) {
    p[threadIdx.x] = threadIdx.x;
    __threadfence_block();
    __threadfence();
    __threadfence_system();
    out[threadIdx.x] = p[threadIdx.x] + p[threadIdx.x];
}

__global__ void addressArithmetic(const char* base, size_t stride, long long* out) {
    out[threadIdx.x] = *reinterpret_cast<const long long*>(base + threadIdx.x * stride + 8);
}

__global__ void increment(int* p) {
    p[threadIdx.x] += 1;
}

__global__ void prefetching(const int* in, int* out) {
    asm volatile("prefetch.global.L2 [%0];" ::"l"(in + threadIdx.x));
    int v;
    asm volatile("ld.global.nc.L1::no_allocate.u32 %0, [%1];" : "=r"(v) : "l"(in + threadIdx.x));
    out[threadIdx.x] = v;
}

std::vector<int> counting(int n) {
    std::vector<int> values(n);
    std::iota(values.begin(), values.end(), 0);
    return values;
}

void spacesOfMemory(Checks& checks) {
    Mixed mixed{'a', -300, {10, 20, 30}, 0.125, {1, 2, 3, 4}};
    Device<double> reals(32);
    parameterStruct<<<1, 32>>>(mixed, 2, reals);
    checks.that(reals.get()[31] == 'a' - 300 + 30 + 0.125 + 3, "struct as a parameter");
    Device<int> ints(32);
    indexedParameter<<<1, 32>>>(mixed, ints);
    checks.that(ints.get()[31] == 20 && ints.get()[2] == 30, "indexed parameter");

    std::vector<int> square(64);
    for (int i = 0; i < 64; ++i) square[i] = i * i;
    need(cudaMemcpyToSymbol(table, square.data(), sizeof(int) * 64));
    std::vector<int> index(32);
    std::vector<float> want(32);
    for (int i = 0; i < 32; ++i) {
        index[i] = 7 * i % 64;
        want[i] = float(square[index[i]]) + float(4 * (index[i] % 4) + 2);
    }
    Device<int> indices(index);
    Device<float> floats(32);
    constants<<<1, 32>>>(indices, floats);
    checks.equal("constant memory", floats.get(), want);

    symbols<<<1, 32>>>(ints);
    auto got = ints.get();
    checks.that(got[0] == 41 + 1 + 3 && got[16] == 41 + 3 + 3 && got[31] == 41 + 3, "initialised symbols");
    need(cudaDeviceSynchronize());
    checks.that(managed[31] == 31, "managed symbol");
    int fresh = 7, read = 0, *address = nullptr;
    need(cudaMemcpyToSymbol(counter, &fresh, sizeof fresh));
    symbols<<<1, 32>>>(ints);
    checks.that(ints.get()[31] == 7 + 3, "copy to a symbol");
    need(cudaMemcpyFromSymbol(&read, image, sizeof read, 3 * 8 * sizeof(int)));
    checks.that(read == 4, "copy from the middle of a symbol");
    need(cudaGetSymbolAddress(reinterpret_cast<void**>(&address), counter));
    increment<<<1, 1>>>(address);
    need(cudaMemcpyFromSymbol(&read, counter, sizeof read));
    checks.that(read == 8, "address of a symbol");

    Random random(6);
    std::vector<int> in(16);
    for (int& v : in) v = int(random.next() % 1000);
    Device<int> input(in);
    localArray<<<1, 32>>>(input, ints);
    checks.equal("local array", ints.get(), hostLocalArray(in));

    Device<int> numbers(counting(32));
    generic<<<1, 32>>>(numbers, ints);
    std::vector<int> wantInts(32);
    for (int i = 0; i < 32; ++i) wantInts[i] = i % 3 == 0 ? i : i % 3 == 1 ? 1000 + i : i % 2 ? -i : i;
    checks.equal("generic addresses", ints.get(), wantInts);

    const auto charged = [](auto* kernel) {
        cudaFuncAttributes attributes;
        need(cudaFuncGetAttributes(&attributes, kernel));
        return static_cast<int>(attributes.sharedSizeBytes);
    };
    checks.that(charged(largeShared) >= 4 * (4096 + 32 + 32), "three shared variables of functions");
    checks.that(charged(largeSharedToo) >= 4 * 4096 && charged(largeSharedToo) < 4 * (4096 + 32),
                "one of them");
    checks.that(charged(smallShared) >= 4 * 32 && charged(smallShared) < 4 * 4096, "another one");
    for (int i = 0; i < 32; ++i) wantInts[i] = (1 + 100 + 10000) * (31 - i);
    largeShared<<<1, 32>>>(ints);
    checks.equal("three shared variables of functions", ints.get(), wantInts);
    for (int i = 0; i < 32; ++i) wantInts[i] = 31 - i;
    largeSharedToo<<<1, 32>>>(ints);
    checks.equal("one of them", ints.get(), wantInts);
    for (int i = 0; i < 32; ++i) wantInts[i] = (1 + 100) * (31 - i);
    smallShared<<<1, 32, 32 * sizeof(int)>>>(ints);
    checks.equal("another one, and dynamic shared memory", ints.get(), wantInts);

    spaces<<<1, 32>>>(numbers, ints);
    checks.equal("isspacep", ints.get(), std::vector<int>(32, 1 + 2 + 4 + 32));
    dynamicPieces<<<1, 32, 32 * (8 + 4 + 1)>>>(reals);
    std::vector<double> wantReals;
    for (int i = 31; i >= 0; --i) wantReals.push_back(i * 1.75 + 200 + i);
    checks.equal("dynamic shared memory", reals.get(), wantReals);
    volatileAndFence<<<1, 32>>>(numbers, ints);
    checks.that(ints.get()[31] == 62, "volatile and fences");
    Device<int> countingAgain(counting(32));
    prefetching<<<1, 32>>>(countingAgain, ints);
    checks.equal("prefetch and no_allocate", ints.get(), counting(32));
}

void narrowLoads(Checks& checks) {
    auto s8 = pattern<signed char>(32);
    auto u8 = pattern<unsigned char>(32);
    auto s16 = pattern<short>(32);
    auto u16 = pattern<unsigned short>(32);
    for (int i = 0; i < 32; ++i)
        s8[i] = static_cast<signed char>(-i), s16[i] = short(-1000 * i), u16[i] += 60000;
    Device<signed char> a(s8);
    Device<unsigned char> b(u8), cut(32);
    Device<short> c(s16);
    Device<unsigned short> d(u16);
    Device<long long> out(32);
    narrow<<<1, 32>>>(a, b, c, d, out, cut);
    std::vector<long long> want;
    std::vector<unsigned char> wantCut;
    for (int i = 0; i < 32; ++i) {
        want.push_back(s8[i] + u8[i] * 1000ll + s16[i] * 1000000ll + u16[i] * 100000000000ll);
        wantCut.push_back(static_cast<unsigned char>(s16[i]));
    }
    checks.equal("sign and zero extension", out.get(), want);
    checks.equal("narrow stores", cut.get(), wantCut);

    std::vector<long long> wide(128);
    for (int i = 0; i < 128; ++i) wide[i] = i * 1000000007ll;
    Device<long long> base(wide);
    addressArithmetic<<<1, 32>>>(reinterpret_cast<const char*>(static_cast<long long*>(base)), 24, out);
    checks.that(out.get()[31] == wide[94], "64-bit address arithmetic");
}

void copies(Checks& checks) {
    auto in = counting(6 * 10);
    int* pitched = nullptr;
    size_t pitch = 0;
    need(cudaMallocPitch(&pitched, &pitch, 10 * sizeof(int), 6));
    need(cudaMemset2D(pitched, pitch, 0, 10 * sizeof(int), 6));
    need(cudaMemcpy2D(pitched, pitch, in.data(), 10 * sizeof(int), 8 * sizeof(int), 6,
                      cudaMemcpyHostToDevice));
    std::vector<int> out(60, -1);
    need(cudaMemcpy2D(out.data(), 10 * sizeof(int), pitched, pitch, 10 * sizeof(int), 6,
                      cudaMemcpyDeviceToHost));
    auto want = in;
    for (int i = 0; i < 60; ++i)
        if (i % 10 >= 8) want[i] = 0;
    checks.equal("pitched copies", out, want);
    need(cudaFree(pitched));

    Device<int> device(60), other(60);
    need(cudaMemcpy(device, in.data(), 240, cudaMemcpyDefault));
    need(cudaMemcpy(other + 10, device + 20, 40, cudaMemcpyDeviceToDevice));
    need(cudaMemset(other + 30, 0xff, 12));
    auto got = other.get();
    checks.that(
        got[9] == 0 && got[10] == 20 && got[19] == 29 && got[20] == 0 && got[32] == -1 && got[33] == 0,
        "device to device, and memset");

    int* mapped = nullptr;
    int* onDevice = nullptr;
    need(cudaHostAlloc(&mapped, 32 * sizeof(int), cudaHostAllocMapped));
    for (int i = 0; i < 32; ++i) mapped[i] = i;
    need(cudaHostGetDevicePointer(&onDevice, mapped, 0));
    increment<<<1, 32>>>(onDevice);
    need(cudaDeviceSynchronize());
    checks.that(mapped[31] == 32, "mapped host memory");
    need(cudaFreeHost(mapped));
}

#define PLAIN(type) plainCopies<type>(checks, #type)
#define CACHED(type) cachedCopies<type>(checks, #type)

struct alignas(4) Rgba {
    unsigned char r, g, b, a;
};

}  // namespace

/// CUDA 13 has these in its library but declares them no more. No GPU since Kepler lets the size of a bank
/// be chosen.
void sizeOfBanks(Checks& checks) {
    const auto get = reinterpret_cast<cudaError_t (*)(cudaSharedMemConfig*)>(
        dlsym(RTLD_DEFAULT, "cudaDeviceGetSharedMemConfig"));
    const auto set = reinterpret_cast<cudaError_t (*)(cudaSharedMemConfig)>(
        dlsym(RTLD_DEFAULT, "cudaDeviceSetSharedMemConfig"));
    if (!get || !set) return;
    for (const auto wish : {cudaSharedMemBankSizeEightByte, cudaSharedMemBankSizeDefault}) {
        auto got = cudaSharedMemBankSizeDefault;
        need(set(wish));
        need(get(&got));
        checks.that(got == cudaSharedMemBankSizeFourByte, "banks of 4 bytes");
    }
}

int main() {
    Checks checks("memory_vectors");
    PLAIN(char);
    PLAIN(short);
    PLAIN(int);
    PLAIN(float);
    PLAIN(double);
    PLAIN(char4);
    PLAIN(short2);
    PLAIN(short4);
    PLAIN(int2);
    PLAIN(int3);
    PLAIN(int4);
    PLAIN(float2);
    PLAIN(float3);
    PLAIN(float4);
    PLAIN(double2);
    PLAIN(longlong2);
    PLAIN(ulonglong2);
    PLAIN(Rgba);
    PLAIN(__half2);
    CACHED(char);
    CACHED(short);
    CACHED(int);
    CACHED(long long);
    CACHED(float);
    CACHED(double);
    CACHED(int2);
    CACHED(int4);
    CACHED(float2);
    CACHED(float4);
    CACHED(double2);
    spacesOfMemory(checks);
    narrowLoads(checks);
    copies(checks);
    sizeOfBanks(checks);
    return checks.finish();
}
