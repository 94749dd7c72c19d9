// argmax.cu: the greatest element and where it stands, at the speed of reading.
//
// Idea:   three things that keep the index out of the way:
//         a thread compares the greatest values of its packs of 16 bytes, and notes at which turn it met the
//         best; where in the pack that is, is looked up at the end, by the lanes that hold their warp's best;
//         then value and index become one 64-bit number: the value's bits, turned so that they ascend with
//         the value, above the inverted index. The greatest key is the greatest value and, of equal values,
//         the lowest index, so argmax is a max of unsigned numbers. NaN gets the greatest bits of all.
// Cost:   keys have room for 4-byte elements and 2^32 of them. Doubles, and more elements, take pairs of
//         value and index: the same kernel with another last step. If every thread looked its pack up, the
//         135168 threads of an H200 would read 8 MB again: more than the rest of the end takes.
// Wrong still: as in vectorized.cu, the launch.
// Texts: none.
#include "cub.cuh"
#include "packs.cuh"

/// A max of keys.
template <typename T>
struct GreatestKey {
    using Element = T;
    using Value = uint64_t;
    __device__ Value neutral() const { return 0; }
    __device__ Value lift(T x, int64_t i) const { return key_of(x, static_cast<uint32_t>(i)); }
    __device__ Value operator()(Value a, Value b) const { return a > b ? a : b; }
    __device__ static int64_t index_of(Value key) { return index_in(key); }
};
/// For what does not fit into keys.
template <typename T>
struct GreatestPair : ArgMax<T> {
    __device__ static int64_t index_of(Found<T> found) { return found.index; }
};

/// Equal, or both NaN.
template <typename T>
__device__ bool is_same(T a, T b) {
    return a == b || (is_nan(a) && is_nan(b));
}

template <typename T>
__device__ T greatest_of(Pack<T> x) {
    const Max<T> max;
#pragma unroll
    for (int half = Pack<T>::V / 2; half > 0; half /= 2)
#pragma unroll
        for (int j = 0; j < half; ++j) x.at[j] = max(x.at[j], x.at[j + half]);
    return x.at[0];
}

constexpr int THREADS = 512, LOADS = 8, BLOCKS_PER_MULTIPROCESSOR = 2, LEAST_LOADS = 2;

template <typename Op, typename T>
__global__ void __launch_bounds__(THREADS, BLOCKS_PER_MULTIPROCESSOR)
    argmax_vectorized(Op op, const T* in, int64_t n, typename Op::Value* partials, unsigned* ticket,
                      Found<T>* result) {
    const Split part = split<T>(reinterpret_cast<uintptr_t>(in), n);
    const auto* packs = reinterpret_cast<const Pack<T>*>(in + part.head);
    const int64_t thread = blockIdx.x * static_cast<int64_t>(THREADS) + threadIdx.x;
    const int64_t stride = static_cast<int64_t>(gridDim.x) * THREADS;
    const Max<T> max;

    T best = max.neutral();
    int best_turn = 0, turn = 0;
    const auto compare_eight = [&](int64_t first, auto is_there) {
        Pack<T> x[LOADS];
#pragma unroll
        for (int k = 0; k < LOADS; ++k)
            if (is_there(first + k * stride)) x[k] = load_once(&packs[first + k * stride]);
#pragma unroll
        for (int k = 0; k < LOADS; ++k) {
            if (!is_there(first + k * stride)) break;
            const T greatest = greatest_of(x[k]);
            // Greater or NaN (not when equal: earlier turns have lower indices), but NaN is never replaced.
            if (!(greatest <= best) && !is_nan(best)) {
                best = greatest;
                best_turn = turn + k;
            }
        }
        turn += LOADS;
    };
    int64_t first = thread;
    for (; first + (LOADS - 1) * stride < part.packs; first += LOADS * stride)
        compare_eight(first, [](int64_t) { return true; });
    compare_eight(first, [&](int64_t i) { return i < part.packs; });

    typename Op::Value value = op.neutral();
    const T best_of_warp = __shfl_sync(ALL_LANES, warp_reduce(max, best), 0);
    const int64_t best_pack = thread + best_turn * stride;
    if (is_same(best, best_of_warp) && best_pack < part.packs) {
        const Pack<T> x = packs[best_pack];
#pragma unroll
        for (int j = 0; j < Pack<T>::V; ++j)
            if (is_same(x.at[j], best))
                value = op(value, op.lift(best, part.head + best_pack * Pack<T>::V + j));
    }
    if (thread < part.head) value = op(value, op.lift(in[thread], thread));
    if (thread < part.tail) value = op(value, op.lift(in[n - 1 - thread], n - 1 - thread));

    value = block_reduce(op, value);
    if (grid_reduce(op, value, partials, ticket)) {
        const int64_t index = op.index_of(value);
        *result = {in[index], index};
    }
}

template <typename T>
__global__ void argmax_pairs(ArgMax<T> op, const T* in, int64_t n, Found<T>* partials, unsigned* ticket,
                             Found<T>* result) {
    const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
    Found<T> found = op.neutral();
    for (int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x; i < n; i += step)
        found = op(found, op.lift(in[i], i));
    found = block_reduce(op, found);
    if (grid_reduce(op, found, partials, ticket)) *result = found;
}

template <typename T>
void launch_argmax(const Task<ArgMax<T>>& task) {
    const int blocks =
        static_cast<int>(std::clamp<int64_t>(ceil_div(task.n / Pack<T>::V, THREADS * LEAST_LOADS), 1,
                                             BLOCKS_PER_MULTIPROCESSOR * task.multiprocessors));
    if constexpr (sizeof(T) == 4)
        if (task.n <= int64_t{1} << 32) {
            auto* partials = reinterpret_cast<uint64_t*>(task.partials);
            argmax_vectorized<<<blocks, THREADS>>>(GreatestKey<T>(), task.in, task.n, partials, task.ticket,
                                                   task.result);
            return;
        }
    argmax_vectorized<<<blocks, THREADS>>>(GreatestPair<T>(), task.in, task.n, task.partials, task.ticket,
                                           task.result);
}

int main(int argc, char** argv) {
    ReduceBy<ArgMax> ladder("argmax", "Finds the greatest element and its index.", argc, argv);
    ladder.variant("pairs", "value and index at every step, 1 launch", [](auto task) {
        argmax_pairs<<<std::min(task.blocks(), 4 * task.multiprocessors), THREADS>>>(
            task.op, task.in, task.n, task.partials, task.ticket, task.result);
    });
    ladder.variant("packed_key", "16-byte loads, one key at the end, 1 launch",
                   [](auto task) { launch_argmax(task); });
    add_cub(ladder);
    return ladder.run();
}
