// geam.cuh: the peer of this family, cuBLAS's matrix transpose.
#pragma once
#include "transpose.cuh"

#ifdef LADDER_HAS_CUBLAS
#include <cublas_v2.h>

#endif

/// Adds cublasSgeam / cublasDgeam with alpha = 1 and beta = 0, or the reason why it is not there.
inline void add_geam(Transpose& ladder) {
    const char* note = "cuBLAS's geam: the peer";
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
    ladder.peer(
        "geam", note,
        [=](const float* in, float* out, Extent e) {
            const float one = 1, zero = 0;
            const int m = e.rows, n = e.cols;
            check(cublasSgeam(handle(), CUBLAS_OP_T, CUBLAS_OP_N, m, n, &one, in, n, &zero, out, m, out, m));
        },
        [=](const double* in, double* out, Extent e) {
            const double one = 1, zero = 0;
            const int m = e.rows, n = e.cols;
            check(cublasDgeam(handle(), CUBLAS_OP_T, CUBLAS_OP_N, m, n, &one, in, n, &zero, out, m, out, m));
        },
        [](const DeviceInfo&, Extent, int) -> std::string {
            if (simulated()) return "a library's machine code is not simulated";
            return "";
        });
#else
    ladder.peer("geam", note, {}, {}, [](const DeviceInfo&, Extent, int) { return "built without cuBLAS"; });
#endif
}
