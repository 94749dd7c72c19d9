// Boxes of an array of one to five dimensions by Hopper's copy engine: to shared memory and back, in and out
// of the array, with each swizzle; and what the map's maker refuses.
#include <cuda.h>

#include "opcodes.cuh"

namespace {

using Encode = decltype(&cuTensorMapEncodeTiled);
Encode encoder() {
    void* function = nullptr;
    cudaDriverEntryPointQueryResult found;
    need(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000, cudaEnableDefault,
                                          &found));
    return reinterpret_cast<Encode>(function);
}

struct Array {
    int rank;
    int sides[5], box[5];  // 1 behind the rank
    int count(const int* of) const { return of[0] * of[1] * of[2] * of[3] * of[4]; }
};

template <class T>
CUresult encode(CUtensorMap& map, T* data, const Array& a, CUtensorMapSwizzle swizzle) {
    cuuint64_t sides[5], pitches[5];
    cuuint32_t box[5], ones[5] = {1, 1, 1, 1, 1};
    for (int i = 0; i < a.rank; ++i) {
        sides[i] = a.sides[i];
        pitches[i] = sides[i] * (i ? pitches[i - 1] : sizeof(T));
        box[i] = a.box[i];
    }
    return encoder()(&map, sizeof(T) == 4 ? CU_TENSOR_MAP_DATA_TYPE_FLOAT32 : CU_TENSOR_MAP_DATA_TYPE_FLOAT64,
                     a.rank, data, sides, pitches, box, ones, CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle,
                     CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}

struct Corner {
    int at[5];
};

__device__ uint32_t sharedAddress(const void* p) {
    return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}

#define LOAD(DIMENSIONS, LIST, ...)                                                      \
    asm volatile("cp.async.bulk.tensor." DIMENSIONS                                      \
                 ".shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, " LIST \
                 "], [%2];" ::"r"(sharedAddress(box)),                                   \
                 "l"(&from), "r"(sharedAddress(&barrier)), __VA_ARGS__                   \
                 : "memory")
#define STORE(DIMENSIONS, LIST, ...)                                                            \
    asm volatile("cp.async.bulk.tensor." DIMENSIONS ".global.shared::cta.bulk_group [%1, " LIST \
                 "], [%0];" ::"r"(sharedAddress(box)),                                          \
                 "l"(&to), __VA_ARGS__                                                          \
                 : "memory")

// One thread: a box of `from` to shared memory, as it lies there to `out`, and from there to the same place
// of `to`.
template <int RANK>
__global__ void moveBox(const __grid_constant__ CUtensorMap from, const __grid_constant__ CUtensorMap to,
                        int bytes, Corner c, unsigned* out) {
    __shared__ alignas(1024) unsigned box[4096];
    __shared__ alignas(8) uint64_t barrier;
    asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(sharedAddress(&barrier)) : "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(sharedAddress(&barrier)),
                 "r"(bytes)
                 : "memory");
    const int* x = c.at;
    if constexpr (RANK == 1) LOAD("1d", "{%3}", "r"(x[0]));
    if constexpr (RANK == 2) LOAD("2d", "{%3, %4}", "r"(x[0]), "r"(x[1]));
    if constexpr (RANK == 3) LOAD("3d", "{%3, %4, %5}", "r"(x[0]), "r"(x[1]), "r"(x[2]));
    if constexpr (RANK == 4) LOAD("4d", "{%3, %4, %5, %6}", "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]));
    if constexpr (RANK == 5)
        LOAD("5d", "{%3, %4, %5, %6, %7}", "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(x[4]));
    unsigned arrived = 0;
    while (!arrived)
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
                     : "=r"(arrived)
                     : "r"(sharedAddress(&barrier))
                     : "memory");
    for (int i = 0; i < bytes / 4; ++i) out[i] = box[i];
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    if constexpr (RANK == 1) STORE("1d", "{%2}", "r"(x[0]));
    if constexpr (RANK == 2) STORE("2d", "{%2, %3}", "r"(x[0]), "r"(x[1]));
    if constexpr (RANK == 3) STORE("3d", "{%2, %3, %4}", "r"(x[0]), "r"(x[1]), "r"(x[2]));
    if constexpr (RANK == 4) STORE("4d", "{%2, %3, %4, %5}", "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]));
    if constexpr (RANK == 5)
        STORE("5d", "{%2, %3, %4, %5, %6}", "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(x[4]));
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

template <class T, int RANK>
void check(Checks& checks, const std::string& name, Array a, Corner c, CUtensorMapSwizzle swizzle) {
    const int cells = a.count(a.sides), boxed = a.count(a.box), words = sizeof(T) / 4;
    std::vector<T> in(cells), moved(cells, T(-1)), box(boxed, T(0));
    for (int i = 0; i < cells; ++i) in[i] = T(i + 1);
    for (int i = 0; i < boxed; ++i) {
        int rest = i, index = 0, pitch = 1;
        bool inside = true;
        for (int k = 0; k < 5; ++k) {
            const int at = c.at[k] + rest % a.box[k];
            rest /= a.box[k];
            inside = inside && at >= 0 && at < a.sides[k];
            index += at * pitch;
            pitch *= a.sides[k];
        }
        if (!inside) continue;
        // Of each line of 128 bytes the 16-byte chunks change places, by the line's number.
        const int byte = i * static_cast<int>(sizeof(T)), mask = (1 << swizzle) - 1;
        box[(byte ^ ((byte >> 7 & mask) << 4)) / sizeof(T)] = in[index];
        moved[index] = in[index];
    }
    T *from = nullptr, *to = nullptr;
    unsigned* out = nullptr;
    need(cudaMalloc(&from, cells * sizeof(T)));
    need(cudaMalloc(&to, cells * sizeof(T)));
    need(cudaMalloc(&out, boxed * sizeof(T)));
    need(cudaMemcpy(from, in.data(), cells * sizeof(T), cudaMemcpyHostToDevice));
    const std::vector<T> before(cells, T(-1));
    need(cudaMemcpy(to, before.data(), cells * sizeof(T), cudaMemcpyHostToDevice));
    CUtensorMap from_map, to_map;
    checks.that(encode(from_map, from, a, swizzle) == CUDA_SUCCESS, name + ": the map of the source");
    checks.that(encode(to_map, to, a, swizzle) == CUDA_SUCCESS, name + ": the map of the target");
    moveBox<RANK><<<1, 1>>>(from_map, to_map, boxed * words * 4, c, out);
    need(cudaGetLastError());
    need(cudaDeviceSynchronize());
    std::vector<T> got_box(boxed), got(cells);
    need(cudaMemcpy(got_box.data(), out, boxed * sizeof(T), cudaMemcpyDeviceToHost));
    need(cudaMemcpy(got.data(), to, cells * sizeof(T), cudaMemcpyDeviceToHost));
    checks.equal(name + ": in shared memory", got_box, box);
    checks.equal(name + ": in the target", got, moved);
    need(cudaFree(from));
    need(cudaFree(to));
    need(cudaFree(out));
}

}  // namespace

int main() {
    Checks checks("copy_engine");
    const auto none = CU_TENSOR_MAP_SWIZZLE_NONE;
    check<float, 1>(checks, "1d", {1, {40, 1, 1, 1, 1}, {16, 1, 1, 1, 1}}, {{8}}, none);
    check<float, 1>(checks, "1d past the end", {1, {40, 1, 1, 1, 1}, {16, 1, 1, 1, 1}}, {{30}}, none);
    check<double, 1>(checks, "1d outside", {1, {10, 1, 1, 1, 1}, {4, 1, 1, 1, 1}}, {{-4}}, none);
    const Array plane = {2, {36, 21, 1, 1, 1}, {12, 5, 1, 1, 1}};
    for (const Corner c :
         {Corner{{0, 0}}, Corner{{-3, -2}}, Corner{{5, 7}}, Corner{{30, 18}}, Corner{{-50, 3}}})
        check<float, 2>(checks, "2d", plane, c, none);
    check<double, 2>(checks, "2d of doubles", {2, {18, 21, 1, 1, 1}, {6, 5, 1, 1, 1}}, {{15, -1}}, none);
    check<float, 3>(checks, "3d", {3, {20, 9, 7, 1, 1}, {8, 3, 2, 1, 1}}, {{-1, 7, -1}}, none);
    check<float, 4>(checks, "4d", {4, {8, 3, 4, 5, 1}, {4, 2, 3, 2, 1}}, {{2, 1, 2, 4}}, none);
    check<double, 5>(checks, "5d", {5, {6, 3, 2, 4, 3}, {4, 2, 2, 3, 2}}, {{3, -1, 1, 2, 1}}, none);
    check<float, 2>(checks, "32 bytes", {2, {32, 40, 1, 1, 1}, {8, 32, 1, 1, 1}}, {{5, 3}},
                    CU_TENSOR_MAP_SWIZZLE_32B);
    check<float, 2>(checks, "64 bytes", {2, {32, 40, 1, 1, 1}, {16, 32, 1, 1, 1}}, {{20, -3}},
                    CU_TENSOR_MAP_SWIZZLE_64B);
    check<float, 2>(checks, "128 bytes", {2, {64, 40, 1, 1, 1}, {32, 20, 1, 1, 1}}, {{40, 30}},
                    CU_TENSOR_MAP_SWIZZLE_128B);
    check<double, 2>(checks, "128 bytes of doubles", {2, {64, 40, 1, 1, 1}, {16, 20, 1, 1, 1}}, {{-2, 3}},
                     CU_TENSOR_MAP_SWIZZLE_128B);

    float* data = nullptr;
    need(cudaMalloc(&data, 4096));
    CUtensorMap map;
    const auto refused = [&](const std::string& what, float* start, Array a, CUtensorMapSwizzle swizzle) {
        checks.that(encode(map, start, a, swizzle) == CUDA_ERROR_INVALID_VALUE, what + " is refused");
    };
    refused("a start off 16 bytes", data + 1, {2, {16, 4, 1, 1, 1}, {4, 2, 1, 1, 1}}, none);
    refused("a row off 16 bytes", data, {2, {15, 4, 1, 1, 1}, {4, 2, 1, 1, 1}}, none);
    refused("a box's row off 16 bytes", data, {2, {16, 4, 1, 1, 1}, {3, 2, 1, 1, 1}}, none);
    refused("a box of more than 256", data, {2, {512, 2, 1, 1, 1}, {260, 1, 1, 1, 1}}, none);
    refused("a row longer than the swizzle", data, {2, {64, 4, 1, 1, 1}, {36, 2, 1, 1, 1}},
            CU_TENSOR_MAP_SWIZZLE_128B);
    need(cudaFree(data));
    return checks.finish();
}
