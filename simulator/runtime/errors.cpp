// Errors: their names, the last one, and the one that a fault has left for good.
#include "runtime/runtime.hpp"

namespace ladder {
namespace {
cudaError_t last_error = cudaSuccess, sticky = cudaSuccess;

/// Errors that the program has not looked at yet, by call.
std::map<std::string, cudaError_t>& ignored() {
    static auto* all = new std::map<std::string, cudaError_t>;
    return *all;
}
/// A program may expect these and go on without a word: an allocation that is tried, access that is
/// there already.
bool expected(cudaError_t error) {
    return error == cudaErrorMemoryAllocation || error == cudaErrorPeerAccessAlreadyEnabled ||
           error == cudaErrorPeerAccessNotEnabled || error == cudaErrorHostMemoryAlreadyRegistered ||
           error == cudaErrorHostMemoryNotRegistered;
}

struct ErrorText {
    cudaError_t error;
    const char *name, *text;
};
// clang-format off
#define ROW(name, text) {name, #name, text}
// clang-format on
const ErrorText ERRORS[] = {
    ROW(cudaSuccess, "no error"),
    ROW(cudaErrorInvalidValue, "invalid argument"),
    ROW(cudaErrorMemoryAllocation, "out of memory"),
    ROW(cudaErrorInitializationError, "initialization error"),
    ROW(cudaErrorInvalidConfiguration, "invalid configuration argument"),
    ROW(cudaErrorInvalidPitchValue, "invalid pitch argument"),
    ROW(cudaErrorInvalidSymbol, "invalid device symbol"),
    ROW(cudaErrorInvalidDevicePointer, "invalid device pointer"),
    ROW(cudaErrorInvalidMemcpyDirection, "invalid copy direction for memcpy"),
    ROW(cudaErrorMissingConfiguration, "__global__ function call is not configured"),
    ROW(cudaErrorNoDevice, "no CUDA-capable device is detected"),
    ROW(cudaErrorInvalidDeviceFunction, "invalid device function"),
    ROW(cudaErrorInvalidDevice, "invalid device ordinal"),
    ROW(cudaErrorNoKernelImageForDevice, "no kernel image is available for execution on the device"),
    ROW(cudaErrorInvalidPtx, "a PTX JIT compilation failed"),
    ROW(cudaErrorInvalidResourceHandle, "invalid resource handle"),
    ROW(cudaErrorIllegalState, "the operation cannot be performed in the present state"),
    ROW(cudaErrorNotReady, "device not ready"),
    ROW(cudaErrorIllegalAddress, "an illegal memory access was encountered"),
    ROW(cudaErrorLaunchOutOfResources, "too many resources requested for launch"),
    ROW(cudaErrorLaunchTimeout, "the launch timed out and was terminated"),
    ROW(cudaErrorAssert, "device-side assert triggered"),
    ROW(cudaErrorPeerAccessAlreadyEnabled, "peer access is already enabled"),
    ROW(cudaErrorPeerAccessNotEnabled, "peer access has not been enabled"),
    ROW(cudaErrorHostMemoryAlreadyRegistered, "part or all of the requested memory range is already mapped"),
    ROW(cudaErrorHostMemoryNotRegistered, "pointer does not correspond to a registered memory region"),
    ROW(cudaErrorIllegalInstruction, "an illegal instruction was encountered"),
    ROW(cudaErrorMisalignedAddress, "misaligned address"),
    ROW(cudaErrorInvalidAddressSpace, "operation not supported on global/shared address space"),
    ROW(cudaErrorInvalidPc, "invalid program counter"),
    ROW(cudaErrorLaunchFailure, "unspecified launch failure"),
    ROW(cudaErrorCooperativeLaunchTooLarge, "too many blocks in cooperative launch"),
    ROW(cudaErrorNotPermitted, "operation not permitted"),
    ROW(cudaErrorNotSupported, "operation not supported"),
    ROW(cudaErrorInvalidClusterSize, "invalid cluster size"),
    ROW(cudaErrorStreamCaptureUnsupported, "operation not permitted when stream is capturing"),
    ROW(cudaErrorStreamCaptureInvalidated, "operation failed due to a previous error during capture"),
    ROW(cudaErrorStreamCaptureUnjoined, "capturing stream has unjoined work"),
    ROW(cudaErrorGraphExecUpdateFailure,
        "the graph update was not performed because it included changes which violated constraints specific "
        "to instantiated graph update"),
    ROW(cudaErrorSymbolNotFound, "named symbol not found"),
    ROW(cudaErrorUnknown, "unknown error"),
};
#undef ROW
const ErrorText& find_error(cudaError_t e) {
    static const ErrorText unknown{e, "unrecognized error code", "unrecognized error code"};
    for (const ErrorText& row : ERRORS)
        if (row.error == e) return row;
    return unknown;
}
}  // namespace

cudaError_t remember(cudaError_t error, const char* call) {
    if (error == cudaSuccess || error == cudaErrorNotReady) return error;
    last_error = error;
    if (error != sticky && !expected(error)) ignored()[call] = error;
    return error;
}
void report_ignored_errors() {
    for (auto [call, error] : ignored())
        report_host(call,
                    {"error never looked at", say("It returned ", find_error(error).name, " (",
                                                  find_error(error).text, "), and the program went on.")});
}
cudaError_t sticky_error() {
    return sticky;
}
void set_sticky(cudaError_t error) {
    if (sticky == cudaSuccess) sticky = error;
}
}  // namespace ladder

using namespace ladder;
extern "C" {
cudaError_t cudaPeekAtLastError() {
    Entry entry;
    ignored().clear();
    return sticky ? sticky : last_error;
}
cudaError_t cudaGetLastError() {
    Entry entry;
    cudaError_t e = cudaPeekAtLastError();
    last_error = cudaSuccess;
    return e;
}
const char* cudaGetErrorString(cudaError_t e) {
    Entry entry;
    if (e != cudaSuccess) ignored().clear();
    return find_error(e).text;
}
const char* cudaGetErrorName(cudaError_t e) {
    Entry entry;
    if (e != cudaSuccess) ignored().clear();
    return find_error(e).name;
}
}
