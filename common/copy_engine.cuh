// copy_engine.cuh: boxes of an array to shared memory by Hopper's copy engine, the tensor memory accelerator: the map that
// it works by, the copy, and the barrier that counts what has arrived. The instructions are in NVIDIA's PTX manual,
// "Asynchronous copy" and "mbarrier". sm_90 only.
#pragma once
#include <cuda.h>

#include <cstdint>
#include <stdexcept>
#include <string>

#include "cuda_error.cuh"

/// The map of an array in device memory with `sides[0]` elements a row, `sides[1]` rows, and so on: float or double, RANK
/// dimensions. It is moved in boxes, of at most 256 elements a side; a row of the array and one of a box are multiples of
/// 16 bytes. `swizzle`: how a box lies in shared memory. What of a box lies outside of the array is read as zeros, and
/// is not written. Throws where the driver refuses.
template <typename T, int RANK>
CUtensorMap tensor_map(const T* array, const int64_t (&sides)[RANK], const int (&box)[RANK],
                       CUtensorMapSwizzle swizzle = CU_TENSOR_MAP_SWIZZLE_NONE) {
    // From the driver by name, so that the program links without libcuda and starts on a machine without one.
    void* function = nullptr;
    cudaDriverEntryPointQueryResult found;
#if CUDART_VERSION >= 12050
    CHECK_CUDA_CALL(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000,
                                                     cudaEnableDefault, &found));
#else
    CHECK_CUDA_CALL(cudaGetDriverEntryPoint("cuTensorMapEncodeTiled", &function, cudaEnableDefault, &found));
#endif
    const auto encode = reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(function);
    cuuint64_t lengths[RANK], pitches[RANK];  // pitches[i]: bytes from one to the next along axis i + 1
    cuuint32_t box_lengths[RANK], element_strides[RANK];
    for (int i = 0; i < RANK; ++i) {
        lengths[i] = static_cast<cuuint64_t>(sides[i]);
        pitches[i] = lengths[i] * (i > 0 ? pitches[i - 1] : sizeof(T));
        box_lengths[i] = static_cast<cuuint32_t>(box[i]);
        element_strides[i] = 1;
    }
    CUtensorMap map;
    const CUresult result = encode(
        &map, sizeof(T) == 4 ? CU_TENSOR_MAP_DATA_TYPE_FLOAT32 : CU_TENSOR_MAP_DATA_TYPE_FLOAT64, RANK,
        const_cast<T*>(array), lengths, pitches, box_lengths, element_strides, CU_TENSOR_MAP_INTERLEAVE_NONE,
        swizzle, CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    if (result != CUDA_SUCCESS)
        throw std::runtime_error("cuTensorMapEncodeTiled: error " + std::to_string(result));
    return map;
}

__device__ inline uint32_t shared_address(const void* pointer) {
    return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

/// What this thread wrote to shared memory before comes before what the copy engine reads or writes there after.
__device__ inline void before_the_copy_engine() {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/// Bytes that are to arrive in shared memory, round after round: in each, one thread says how many, and all may wait.
class Arrivals {
    uint64_t barrier;

 public:
    /// By one thread, once; then __syncthreads(), since nobody may wait at a barrier that is not yet there.
    __device__ void begin() {
        asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(shared_address(&barrier)) : "memory");
        before_the_copy_engine();
    }
    __device__ void expect(int bytes) {
        asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(shared_address(&barrier)),
                     "r"(bytes)
                     : "memory");
    }
    /// Waits until the bytes of a round are there. `odd`: 0 for the first round, 1 for the second, and so on by turns.
    __device__ void wait(int odd = 0) {
        uint32_t arrived = 0;
        while (!arrived)
            asm volatile(
                "{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                : "=r"(arrived)
                : "r"(shared_address(&barrier)), "r"(odd)
                : "memory");
    }

    /// By one thread: starts the copy of the box whose first element is (x, y) or (x, y, z), and counts its bytes here. `to`
    /// starts at a multiple of 128 bytes.
    __device__ void fetch(void* to, const CUtensorMap& map, int x, int y) {
        asm volatile(
            "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, "
            "%3}], [%4];" ::"r"(shared_address(to)),
            "l"(&map), "r"(x), "r"(y), "r"(shared_address(&barrier))
            : "memory");
    }
    __device__ void fetch(void* to, const CUtensorMap& map, int x, int y, int z) {
        asm volatile(
            "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, "
            "%4}], [%5];" ::"r"(shared_address(to)),
            "l"(&map), "r"(x), "r"(y), "r"(z), "r"(shared_address(&barrier))
            : "memory");
    }
};
