// A clear message for each function of the runtime that the simulator lacks. CMake lists all that the
// toolkit's libcudart exports; what is defined elsewhere here takes the place of these weak ones. Without
// them a program would reach the real libcudart, which lies behind this library, and run against no device.
#include <cstdio>

namespace {
constexpr int NOT_SUPPORTED = 801;

int lacking(const char* name) {
    std::fprintf(
        stderr, "ladder simulator: the program calls %s, which the simulator lacks (cudaErrorNotSupported)\n",
        name);
    return NOT_SUPPORTED;
}
}  // namespace

#define LADDER_RUNTIME_FUNCTION(name)             \
    extern "C" __attribute__((weak)) int name() { \
        return lacking(#name);                    \
    }
#include "runtime_functions.inc"
