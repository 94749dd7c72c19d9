#include "cuda_error.cuh"

#include <cstdio>
#include <cstdlib>

int exit_code_of(cudaError_t error) {
    switch (error) {
        case cudaErrorInsufficientDriver:  // 35: also what a machine without any driver answers
        case cudaErrorNoDevice:            // 100
        case cudaErrorDevicesUnavailable:
        case cudaErrorNoKernelImageForDevice:
        case cudaErrorUnsupportedPtxVersion:
        case cudaErrorMemoryAllocation:
            return EXIT_NOTHING_RAN;
        default:
            return EXIT_WRONG;
    }
}

const char* hint_for(cudaError_t error) {
    switch (error) {
        case cudaErrorInsufficientDriver:
            return "No NVIDIA driver, or one too old for this CUDA runtime (nvidia-smi shows the newest CUDA "
                   "that it "
                   "serves). Without a GPU: --simulate";
        case cudaErrorNoDevice:
            return "No GPU is visible (is CUDA_VISIBLE_DEVICES set? It lists indices, not a count). "
                   "Without a GPU: --simulate";
        case cudaErrorDevicesUnavailable:
            return "The GPU is busy or in exclusive mode: another process holds it.";
        case cudaErrorNoKernelImageForDevice:
            return "This build has no code for this GPU: configure with -DCMAKE_CUDA_ARCHITECTURES=<its "
                   "architecture>";
        case cudaErrorUnsupportedPtxVersion:
            return "The driver is older than the CUDA toolkit of this build.";
        case cudaErrorMemoryAllocation:
            return "Out of memory: ask for a smaller problem.";
        default:
            return "";
    }
}

void cuda_call_failed(cudaError_t error, const char* call, const char* file, int line) {
    std::fflush(stdout);
    std::fprintf(stderr, "%s:%d: %s: %s: %s\n", file, line, call, cudaGetErrorName(error),
                 cudaGetErrorString(error));
    if (*hint_for(error)) std::fprintf(stderr, "%s\n", hint_for(error));
    std::exit(exit_code_of(error));
}
