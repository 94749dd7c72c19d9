// Control flow: divergence of every shape, calls, recursion, pointers to functions, printf, large
// grids, spinning.
#undef NDEBUG  // the asserts are there to be run, in release builds too
#include <unistd.h>

#include <cassert>

#include "opcodes.cuh"

namespace {

// ---- functions that host and device run alike

__host__ __device__ int choose(int i, int n) {
    int s = 0;
    switch (i % n) {
        case 0:
            s = 1;
            break;
        case 1:
            s = 3 * i;
            [[fallthrough]];
        case 2:
            s += 5 * i;
            break;
        case 3:
            return i - 1;
        case 4:
            s = i * i;
            break;
        case 5:
            s = i ^ 0x55;
            break;
        case 6:
            s = -i;
            break;
        case 7:
            s = i / 3;
            break;
        default:
            s = 9;
    }
    return s + 1;
}
__host__ __device__ int collatz(int i) {  // lanes leave the loop one by one
    int steps = 0;
    for (long long v = i + 1; v != 1; ++steps) v = v % 2 ? 3 * v + 1 : v / 2;
    return steps;
}
__host__ __device__ int nested(int i) {
    int sum = 0;
    for (int a = 0; a < i % 7; ++a) {
        if (a == 4) continue;
        for (int b = a; b < 10; ++b) {
            if ((a + b) % 5 == i % 5) break;
            if (b > 7 && i % 3 == 0) return sum - 1000;
            sum += a * b + i;
        }
        int tries = 0;
        do {
            sum += a + 1;
        } while (sum % 3 == 1 && ++tries < 4);
    }
    return sum;
}
__host__ __device__ int jumps(int i) {  // a loop with two entries
    int v = i, n = 0;
    if (i % 2) goto middle;
again:
    v += 3;
middle:
    v *= 2;
    if (++n < i % 5 + 1) goto again;
    return v;
}
__host__ __device__ int logic(int i) {
    return (i > 3 && i % 7 && (i < 20 || i % 2 == 0)) + 2 * (i % 4 ? i > 16 ? 1 : 0 : i < 8);
}
__host__ __device__ int fibonacci(int n) {
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}
__host__ __device__ int ackermann(int m, int n) {
    return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}
__host__ __device__ __noinline__ double mixture(double x, int k) {
    double t[6];
    for (int i = 0; i < 6; ++i) t[i] = x * i + k;
    return t[(k + 1) % 6] - t[k % 6];
}

struct Choose {
    static __host__ __device__ long long of(int i) { return choose(i, 9); }
};
struct Collatz {
    static __host__ __device__ long long of(int i) { return collatz(i); }
};
struct Nested {
    static __host__ __device__ long long of(int i) { return nested(i); }
};
struct Jumps {
    static __host__ __device__ long long of(int i) { return jumps(i); }
};
struct Logic {
    static __host__ __device__ long long of(int i) { return logic(i); }
};
struct Fibonacci {
    static __host__ __device__ long long of(int i) { return fibonacci(i % 12); }
};
struct Ackermann {
    static __host__ __device__ long long of(int i) { return ackermann(i % 3, i % 5); }
};

template <class F>
__global__ void each(long long* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = F::of(i);
}
template <class F>
void eachOf(Checks& checks, const std::string& what) {
    constexpr int n = 96;
    Device<long long> out(n);
    each<F><<<2, n / 2>>>(out);
    std::vector<long long> want;
    for (int i = 0; i < n; ++i) want.push_back(F::of(i));
    checks.equal(what, out.get(), want);
}

// ---- calls

struct Pair {
    int first;
    double second;
};
__device__ __noinline__ Pair makePair(int i, const Pair& other) {
    return {i + other.first, other.second * 2};
}
__global__ void calls(double* out) {
    Pair pair = makePair(threadIdx.x, Pair{100, 0.25});
    out[threadIdx.x] = (threadIdx.x % 3 ? mixture(1.5, threadIdx.x) : -1.0) + pair.first + pair.second;
}

using Function = int (*)(int);
__device__ __noinline__ int twice(int v) {
    return 2 * v;
}
__device__ __noinline__ int square(int v) {
    return v * v;
}
__device__ __noinline__ int negate(int v) {
    return -v;
}
__device__ Function functions[3] = {twice, square, negate};
__global__ void throughPointers(int* out) {
    out[threadIdx.x] = functions[threadIdx.x % 3](threadIdx.x);
}

struct Shape {
    __device__ virtual int area() const = 0;
    __device__ virtual ~Shape() {}
};
struct Square : Shape {
    int side;
    __device__ explicit Square(int s) : side(s) {}
    __device__ int area() const override { return side * side; }
};
struct Box : Shape {
    int a, b;
    __device__ Box(int x, int y) : a(x), b(y) {}
    __device__ int area() const override { return a * b; }
};
__global__ void virtuals(int* out) {
    int i = threadIdx.x;
    Square square(i);
    Box box(i, i + 1);
    const Shape* shape = i % 2 ? static_cast<const Shape*>(&square) : &box;
    out[i] = shape->area();
}

// ---- printf and assert

__global__ void prints(const char* word) {
    if (threadIdx.x < 2)
        printf("%d %s %5.2f %c %lld %#x%%\n", int(threadIdx.x) - 1, word, 2.5, 'x', 1ll << 40, 255u);
}
__device__ char wordOnDevice[] = "word";
__global__ void printsWord() {
    printf("%-6s|%03d|%g\n", wordOnDevice, 7, 0.1);
}

/// What the kernels that `launch` starts print.
template <class F>
std::string captured(F launch) {
    std::fflush(stdout);
    std::FILE* file = std::tmpfile();
    int kept = dup(1);
    if (!file || kept < 0 || dup2(fileno(file), 1) < 0) return "no temporary file";
    launch();
    bool ok = cudaDeviceSynchronize() == cudaSuccess;
    std::fflush(stdout);
    dup2(kept, 1);
    close(kept);
    std::string text;
    std::rewind(file);
    for (int c; (c = std::fgetc(file)) != EOF;) text += char(c);
    std::fclose(file);
    return ok ? text : "failed";
}

__global__ void asserts(int* out, int n) {
    assert(n > 3 && "never fires");
    assert(blockDim.x == 32);
    out[threadIdx.x] = n;
}

// ---- indices

// The grid is small, the index is not: products must not be cut to 32 bits.
__global__ void longIndex(long long* out, long long first, int stride) {
    long long i = first + blockIdx.x * (long long)(blockDim.x) * stride + threadIdx.x;
    size_t bytes = size_t(gridDim.x) * stride * sizeof(double);
    out[blockIdx.x * blockDim.x + threadIdx.x] = i * 3 + (long long)(bytes % 1000003);
}
__global__ void manyBlocks(unsigned* count, unsigned* last) {
    if (threadIdx.x == 0) atomicAdd(count, 1u);
    if (threadIdx.x == 0) atomicMax(last, blockIdx.x);
}
__global__ void gridStride(const int* in, int n, int* out) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        out[i] = in[i] + n;
}
__global__ void threeDimensions(int* out, int nx, int ny, int nz) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    int z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x < nx && y < ny && z < nz) out[(z * ny + y) * nx + x] = x + 100 * y + 10000 * z;
}

__global__ void clocks(long long* out) {
    long long before = clock64(), timer, later;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(timer));
    __nanosleep(100);
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(later));
    out[threadIdx.x] = (clock64() >= before) + 2 * (later >= timer);
}

// ---- lanes that wait for each other: each has to go on although another one spins

__global__ void locksOfLanes(int* lock, int* count) {
    for (bool done = false; !done;) {
        if (atomicCAS(lock, 0, 1) != 0) continue;
        __threadfence();
        *static_cast<volatile int*>(count) = *static_cast<volatile int*>(count) + 1;
        __threadfence();
        atomicExch(lock, 0);
        done = true;
    }
}

}  // namespace

int main() {
    Checks checks("control");
    checks.that(cudaDeviceSetLimit(cudaLimitStackSize, 8192) == cudaSuccess, "a stack for the recursions");
    eachOf<Choose>(checks, "switch");
    eachOf<Collatz>(checks, "loops of different lengths");
    eachOf<Nested>(checks, "break, continue and return in nested loops");
    eachOf<Jumps>(checks, "a loop with two entries");
    eachOf<Logic>(checks, "short-circuit logic");
    eachOf<Fibonacci>(checks, "recursion");
    eachOf<Ackermann>(checks, "deep recursion");

    Device<double> reals(32);
    calls<<<1, 32>>>(reals);
    std::vector<double> wantReals;
    for (int i = 0; i < 32; ++i) wantReals.push_back((i % 3 ? mixture(1.5, i) : -1.0) + 100 + i + 0.5);
    checks.equal("calls with structs and arrays", reals.get(), wantReals);
    Device<int> ints(32);
    std::vector<int> want(32);
    throughPointers<<<1, 32>>>(ints);
    for (int i = 0; i < 32; ++i) want[i] = i % 3 == 0 ? 2 * i : i % 3 == 1 ? i * i : -i;
    checks.equal("pointers to functions", ints.get(), want);
    virtuals<<<1, 32>>>(ints);
    for (int i = 0; i < 32; ++i) want[i] = i % 2 ? i * i : i * (i + 1);
    checks.equal("virtual functions", ints.get(), want);

    Device<char> word(std::vector<char>{'h', 'i', 0});
    std::string text = captured([&] { prints<<<1, 32>>>(word); });
    checks.that(text == "-1 hi  2.50 x 1099511627776 0xff%\n0 hi  2.50 x 1099511627776 0xff%\n",
                "printf: " + text);
    text = captured([&] { printsWord<<<1, 1>>>(); });
    checks.that(text == "word  |007|0.1\n", "printf of a symbol: " + text);
    asserts<<<1, 32>>>(ints, 5);
    checks.equal("asserts that hold", ints.get(), std::vector<int>(32, 5));

    Device<long long> longs(128);
    longIndex<<<4, 32>>>(longs, 5000000000ll, 100000000);
    std::vector<long long> wantLongs(128);
    for (long long i = 0; i < 128; ++i)
        wantLongs[i] = 3 * (5000000000ll + i / 32 * 32 * 100000000 + i % 32) + 4ll * 100000000 * 8 % 1000003;
    checks.equal("64-bit indices", longs.get(), wantLongs);
    Device<unsigned> count(1), last(1);
    manyBlocks<<<70000, 32>>>(count, last);
    checks.equal("70000 blocks", count.get(), {70000});
    checks.equal("the last of 70000 blocks", last.get(), {69999});
    std::vector<int> in(1000), out(1000);
    for (int i = 0; i < 1000; ++i) in[i] = 7 * i, out[i] = 7 * i + 1000;
    Device<int> from(in), to(1000);
    gridStride<<<3, 64>>>(from, 1000, to);
    checks.equal("grid-stride loop", to.get(), out);
    Device<int> cube(5 * 7 * 3);
    threeDimensions<<<dim3(2, 2, 2), dim3(4, 4, 2)>>>(cube, 5, 7, 3);
    std::vector<int> wantCube;
    for (int i = 0; i < 5 * 7 * 3; ++i) wantCube.push_back(i % 5 + 100 * (i / 5 % 7) + 10000 * (i / 35));
    checks.equal("three dimensions", cube.get(), wantCube);
    clocks<<<1, 32>>>(longs);
    auto ticks = longs.get();
    ticks.resize(32);
    checks.equal("clocks go forward", ticks, std::vector<long long>(32, 3));

    Device<int> lock(1), counted(1);
    locksOfLanes<<<2, 64>>>(lock, counted);
    checks.equal("a lock taken by every lane", counted.get(), {128});
    return checks.finish();
}
