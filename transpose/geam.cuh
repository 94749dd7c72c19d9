// geam.cuh: the baseline of this family, cuBLAS's matrix transpose.
#pragma once
#include "transpose.cuh"

#ifdef LADDER_HAS_CUBLAS
#include <cublas_v2.h>
#endif

/// Adds cublasSgeam / cublasDgeam with alpha = 1 and beta = 0, or the reason why it is not there.
inline void add_geam(Transpose& ladder) {
    const char* note = "cuBLAS's geam: the baseline";
#ifdef LADDER_HAS_CUBLAS
    const auto handle = [] {
        static cublasHandle_t made = [] {
            cublasHandle_t h = nullptr;
            if (cublasCreate(&h) != CUBLAS_STATUS_SUCCESS) throw std::runtime_error("cublasCreate failed");
            return h;
        }();
        return made;
    };
    const auto check = [](cublasStatus_t status) {
        if (status != CUBLAS_STATUS_SUCCESS) throw std::runtime_error(cublasGetStatusString(status));
    };
    // cuBLAS counts by columns: our row-major rows x cols A is its column-major cols x rows matrix.
    ladder
        .baseline("geam", note,
                  [=](auto t) {
                      using T = std::remove_reference_t<decltype(*t.out)>;
                      const T one = 1, zero = 0;
                      const auto [m, n] = t.extent;
                      if constexpr (std::is_same_v<T, float>)
                          check(cublasSgeam(handle(), CUBLAS_OP_T, CUBLAS_OP_N, m, n, &one, t.in, n, &zero,
                                            t.out, m, t.out, m));
                      else
                          check(cublasDgeam(handle(), CUBLAS_OP_T, CUBLAS_OP_N, m, n, &one, t.in, n, &zero,
                                            t.out, m, t.out, m));
                  })
        .unless([](const DeviceInfo&, const auto&) {
            return simulated() ? "a library's machine code is not simulated" : "";
        });
#else
    ladder.baseline("geam", note, [](auto) {}).unless([](const DeviceInfo&, const auto&) {
        return "built without cuBLAS";
    });
#endif
}
