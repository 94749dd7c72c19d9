// cublas.cuh: the baseline of this family, cuBLAS's gemm in the type's own precision (no TF32).
#pragma once
#include "matmul.cuh"

#ifdef LADDER_HAS_CUBLAS
#include <cublas_v2.h>

namespace cublas_baseline {

inline void check(cublasStatus_t status) {
    if (status != CUBLAS_STATUS_SUCCESS) throw std::runtime_error(cublasGetStatusString(status));
}

inline cublasHandle_t handle() {
    static cublasHandle_t made = [] {
        cublasHandle_t h = nullptr;
        check(cublasCreate(&h));
        check(cublasSetMathMode(h, CUBLAS_DEFAULT_MATH));  // floats are multiplied as floats
        return h;
    }();
    return made;
}

/// cuBLAS counts by columns: our row-major C = A B is its column-major C^T = B^T A^T. A stride of 0 is a matrix that the
/// whole batch shares.
template <typename T>
void launch(const Task<T>& t) {
    const auto gemm = [] {
        if constexpr (std::is_same_v<T, float>)
            return std::pair(cublasSgemm, cublasSgemmStridedBatched);
        else
            return std::pair(cublasDgemm, cublasDgemmStridedBatched);
    }();
    const cublasOperation_t as_is = CUBLAS_OP_N;
    const int lda = static_cast<int>(t.lda), ldb = static_cast<int>(t.ldb), ldc = static_cast<int>(t.ldc);
    if (t.batch == 1)
        check(gemm.first(handle(), as_is, as_is, t.n, t.m, t.k, &t.alpha, t.b, ldb, t.a, lda, &t.beta, t.c,
                         ldc));
    else
        check(gemm.second(handle(), as_is, as_is, t.n, t.m, t.k, &t.alpha, t.b, ldb, t.stride_b, t.a, lda,
                          t.stride_a, &t.beta, t.c, ldc, t.stride_c, t.batch));
}

}  // namespace cublas_baseline
#endif

/// Adds cublasSgemm / cublasDgemm (for a batch, its StridedBatched), or the reason why it is not there. `as` is the work
/// that it is given for a task, where that is not the task itself, and `obstacle` what else may keep it from that.
template <typename As, typename Obstacle>
void add_cublas(Matmul& ladder, const char* name, const char* note, As as, Obstacle obstacle) {
#ifdef LADDER_HAS_CUBLAS
    ladder.baseline(name, note, [=](const auto& t) { cublas_baseline::launch(as(t)); })
        .unless([=](const DeviceInfo& device, const auto& t) -> std::string {
            if (simulated()) return "a library's machine code is not simulated";
            if (std::max({t.lda, t.ldb, t.ldc}) > INT32_MAX) return "its leading dimensions have 32 bits";
            return obstacle(device, t);
        });
#else
    (void)as, (void)obstacle;
    ladder.baseline(name, note, [](const auto&) {}).unless([](const DeviceInfo&, const auto&) {
        return "built without cuBLAS";
    });
#endif
}
inline void add_cublas(Matmul& ladder, const char* note = "cuBLAS's gemm, no TF32: the baseline") {
    add_cublas(
        ladder, "cublas", note, [](const auto& t) { return t; },
        [](const DeviceInfo&, const auto&) { return ""; });
}
