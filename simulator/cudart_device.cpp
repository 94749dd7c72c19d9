// The device that the simulator pretends to be, errors, and what happens when the program ends.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "report.h"
#include "runtime.h"

namespace ladder {
namespace {

using D = DeviceLimits;

cudaError_t last_error = cudaSuccess, sticky = cudaSuccess;

#define LADDER_ERRORS(X)                                                                                     \
    X(Success, "no error")                                                                                   \
    X(InvalidValue, "invalid argument")                                                                      \
    X(MemoryAllocation, "out of memory")                                                                     \
    X(InitializationError, "initialization error")                                                           \
    X(InvalidConfiguration, "invalid configuration argument") X(InvalidPitchValue, "invalid pitch argument") \
        X(InvalidSymbol, "invalid device symbol") X(InvalidDevicePointer, "invalid device pointer") X(       \
            InvalidMemcpyDirection,                                                                          \
            "invalid copy direction for memcpy") X(MissingConfiguration,                                     \
                                                   "__global__ function call is not configured")             \
            X(NoDevice, "no CUDA-capable device is detected") X(                                             \
                InvalidDeviceFunction, "invalid device function") X(InvalidDevice, "invalid device ordinal") \
                X(NoKernelImageForDevice, "no kernel image is available for execution on the device") X(     \
                    InvalidPtx, "a PTX JIT compilation failed") X(InvalidResourceHandle,                     \
                                                                  "invalid resource handle")                 \
                    X(IllegalState, "the operation cannot be performed in the present state") X(             \
                        NotReady, "device not ready")                                                        \
                        X(IllegalAddress, "an illegal memory access was encountered") X(                     \
                            LaunchOutOfResources, "too many resources requested for launch")                 \
                            X(LaunchTimeout, "the launch timed out and was terminated") X(                   \
                                Assert, "device-side assert triggered") X(PeerAccessAlreadyEnabled,          \
                                                                          "peer access is already enabled")  \
                                X(PeerAccessNotEnabled, "peer access has not been enabled") X(               \
                                    HostMemoryAlreadyRegistered,                                             \
                                    "part or all of the requested memory range is already mapped")           \
                                    X(HostMemoryNotRegistered,                                               \
                                      "pointer does not correspond to a registered memory region")           \
                                        X(IllegalInstruction, "an illegal instruction was encountered")      \
                                            X(MisalignedAddress, "misaligned address") X(                    \
                                                InvalidAddressSpace,                                         \
                                                "operation not supported on global/shared address space")    \
                                                X(InvalidPc, "invalid program counter")                      \
                                                    X(LaunchFailure, "unspecified launch failure") X(        \
                                                        CooperativeLaunchTooLarge,                           \
                                                        "too many blocks in cooperative launch")             \
                                                        X(NotPermitted, "operation not permitted") X(        \
                                                            NotSupported, "operation not supported")         \
                                                            X(InvalidClusterSize, "invalid cluster size") X( \
                                                                StreamCaptureUnsupported,                    \
                                                                "operation not permitted when stream is "    \
                                                                "capturing") X(StreamCaptureInvalidated,     \
                                                                               "operation failed due to a "  \
                                                                               "previous error during "      \
                                                                               "capture")                    \
                                                                X(StreamCaptureUnjoined,                     \
                                                                  "capturing stream has unjoined work")      \
                                                                    X(GraphExecUpdateFailure,                \
                                                                      "the graph update was not performed "  \
                                                                      "because it included changes which "   \
                                                                      "violated constraints specific to "    \
                                                                      "instantiated graph update")           \
                                                                        X(SymbolNotFound,                    \
                                                                          "named symbol not found")          \
                                                                            X(Unknown, "unknown error")

struct ErrorText {
    cudaError_t error;
    const char *name, *text;
};
const ErrorText kErrors[] = {
#define LADDER_ERROR_ROW(name, text) {cudaError##name, "cudaError" #name, text},
#define cudaErrorSuccess cudaSuccess
    LADDER_ERRORS(LADDER_ERROR_ROW)};
const ErrorText* find_error(cudaError_t e) {
    for (const ErrorText& row : kErrors)
        if (row.error == e) return &row;
    return nullptr;
}

// The layouts of cudaDeviceProp in CUDA 12 (cudaGetDeviceProperties_v2) and CUDA 13
// (cudaGetDeviceProperties): they differ by some fields, so both are spelled here, independent of the headers
// that this is built with.
template <bool Twelve, int Count>
struct OnlyTwelve {
    int value[Count];
};
template <int Count>
struct OnlyTwelve<false, Count> {};
template <bool Twelve>
struct Properties {
    char name[256];
    char uuid[16], luid[8];
    unsigned luid_mask;
    size_t total_memory, shared_per_block;
    int registers_per_block, warp_size;
    size_t memory_pitch;
    int max_threads_per_block, max_threads_dim[3], max_grid[3];
    [[no_unique_address]] OnlyTwelve<Twelve, 1> clock_rate;
    size_t constant_memory;
    int major, minor;
    size_t texture_alignment, texture_pitch_alignment;
    [[no_unique_address]] OnlyTwelve<Twelve, 1> device_overlap;
    int multiprocessors;
    [[no_unique_address]] OnlyTwelve<Twelve, 1> kernel_timeout;
    int integrated, can_map_host;
    [[no_unique_address]] OnlyTwelve<Twelve, 2> compute_mode_and_linear_texture;
    int textures[39];
    size_t surface_alignment;
    int concurrent_kernels, ecc, pci_bus, pci_device, pci_domain, tcc, async_engines, unified_addressing;
    [[no_unique_address]] OnlyTwelve<Twelve, 1> memory_clock_rate;
    int memory_bus, l2, persisting_l2, max_threads_per_multiprocessor, stream_priorities, global_l1, local_l1;
    size_t shared_per_multiprocessor;
    int registers_per_multiprocessor, managed, multi_gpu_board, multi_gpu_group, native_host_atomics;
    [[no_unique_address]] OnlyTwelve<Twelve, 1> double_ratio;
    int pageable, concurrent_managed, preemption, host_pointer_for_registered, cooperative;
    [[no_unique_address]] OnlyTwelve<Twelve, 1> cooperative_multi_device;
    size_t shared_per_block_optin;
    int host_page_tables, direct_managed, blocks_per_multiprocessor, access_window;
    size_t reserved_shared;
    int host_register, sparse, host_register_read_only, timeline, memory_pools, rdma;
    unsigned rdma_flush;
    int rdma_ordering;
    unsigned pool_handles;
    int deferred_mapping, ipc_events, cluster_launch, function_pointers;
    int rest[63];
};

template <bool Twelve>
void fill_properties(void* to) {
    Properties<Twelve> p;
    std::memset(&p, 0, sizeof p);
    std::strcpy(p.name, "CUDA Ladder simulator");
    p.total_memory = Memory::kTotal;
    p.shared_per_block = D::kShared;
    p.registers_per_block = p.registers_per_multiprocessor = D::kRegisters;
    p.warp_size = kLanes;
    p.memory_pitch = 2147483647;
    p.max_threads_per_block = p.max_threads_dim[0] = p.max_threads_dim[1] = D::kThreadsPerBlock;
    p.max_threads_dim[2] = D::kBlockZ;
    p.max_grid[0] = D::kGridX;
    p.max_grid[1] = p.max_grid[2] = D::kGridYZ;
    p.constant_memory = D::kConstant;
    p.major = 9;
    p.texture_alignment = p.surface_alignment = 512;
    p.texture_pitch_alignment = 32;
    p.multiprocessors = D::kMultiprocessors;
    p.can_map_host = p.concurrent_kernels = p.unified_addressing = p.stream_priorities = p.global_l1 =
        p.local_l1 = 1;
    p.async_engines = 3;
    p.l2 = static_cast<int>(D::kL2);
    p.max_threads_per_multiprocessor = D::kThreadsPerMultiprocessor;
    p.shared_per_multiprocessor = D::kSharedPerMultiprocessor;
    p.managed = p.concurrent_managed = p.preemption = p.host_pointer_for_registered = p.cooperative = 1;
    p.shared_per_block_optin = D::kSharedOptin;
    p.blocks_per_multiprocessor = D::kBlocksPerMultiprocessor;
    p.reserved_shared = D::kSharedReserved;
    p.host_register = p.memory_pools = p.cluster_launch = 1;
    static_assert(sizeof p == (Twelve ? 1032 : 1008));
    std::memcpy(to, &p, sizeof p);
}

int attribute_of(cudaDeviceAttr a) {
    switch (a) {
        case cudaDevAttrMaxThreadsPerBlock:
        case cudaDevAttrMaxBlockDimX:
        case cudaDevAttrMaxBlockDimY: return D::kThreadsPerBlock;
        case cudaDevAttrMaxBlockDimZ: return D::kBlockZ;
        case cudaDevAttrMaxGridDimX: return D::kGridX;
        case cudaDevAttrMaxGridDimY:
        case cudaDevAttrMaxGridDimZ: return D::kGridYZ;
        case cudaDevAttrMaxSharedMemoryPerBlock: return static_cast<int>(D::kShared);
        case cudaDevAttrMaxSharedMemoryPerBlockOptin: return static_cast<int>(D::kSharedOptin);
        case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
            return static_cast<int>(D::kSharedPerMultiprocessor);
        case cudaDevAttrReservedSharedMemoryPerBlock: return static_cast<int>(D::kSharedReserved);
        case cudaDevAttrTotalConstantMemory: return static_cast<int>(D::kConstant);
        case cudaDevAttrWarpSize: return kLanes;
        case cudaDevAttrMaxRegistersPerBlock:
        case cudaDevAttrMaxRegistersPerMultiprocessor: return D::kRegisters;
        case cudaDevAttrMultiProcessorCount: return D::kMultiprocessors;
        case cudaDevAttrMaxThreadsPerMultiProcessor: return D::kThreadsPerMultiprocessor;
        case cudaDevAttrMaxBlocksPerMultiprocessor: return D::kBlocksPerMultiprocessor;
        case cudaDevAttrL2CacheSize: return static_cast<int>(D::kL2);
        case cudaDevAttrComputeCapabilityMajor: return 9;
        case cudaDevAttrMaxPitch: return 2147483647;
        case cudaDevAttrTextureAlignment: return 512;
        case cudaDevAttrAsyncEngineCount: return 3;
        case cudaDevAttrConcurrentKernels:
        case cudaDevAttrCanMapHostMemory:
        case cudaDevAttrUnifiedAddressing:
        case cudaDevAttrStreamPrioritiesSupported:
        case cudaDevAttrManagedMemory:
        case cudaDevAttrConcurrentManagedAccess:
        case cudaDevAttrComputePreemptionSupported:
        case cudaDevAttrCooperativeLaunch:
        case cudaDevAttrHostRegisterSupported:
        case cudaDevAttrMemoryPoolsSupported:
        case cudaDevAttrClusterLaunch: return 1;
        default: return 0;
    }
}

cudaError_t encode_nothing() { return cudaSuccess; }

cudaError_t driver_entry(const char* symbol, void** function, cudaDriverEntryPointQueryResult* status) {
    bool known = std::strcmp(symbol, "cuTensorMapEncodeTiled") == 0;
    *function = known ? reinterpret_cast<void*>(encode_nothing) : nullptr;
    if (status) *status = known ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
    return known || status ? cudaSuccess : remember(cudaErrorSymbolNotFound);
}

bool switched(const char* name, bool normally) {
    const char* value = std::getenv(name);
    return value && *value ? *value != '0' : normally;
}

void report_leaks() {
    for (const Region* region : memory().device_leaks())
        report_host("exit of the program", {"leak", "The memory was never freed.", name_of(*region)});
}

/// A program that found fault must not end well, whatever it returned itself.
void at_end(int status, void*) {
    if (status == 0 && fault_count() == 0 && switched("LADDER_SIMULATOR_LEAKS", true)) report_leaks();
    if (switched("LADDER_SIMULATOR_REPORT", false)) print_profiles();
    print_fault_summary();
    std::fflush(nullptr);
    if (fault_count() && status == 0) _Exit(1);
}

struct Setup {
    Setup() {
        races_on = switched("LADDER_SIMULATOR_RACES", true);
        on_exit(at_end, nullptr);
    }
} setup;

}  // namespace

std::recursive_mutex& runtime_mutex() {
    static auto* mutex = new std::recursive_mutex;
    return *mutex;
}
cudaError_t remember(cudaError_t error) {
    if (error != cudaSuccess && error != cudaErrorNotReady) last_error = error;
    return error;
}
cudaError_t sticky_error() { return sticky; }
void set_sticky(cudaError_t error) {
    if (sticky == cudaSuccess) sticky = error;
}

}  // namespace ladder

using namespace ladder;

extern "C" {
cudaError_t cudaGetLastError() {
    Entry entry;
    cudaError_t e = sticky ? sticky : last_error;
    last_error = cudaSuccess;
    return e;
}
cudaError_t cudaPeekAtLastError() {
    Entry entry;
    return sticky ? sticky : last_error;
}
const char* cudaGetErrorString(cudaError_t e) {
    const ErrorText* row = find_error(e);
    return row ? row->text : "unrecognized error code";
}
const char* cudaGetErrorName(cudaError_t e) {
    const ErrorText* row = find_error(e);
    return row ? (e == cudaSuccess ? "cudaSuccess" : row->name) : "unrecognized error code";
}

cudaError_t cudaGetDeviceCount(int* n) {
    *n = 1;
    return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
    *device = 0;
    return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) { return device == 0 ? cudaSuccess : remember(cudaErrorInvalidDevice); }
cudaError_t cudaDeviceReset() {
    Entry entry;
    host_waits_for_all();
    return cudaSuccess;
}
cudaError_t ladder_properties_13(void* p, int device) {
    if (device != 0) return remember(cudaErrorInvalidDevice);
    fill_properties<false>(p);
    return cudaSuccess;
}
cudaError_t ladder_properties_12(void* p, int device) {
    if (device != 0) return remember(cudaErrorInvalidDevice);
    fill_properties<true>(p);
    return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
    if (device != 0) return remember(cudaErrorInvalidDevice);
    *value = attribute_of(attribute);
    return cudaSuccess;
}
cudaError_t cudaChooseDevice(int* device, const cudaDeviceProp*) { return cudaGetDevice(device); }
cudaError_t cudaRuntimeGetVersion(int* version) {
    *version = CUDART_VERSION;
    return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* version) {
    *version = CUDART_VERSION;
    return cudaSuccess;
}
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
    if (least) *least = 0;
    if (greatest) *greatest = -5;
    return cudaSuccess;
}
cudaError_t cudaDeviceGetLimit(size_t* value, cudaLimit limit) {
    *value = limit == cudaLimitStackSize ? 1024 : limit == cudaLimitPrintfFifoSize ? 1 << 20 : 8 << 20;
    return cudaSuccess;
}
cudaError_t cudaDeviceGetPCIBusId(char* id, int length, int) {
    std::snprintf(id, static_cast<size_t>(length), "0000:00:00.0");
    return cudaSuccess;
}
cudaError_t cudaDeviceCanAccessPeer(int* can, int, int) {
    *can = 0;
    return cudaSuccess;
}
cudaError_t cudaDeviceEnablePeerAccess(int, unsigned) { return remember(cudaErrorInvalidDevice); }
cudaError_t cudaDeviceDisablePeerAccess(int) { return remember(cudaErrorInvalidDevice); }
cudaError_t cudaGetDeviceFlags(unsigned* flags) {
    *flags = 0;
    return cudaSuccess;
}
cudaError_t cudaGetDriverEntryPoint(const char* symbol, void** function, unsigned long long,
                                    cudaDriverEntryPointQueryResult* status) {
    return driver_entry(symbol, function, status);
}
cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function, unsigned,
                                             unsigned long long, cudaDriverEntryPointQueryResult* status) {
    return driver_entry(symbol, function, status);
}
}
