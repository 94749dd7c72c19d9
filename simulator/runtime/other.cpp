// Entry points whose parameters differ between the versions of CUDA 12 and 13, and those that have nothing to
// do here. No CUDA header is included: the declarations would not agree.

#include <cstddef>

extern "C" {
int ladder_properties_12(void* properties, int device);
int ladder_properties_13(void* properties, int device);

int cudaGetDeviceProperties_v2(void* properties, int device) {
    return ladder_properties_12(properties, device);
}
int cudaGetDeviceProperties(void* properties, int device) {
    return ladder_properties_13(properties, device);
}

// A kernel's handle (cudaKernel_t) is the symbol by which the program calls it.
int cudaGetKernel(const void** kernel, const void* symbol) {
    *kernel = symbol;
    return 0;
}
int __cudaGetKernel(const void** kernel, const void* symbol) {
    return cudaGetKernel(kernel, symbol);
}
struct Dim3 {
    unsigned x, y, z;
};
int cudaLaunchKernel(const void* kernel, Dim3 grid, Dim3 block, void** arguments, size_t shared,
                     void* stream);
int __cudaLaunchKernel(const void* kernel, Dim3 grid, Dim3 block, void** arguments, size_t shared,
                       void* stream) {
    return cudaLaunchKernel(kernel, grid, block, arguments, shared, stream);
}

// Advice and bookkeeping without a meaning for a simulated device.
#define NOTHING_TO_DO(name) \
    int name() {            \
        return 0;           \
    }
NOTHING_TO_DO(__cudaRegisterHostVar)
NOTHING_TO_DO(__cudaRegisterUnifiedTable)
NOTHING_TO_DO(cudaCtxResetPersistingL2Cache)
NOTHING_TO_DO(cudaDeviceGraphMemTrim)
NOTHING_TO_DO(cudaDeviceSetCacheConfig)
NOTHING_TO_DO(cudaDeviceSetLimit)
NOTHING_TO_DO(cudaDeviceSetSharedMemConfig)
NOTHING_TO_DO(cudaFuncSetSharedMemConfig)
NOTHING_TO_DO(cudaGraphDebugDotPrint)
NOTHING_TO_DO(cudaGraphKernelNodeSetAttribute)
NOTHING_TO_DO(cudaInitDevice)
NOTHING_TO_DO(cudaMemAdvise)
NOTHING_TO_DO(cudaMemAdvise_v2)
NOTHING_TO_DO(cudaMemPoolSetAccess)
NOTHING_TO_DO(cudaMemPrefetchAsync)
NOTHING_TO_DO(cudaMemPrefetchAsync_v2)
NOTHING_TO_DO(cudaProfilerStart)
NOTHING_TO_DO(cudaProfilerStop)
NOTHING_TO_DO(cudaSetDeviceFlags)
NOTHING_TO_DO(cudaSetValidDevices)
NOTHING_TO_DO(cudaStreamAttachMemAsync)
NOTHING_TO_DO(cudaStreamCopyAttributes)
NOTHING_TO_DO(cudaStreamSetAttribute)
NOTHING_TO_DO(cudaThreadExchangeStreamCaptureMode)
}
