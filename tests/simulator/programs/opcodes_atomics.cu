// Atomic operations: all that CUDA names, on global and shared memory, in all scopes, and cuda::atomic_ref.
#include <cuda_fp16.h>

#include <algorithm>
#include <cuda/atomic>

#include "opcodes.cuh"

namespace {

constexpr int THREADS = 128, BLOCKS = 2, ALL = THREADS * BLOCKS;

/// One value that the thread with this index contributes.
template <class T>
__host__ __device__ T contribution(int i) {
    return T((i * 37 + 11) % 101);
}

#define ATOMIC(name, function, initial, hostStep) \
    struct name {                                 \
        template <class T>                        \
        static __device__ T onDevice(T* p, T v) { \
            return function(p, v);                \
        }                                         \
        template <class T>                        \
        static T onHost(T old, T v) {             \
            return hostStep;                      \
        }                                         \
        static constexpr int start = initial;     \
    };
ATOMIC(Add, atomicAdd, 5, T(old + v))
ATOMIC(AddBlock, atomicAdd_block, 5, T(old + v))
ATOMIC(AddSystem, atomicAdd_system, 5, T(old + v))
ATOMIC(Sub, atomicSub, 7, T(old - v))
ATOMIC(Min, atomicMin, 50, std::min(old, v))
ATOMIC(Max, atomicMax, 50, std::max(old, v))
ATOMIC(And, atomicAnd, 0x7fffff, T(old& v))
ATOMIC(Or, atomicOr, 128, T(old | v))
ATOMIC(Xor, atomicXor, 3, T(old ^ v))
ATOMIC(Inc, atomicInc, 0, (old >= v ? T(0) : T(old + 1)))
ATOMIC(Dec, atomicDec, 90, (old == 0 || old > v ? v : T(old - 1)))

/// The result is used (atom) in one run, and thrown away (red) in the other.
template <class Operation, class T>
__global__ void globalAtomic(T* cell, T* seen) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    T old = Operation::onDevice(cell, contribution<T>(i));
    if (seen) seen[i] = old;
}
template <class Operation, class T>
__global__ void sharedAtomic(T* out) {
    __shared__ T cell[2];
    if (threadIdx.x == 0) cell[0] = cell[1] = T(Operation::start);
    __syncthreads();
    Operation::onDevice(cell + threadIdx.x % 2, contribution<T>(threadIdx.x));
    __syncthreads();
    if (threadIdx.x < 2) out[threadIdx.x] = cell[threadIdx.x];
}

/// For operations whose result does not depend on the order (all but Inc and Dec, which get
/// constant operands).
template <class Operation, class T>
void atomicOf(Checks& checks, const std::string& what) {
    T global = T(Operation::start), shared[2] = {global, global};
    for (int i = 0; i < ALL; ++i) global = Operation::onHost(global, contribution<T>(i));
    for (int i = 0; i < THREADS; ++i) shared[i % 2] = Operation::onHost(shared[i % 2], contribution<T>(i));

    Device<T> cell(std::vector<T>{T(Operation::start)}), again(std::vector<T>{T(Operation::start)});
    Device<T> seen(ALL), two(2);
    globalAtomic<Operation, T><<<BLOCKS, THREADS>>>(cell, static_cast<T*>(nullptr));
    checks.equal(what + " global", cell.get(), {global});
    globalAtomic<Operation, T><<<BLOCKS, THREADS>>>(again, seen);
    checks.equal(what + " global with its result", again.get(), {global});
    auto olds = seen.get();
    checks.that(std::count(olds.begin(), olds.end(), T(Operation::start)) >= 1,
                what + ": nobody saw the first value");
    sharedAtomic<Operation, T><<<1, THREADS>>>(two);
    checks.equal(what + " shared", two.get(), {shared[0], shared[1]});
}
#define CHECK_ATOMIC(operation, type) atomicOf<operation, type>(checks, #operation " of " #type)

// Inc and Dec with one operand for all: their end depends on the number of calls only.
template <class Operation>
__global__ void wrapAround(unsigned* cell, unsigned limit) {
    Operation::onDevice(cell, limit);
}
template <class Operation>
void wrapOf(Checks& checks, const std::string& what) {
    unsigned want = Operation::start;
    for (int i = 0; i < ALL; ++i) want = Operation::onHost(want, 99u);
    Device<unsigned> cell(std::vector<unsigned>{unsigned(Operation::start)});
    wrapAround<Operation><<<BLOCKS, THREADS>>>(cell, 99u);
    checks.equal(what, cell.get(), {want});
}

// ---- exchanges

template <class T>
__global__ void exchanges(T* cell, T* seen) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    seen[i] = atomicExch(cell, T(i + 1));
}
/// Every value but the last one is seen by exactly one thread.
template <class T>
void exchangeOf(Checks& checks, const std::string& type) {
    Device<T> cell(1), seen(ALL);
    exchanges<T><<<BLOCKS, THREADS>>>(cell, seen);
    auto values = seen.get();
    values.push_back(cell.get()[0]);
    std::sort(values.begin(), values.end());
    std::vector<T> want;
    for (int i = 0; i <= ALL; ++i) want.push_back(T(i));
    checks.equal("exchange of " + type, values, want);
}

template <class T>
__global__ void compareAndSwap(T* cell) {
    T old = *static_cast<volatile T*>(cell), assumed;
    do {
        assumed = old;
        old = atomicCAS(cell, assumed, T(assumed + 3));
    } while (old != assumed);
}
template <class T>
void compareAndSwapOf(Checks& checks, const std::string& type) {
    Device<T> cell(1);
    compareAndSwap<T><<<BLOCKS, THREADS>>>(cell);
    checks.equal("compare and swap of " + type, cell.get(), {T(3 * ALL)});
}

__global__ void pairsOfHalf(__half2* cell, float* out) {
    atomicAdd(cell, __halves2half2(__float2half(1.0f), __float2half(0.5f)));
    __syncthreads();
    if (threadIdx.x == 0) {
        out[0] = __low2float(*cell);
        out[1] = __high2float(*cell);
    }
}

// ---- cuda::atomic_ref: orders and scopes

template <class T, cuda::thread_scope scope>
__global__ void references(T* cells) {
    cuda::atomic_ref<T, scope> sum(cells[0]), least(cells[1]), most(cells[2]), counted(cells[3]);
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    sum.fetch_add(contribution<T>(i), cuda::memory_order_relaxed);
    least.fetch_min(contribution<T>(i), cuda::memory_order_acq_rel);
    most.fetch_max(contribution<T>(i), cuda::memory_order_seq_cst);
    T expected = counted.load(cuda::memory_order_relaxed);
    while (!counted.compare_exchange_weak(expected, expected + T(2), cuda::memory_order_acq_rel,
                                          cuda::memory_order_relaxed)) {
    }
    if (i == 0) cuda::atomic_ref<T, scope>(cells[4]).store(T(9), cuda::memory_order_release);
    if (i == 1) cuda::atomic_ref<T, scope>(cells[5]).exchange(T(8), cuda::memory_order_acquire);
}
template <class T, cuda::thread_scope scope>
void referencesOf(Checks& checks, const std::string& what, int blocks) {
    T sum = 0, least = 200, most = 0;
    for (int i = 0; i < blocks * THREADS; ++i) {
        sum += contribution<T>(i);
        least = std::min(least, contribution<T>(i));
        most = std::max(most, contribution<T>(i));
    }
    Device<T> cells(std::vector<T>{0, 200, 0, 0, 0, 0});
    references<T, scope><<<blocks, THREADS>>>(cells);
    checks.equal("atomic_ref of " + what, cells.get(), {sum, least, most, T(2 * blocks * THREADS), 9, 8});
}

__device__ cuda::atomic<int, cuda::thread_scope_device> tickets{0};
__global__ void drawTickets(int* drawn) {
    int mine = tickets++;
    atomicAdd(drawn + mine, 1);
}

// Inline PTX: the orders and scopes by name.
__global__ void spelled(unsigned* cell, unsigned* out) {
    unsigned old;
    asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], 1;" : "=r"(old) : "l"(cell) : "memory");
    asm volatile("red.release.cta.global.add.u32 [%0], 1;" ::"l"(cell + 1) : "memory");
    asm volatile("red.relaxed.sys.global.max.u32 [%0], %1;" ::"l"(cell + 2), "r"(threadIdx.x) : "memory");
    asm volatile("fence.acq_rel.gpu;" ::: "memory");
    asm volatile("fence.sc.sys;" ::: "memory");
    unsigned read;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(read) : "l"(cell) : "memory");
    if (threadIdx.x == 0) asm volatile("st.release.gpu.global.u32 [%0], 77;" ::"l"(cell + 3) : "memory");
    out[threadIdx.x] = unsigned(read > old);
}

__global__ void histogram(const unsigned char* in, int n, unsigned* out) {
    __shared__ unsigned bins[16];
    if (threadIdx.x < 16) bins[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&bins[in[i] / 16], 1u);
    __syncthreads();
    if (threadIdx.x < 16) atomicAdd(out + threadIdx.x, bins[threadIdx.x]);
}

}  // namespace

int main() {
    using u32 = unsigned;
    using u64 = unsigned long long;
    using s64 = long long;
    Checks checks("atomics");
    CHECK_ATOMIC(Add, int);
    CHECK_ATOMIC(Add, u32);
    CHECK_ATOMIC(Add, u64);
    CHECK_ATOMIC(Add, float);  // whole numbers: exact in any order
    CHECK_ATOMIC(Add, double);
    CHECK_ATOMIC(AddBlock, u32);
    CHECK_ATOMIC(AddSystem, u32);
    CHECK_ATOMIC(AddSystem, double);
    CHECK_ATOMIC(Sub, int);
    CHECK_ATOMIC(Sub, u32);
    CHECK_ATOMIC(Min, int);
    CHECK_ATOMIC(Min, u32);
    CHECK_ATOMIC(Min, s64);
    CHECK_ATOMIC(Min, u64);
    CHECK_ATOMIC(Max, int);
    CHECK_ATOMIC(Max, u32);
    CHECK_ATOMIC(Max, s64);
    CHECK_ATOMIC(Max, u64);
    CHECK_ATOMIC(And, int);
    CHECK_ATOMIC(And, u32);
    CHECK_ATOMIC(And, u64);
    CHECK_ATOMIC(Or, u32);
    CHECK_ATOMIC(Or, u64);
    CHECK_ATOMIC(Xor, u32);
    CHECK_ATOMIC(Xor, u64);
    wrapOf<Inc>(checks, "Inc");
    wrapOf<Dec>(checks, "Dec");
    exchangeOf<int>(checks, "int");
    exchangeOf<float>(checks, "float");
    exchangeOf<u64>(checks, "u64");
    compareAndSwapOf<int>(checks, "int");
    compareAndSwapOf<u32>(checks, "u32");
    compareAndSwapOf<u64>(checks, "u64");
    compareAndSwapOf<unsigned short>(checks, "unsigned short");

    Device<__half2> halves(1);
    Device<float> sums(2);
    pairsOfHalf<<<1, 64>>>(halves, sums);
    checks.equal("atomicAdd of half2", sums.get(), {64.f, 32.f});

    referencesOf<int, cuda::thread_scope_device>(checks, "int, device", BLOCKS);
    referencesOf<u32, cuda::thread_scope_system>(checks, "u32, system", BLOCKS);
    referencesOf<u64, cuda::thread_scope_device>(checks, "u64, device", BLOCKS);
    referencesOf<int, cuda::thread_scope_block>(checks, "int, block", 1);

    Device<int> drawn(ALL);
    drawTickets<<<BLOCKS, THREADS>>>(drawn);
    checks.equal("cuda::atomic", drawn.get(), std::vector<int>(ALL, 1));

    Device<u32> cells(4), later(THREADS);
    spelled<<<1, THREADS>>>(cells, later);
    checks.equal("orders and scopes", cells.get(), {THREADS, THREADS, THREADS - 1, 77});
    checks.equal("acquire sees the own increment", later.get(), std::vector<u32>(THREADS, 1));

    std::vector<unsigned char> bytes(1000);
    std::vector<u32> bins(16);
    Random random(8);
    for (auto& byte : bytes) ++bins[(byte = static_cast<unsigned char>(random.next())) / 16];
    Device<unsigned char> in(bytes);
    Device<u32> counted(16);
    histogram<<<3, THREADS>>>(in, 1000, counted);
    checks.equal("histogram", counted.get(), bins);
    return checks.finish();
}
