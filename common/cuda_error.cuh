// cuda_error.cuh: no CUDA call goes unchecked.
#pragma once
#include <cuda_runtime.h>

#include <stdexcept>

/// What every program returns. 77 is the code that CTest and automake read as "skipped".
enum ExitCode { EXIT_RIGHT = 0, EXIT_WRONG = 1, EXIT_USAGE = 2, EXIT_NOTHING_RAN = 77 };

/// EXIT_NOTHING_RAN where the error says that this machine cannot run the program at all (no driver, no
/// device, a device that is busy or too old for the build, out of memory), EXIT_WRONG for every other error.
int exit_code_of(cudaError_t error);

/// One line of advice for an error that has a usual cause, or "".
const char* hint_for(cudaError_t error);

/// A call of the CUDA runtime that failed. what() is "file:line: call: NAME: text", then the hint on a line of its own.
/// Where nobody catches it, Program::run ends the program with exit_code_of(code).
struct CudaError : std::runtime_error {
    CudaError(cudaError_t code, const char* call, const char* file, int line);
    cudaError_t code;
};

/// Runs a call of the CUDA runtime; if it fails, throws CudaError, which says where and why.
#define CHECK_CUDA_CALL(call)                                                                        \
    do {                                                                                             \
        const cudaError_t error_of_call = (call);                                                    \
        if (error_of_call != cudaSuccess) throw CudaError(error_of_call, #call, __FILE__, __LINE__); \
    } while (0)

/// After a launch: a launch that was refused (block too large, too much shared memory) is reported here. What
/// goes wrong while the kernel runs comes back from the next call that waits for it.
#define CHECK_KERNEL() CHECK_CUDA_CALL(cudaGetLastError())
