#include "cuda_error.cuh"

#include <string>

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

namespace {

std::string text_of(cudaError_t code, const char* call, const char* file, int line) {
    std::string text = std::string(file) + ":" + std::to_string(line) + ": " + call + ": " +
                       cudaGetErrorName(code) + ": " + cudaGetErrorString(code);
    if (*hint_for(code)) text += std::string("\n") + hint_for(code);
    return text;
}

}  // namespace

CudaError::CudaError(cudaError_t code, const char* call, const char* file, int line)
    : std::runtime_error(text_of(code, call, file, line)), code(code) {}
