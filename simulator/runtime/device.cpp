// The device that the simulator pretends to be, and what happens when the program ends.
#include <signal.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>

#include "runtime/runtime.hpp"

namespace ladder {
namespace {
using D = DeviceLimits;

int device_count() {
    static const int count = [] {
        const char* value = std::getenv("LADDER_SIMULATOR_DEVICES");
        return value ? std::clamp(std::atoi(value), 1, 16) : 1;
    }();
    return count;
}
bool exists(int device) {
    return device >= 0 && device < device_count();
}
thread_local int current = 0;
std::set<std::pair<int, int>>& peers() {
    static auto* enabled = new std::set<std::pair<int, int>>;
    return *enabled;
}

int attribute_of(cudaDeviceAttr a) {
    static const std::map<cudaDeviceAttr, int> values = {
        {cudaDevAttrMaxThreadsPerBlock, D::THREADS_PER_BLOCK},
        {cudaDevAttrMaxBlockDimX, D::THREADS_PER_BLOCK},
        {cudaDevAttrMaxBlockDimY, D::THREADS_PER_BLOCK},
        {cudaDevAttrMaxBlockDimZ, D::BLOCK_Z},
        {cudaDevAttrMaxGridDimX, D::GRID_X},
        {cudaDevAttrMaxGridDimY, D::GRID_YZ},
        {cudaDevAttrMaxGridDimZ, D::GRID_YZ},
        {cudaDevAttrMaxSharedMemoryPerBlock, D::SHARED},
        {cudaDevAttrMaxSharedMemoryPerBlockOptin, D::SHARED_OPTIN},
        {cudaDevAttrMaxSharedMemoryPerMultiprocessor, D::SHARED_PER_MULTIPROCESSOR},
        {cudaDevAttrReservedSharedMemoryPerBlock, D::SHARED_RESERVED},
        {cudaDevAttrTotalConstantMemory, D::CONSTANT},
        {cudaDevAttrWarpSize, LANES},
        {cudaDevAttrMaxRegistersPerBlock, D::REGISTERS},
        {cudaDevAttrMaxRegistersPerMultiprocessor, D::REGISTERS},
        {cudaDevAttrMultiProcessorCount, MULTIPROCESSORS},
        {cudaDevAttrMaxThreadsPerMultiProcessor, D::THREADS_PER_MULTIPROCESSOR},
        {cudaDevAttrMaxBlocksPerMultiprocessor, D::BLOCKS_PER_MULTIPROCESSOR},
        {cudaDevAttrL2CacheSize, D::L2},
        {cudaDevAttrComputeCapabilityMajor, 9},
        {cudaDevAttrMaxPitch, 2147483647},
        {cudaDevAttrTextureAlignment, 512},
        {cudaDevAttrAsyncEngineCount, 3},
        {cudaDevAttrConcurrentKernels, 1},
        {cudaDevAttrCanMapHostMemory, 1},
        {cudaDevAttrUnifiedAddressing, 1},
        {cudaDevAttrStreamPrioritiesSupported, 1},
        {cudaDevAttrManagedMemory, 1},
        {cudaDevAttrConcurrentManagedAccess, 1},
        {cudaDevAttrComputePreemptionSupported, 1},
        {cudaDevAttrCooperativeLaunch, 1},
        {cudaDevAttrHostRegisterSupported, 1},
        {cudaDevAttrMemoryPoolsSupported, 1},
        {cudaDevAttrClusterLaunch, 1}};
    auto it = values.find(a);
    return it == values.end() ? 0 : it->second;
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
cudaError_t fill_properties(void* to, int device) {
    if (!exists(device)) return remember(cudaErrorInvalidDevice);
    Properties<Twelve> p;
    static_assert(sizeof p == (Twelve ? 1032 : 1008));
    std::memset(&p, 0, sizeof p);
    std::strcpy(p.name, "CUDA Ladder simulator");
    p.total_memory = Memory::TOTAL;
    p.shared_per_block = D::SHARED;
    p.registers_per_block = p.registers_per_multiprocessor = D::REGISTERS;
    p.warp_size = LANES;
    p.memory_pitch = 2147483647;
    p.max_threads_per_block = p.max_threads_dim[0] = p.max_threads_dim[1] = D::THREADS_PER_BLOCK;
    p.max_threads_dim[2] = D::BLOCK_Z;
    p.max_grid[0] = D::GRID_X;
    p.max_grid[1] = p.max_grid[2] = D::GRID_YZ;
    p.constant_memory = D::CONSTANT;
    p.major = 9;
    p.texture_alignment = p.surface_alignment = 512;
    p.texture_pitch_alignment = 32;
    p.multiprocessors = MULTIPROCESSORS;
    p.async_engines = 3;
    p.l2 = D::L2;
    p.max_threads_per_multiprocessor = D::THREADS_PER_MULTIPROCESSOR;
    p.shared_per_multiprocessor = D::SHARED_PER_MULTIPROCESSOR;
    p.shared_per_block_optin = D::SHARED_OPTIN;
    p.blocks_per_multiprocessor = D::BLOCKS_PER_MULTIPROCESSOR;
    p.reserved_shared = D::SHARED_RESERVED;
    p.can_map_host = p.concurrent_kernels = p.unified_addressing = p.stream_priorities = p.global_l1 = 1;
    p.local_l1 = p.managed = p.concurrent_managed = p.preemption = p.host_pointer_for_registered = 1;
    p.cooperative = p.host_register = p.memory_pools = p.cluster_launch = 1;
    std::memcpy(to, &p, sizeof p);
    return cudaSuccess;
}

bool switched(const char* name, bool normally) {
    const char* value = std::getenv(name);
    return value && *value ? *value != '0' : normally;
}

/// A program that found fault must not end well.
void at_end(int status, void*) {
    const bool sound = status == 0 && fault_count() == 0;
    if (status == 0) report_ignored_errors();
    if (sound && switched("LADDER_SIMULATOR_LEAKS", true)) {
        const char* value = std::getenv("LADDER_SIMULATOR_LEAKS");
        const bool all = value && !std::strcmp(value, "all");
        for (const Region* region : memory().leaks(all))
            report_host("exit of the program", {"leak", "The memory was never freed.", name_of(*region)});
        for (const std::string& handles : all ? handle_leaks() : std::vector<std::string>())
            report_host("exit of the program", {"leak", "They were never destroyed.", handles});
    }
    if (switched("LADDER_SIMULATOR_REPORT", false)) print_profiles();
    print_fault_summary();
    std::fflush(nullptr);
    if (fault_count() && status == 0) _Exit(1);
}

struct sigaction earlier_handler;

/// The host touched an address of the device: told as a fault, after which there is nothing that could go on.
void on_bad_access(int, siginfo_t* info, void*) {
    const uint64_t address = reinterpret_cast<uint64_t>(info->si_addr);
    if (!memory().on_device(address)) {
        sigaction(SIGSEGV, &earlier_handler, nullptr);  // and the access is made again
        return;
    }
    const std::string freed = memory().freed(address);
    report_host("none: the host's own code",
                {"device pointer on the host",
                 "The host reads or writes memory of the device: that takes a cudaMemcpy.",
                 freed.empty() ? memory().describe(address) : freed});
    print_fault_summary();
    std::fflush(nullptr);
    _Exit(1);
}

[[maybe_unused]] const bool set_up = [] {
    read_suppressions();
    struct sigaction handler = {};
    handler.sa_sigaction = on_bad_access;
    handler.sa_flags = SA_SIGINFO | SA_NODEFER;
    sigaction(SIGSEGV, &handler, &earlier_handler);
    races_on = switched("LADDER_SIMULATOR_RACES", true);
    return on_exit(at_end, nullptr) == 0;
}();
}  // namespace

int current_device() {
    return current;
}
bool on_current_device(cudaStream_t stream) {
    CUstream_st& s = stream_of(stream);
    return !stream || stream == cudaStreamLegacy || stream == cudaStreamPerThread || s.device == current;
}

std::recursive_mutex& runtime_mutex() {
    static auto* mutex = new std::recursive_mutex;
    return *mutex;
}
}  // namespace ladder

using namespace ladder;
extern "C" {
cudaError_t cudaGetDeviceCount(int* n) {
    return give(n, device_count());
}
cudaError_t cudaGetDevice(int* device) {
    return give(device, current);
}
cudaError_t cudaChooseDevice(int* device, const cudaDeviceProp*) {
    return give(device, 0);
}
cudaError_t cudaSetDevice(int device) {
    if (!exists(device)) return remember(cudaErrorInvalidDevice);
    current = device;
    return cudaSuccess;
}
cudaError_t cudaDeviceReset() {
    Entry entry;
    host_waits_for_all();
    return cudaSuccess;
}
cudaError_t ladder_properties_13(void* p, int device) {
    return fill_properties<false>(p, device);
}
cudaError_t ladder_properties_12(void* p, int device) {
    return fill_properties<true>(p, device);
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
    return exists(device) ? give(value, attribute_of(attribute)) : remember(cudaErrorInvalidDevice);
}
cudaError_t cudaRuntimeGetVersion(int* version) {
    return give(version, CUDART_VERSION);
}
cudaError_t cudaDriverGetVersion(int* version) {
    return give(version, CUDART_VERSION);
}
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
    if (least) *least = 0;
    if (greatest) *greatest = -5;
    return cudaSuccess;
}
cudaError_t cudaDeviceGetLimit(size_t* value, cudaLimit limit) {
    return give(value, limit == cudaLimitStackSize        ? 1024
                       : limit == cudaLimitPrintfFifoSize ? 1 << 20
                                                          : 8 << 20);
}
cudaError_t cudaDeviceGetPCIBusId(char* id, int length, int) {
    std::snprintf(id, length, "0000:00:00.0");
    return cudaSuccess;
}
cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
    if (!exists(device) || !exists(peer)) return remember(cudaErrorInvalidDevice);
    return give(can, device != peer);
}
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned) {
    Entry entry;
    if (!exists(peer) || peer == current) return remember(cudaErrorInvalidDevice);
    return peers().insert({current, peer}).second ? cudaSuccess : remember(cudaErrorPeerAccessAlreadyEnabled);
}
cudaError_t cudaDeviceDisablePeerAccess(int peer) {
    Entry entry;
    return peers().erase({current, peer}) ? cudaSuccess : remember(cudaErrorPeerAccessNotEnabled);
}
cudaError_t cudaDeviceGetSharedMemConfig(cudaSharedMemConfig* config) {
    return give(config, cudaSharedMemBankSizeFourByte);
}
cudaError_t cudaGetDeviceFlags(unsigned* flags) {
    return give(flags, 0);
}
cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function, unsigned,
                                             unsigned long long, cudaDriverEntryPointQueryResult* status) {
    bool known = std::strcmp(symbol, "cuTensorMapEncodeTiled") == 0;
    *function = known ? tensor_map_encoder() : nullptr;
    if (status) *status = known ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
    return known || status ? cudaSuccess : remember(cudaErrorSymbolNotFound);
}
cudaError_t cudaGetDriverEntryPoint(const char* symbol, void** function, unsigned long long flags,
                                    cudaDriverEntryPointQueryResult* status) {
    return cudaGetDriverEntryPointByVersion(symbol, function, 0, flags, status);
}
}
