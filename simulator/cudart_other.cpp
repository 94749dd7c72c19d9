// Entry points whose parameters differ between CUDA 12 and 13, those that have nothing to do here, and a
// clear message for each that the simulator lacks. No CUDA header is included: the declarations would not
// agree.
#include <cstdio>

extern "C" {
int ladder_properties_12(void* properties, int device);
int ladder_properties_13(void* properties, int device);

int cudaGetDeviceProperties_v2(void* properties, int device) {
    return ladder_properties_12(properties, device);
}
int cudaGetDeviceProperties(void* properties, int device) { return ladder_properties_13(properties, device); }
}

namespace {
constexpr int kNotSupported = 801;

int lacking(const char* name) {
    std::fprintf(
        stderr, "ladder simulator: the program calls %s, which the simulator lacks (cudaErrorNotSupported)\n",
        name);
    return kNotSupported;
}
}  // namespace

// Advice and bookkeeping without a meaning for a simulated device.
#define LADDER_NOTHING_TO_DO(name) \
    extern "C" int name() { return 0; }
// The real libcudart still lies behind this library; without these, its functions would run against no
// device.
#define LADDER_LACKING(name) \
    extern "C" __attribute__((weak)) int name() { return lacking(#name); }

#include "cudart_other.inc"
