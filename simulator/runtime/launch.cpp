// Kernel launches: their limits, their run, and what the runtime tells about a kernel.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <set>

#include "runtime/runtime.hpp"
#include "simulator_api.h"

namespace ladder {
namespace {
using D = DeviceLimits;

std::string not_simulated_text;
bool last_not_simulated = false;

/// The first instruction without a handler that the kernel may reach, or null.
const Instruction* find_not_simulated(const Function& f, std::set<const Function*>& seen) {
    if (!seen.insert(&f).second) return nullptr;
    if (f.not_simulated) return f.not_simulated;
    static const std::set<std::string> runtime = {"vprintf", "__assertfail", "malloc", "free"};
    for (const Instruction& in : f.code) {
        if (!in.callee) continue;
        if (!in.callee->defined && !runtime.count(in.callee->name)) return &in;
        if (in.callee->defined)
            if (const Instruction* found = find_not_simulated(*in.callee, seen)) return found;
    }
    return nullptr;
}

std::string reason_for(const Instruction& in) {
    std::string place = source_place(in), what = in.callee ? "call of " + in.callee->name : in.text;
    auto is = [&](const char* prefix) { return what.starts_with(prefix); };
    bool hopper =
        is("wgmma") || is("cp.async.bulk") || is("cp.reduce") || what.find("tensormap") != std::string::npos;
    if (is("wgmma")) what = what.substr(0, what.find('.', what.find('.') + 1));
    return say(what, ", ", place.substr(place.rfind('/') + 1),
               hopper ? ": needs an sm_90 GPU" : ": not known to the simulator");
}

/// Blocks of a kernel that fit one multiprocessor.
int occupancy(const Function& f, int threads, size_t dynamic_shared) {
    if (threads <= 0 || threads > D::THREADS_PER_BLOCK) return 0;
    int by_threads = D::THREADS_PER_MULTIPROCESSOR / ((threads + 31) / 32 * 32);
    int by_shared = D::SHARED_PER_MULTIPROCESSOR / (f.shared_bytes + dynamic_shared + D::SHARED_RESERVED);
    return std::min({by_threads, by_shared, D::BLOCKS_PER_MULTIPROCESSOR});
}
uint64_t volume(const unsigned* d) {
    return uint64_t{d[0]} * d[1] * d[2];
}
void set(unsigned* to, dim3 from) {
    to[0] = from.x;
    to[1] = from.y;
    to[2] = from.z;
}

/// The memory that a grid-wide barrier counts in; the kernel finds it through special registers.
uint64_t grid_barrier() {
    static Region* region = memory().allocate(256, RegionKind::Internal, "grid barrier");
    std::memset(region->data, 0, 256);
    return region->base;
}

void apply_attributes(const cudaLaunchConfig_t& config, Launch& l) {
    for (unsigned k = 0; k < config.numAttrs; ++k) {
        const cudaLaunchAttributeValue& value = config.attrs[k].val;
        if (config.attrs[k].id == cudaLaunchAttributeCooperative) l.cooperative = value.cooperative != 0;
        if (config.attrs[k].id != cudaLaunchAttributeClusterDimension) continue;
        set(l.cluster, dim3(value.clusterDim.x, value.clusterDim.y, value.clusterDim.z));
        l.clustered = true;
    }
}
}  // namespace

cudaError_t prepare_launch(const void* symbol, dim3 grid, dim3 block, void** arguments, size_t shared,
                           Launch& l) {
    const Function* f = find_function(symbol);
    if (!f) return cudaErrorInvalidDeviceFunction;
    l.symbol = symbol;
    l.function = f;
    l.name = f->name;
    set(l.grid, grid);
    set(l.block, block);
    l.dynamic_shared = shared;
    l.parameters.assign(f->parameter_bytes, 0);
    for (size_t k = 0; k < f->parameters.size(); ++k)
        std::memcpy(&l.parameters[f->parameters[k].offset], arguments[k], f->parameters[k].size);
    return cudaSuccess;
}

cudaError_t check_launch(Launch& l) {
    const Function& f = *l.function;
    const KernelSymbol& kernel = *find_kernel(l.symbol);
    const unsigned *g = l.grid, *c = l.cluster;
    size_t fixed = f.shared_bytes, threads = volume(l.block);
    if (!volume(g) || !threads || threads > D::THREADS_PER_BLOCK || l.block[2] > D::BLOCK_Z)
        return cudaErrorInvalidConfiguration;
    if (threads > static_cast<size_t>(f.max_threads)) return cudaErrorLaunchOutOfResources;
    if (g[0] > D::GRID_X || g[1] > D::GRID_YZ || g[2] > D::GRID_YZ || volume(g) > 0xffffffff)
        return cudaErrorInvalidConfiguration;
    if (l.dynamic_shared >
            std::max(kernel.max_dynamic_shared, D::SHARED - std::min<size_t>(D::SHARED, fixed)) ||
        (!kernel.max_dynamic_set && l.dynamic_shared + fixed > D::SHARED))
        return cudaErrorInvalidValue;
    if (f.cluster[0]) {
        std::copy_n(f.cluster, 3, l.cluster);
        l.clustered = true;
    }
    if (!volume(c) || volume(c) > 16 || g[0] % c[0] || g[1] % c[1] || g[2] % c[2])
        return cudaErrorInvalidClusterSize;
    const int each = occupancy(f, threads, l.dynamic_shared);
    if (each > 0) l.resident = D::H200_MULTIPROCESSORS * each;
    uint64_t resident = uint64_t{MULTIPROCESSORS} * each;
    if (l.cooperative && volume(g) > resident) return cudaErrorCooperativeLaunchTooLarge;
    std::set<const Function*> seen;
    const Instruction* in = find_not_simulated(f, seen);
    last_not_simulated = in != nullptr;
    if (!in) return cudaSuccess;
    not_simulated_text = reason_for(*in);
    std::fprintf(stderr, "ladder simulator: not simulated: %s\n", not_simulated_text.c_str());
    return cudaErrorNotSupported;
}

cudaError_t run_launch(Launch l, int operation) {
    Profile& profile = profiles()[l.function];
    profile.kernel = l.function;
    l.profile = &profile;
    l.grid_barrier = grid_barrier();
    l.operation = operation;
    l.ordered_before = ordered_before(operation);
    const LadderSimulatorCounts before = counts_of(profile);
    try {
        execute(l);
    } catch (const LaunchStop& stop) {
        set_sticky(static_cast<cudaError_t>(stop.error));
    }
    log_launch(readable_name(l.name), before, counts_of(profile));
    return cudaSuccess;
}

namespace {
cudaError_t launch(const void* symbol, dim3 grid, dim3 block, void** arguments, size_t shared,
                   cudaStream_t stream, bool cooperative, const cudaLaunchConfig_t* config = nullptr) {
    Entry entry;
    Launch l;
    if (cudaError_t e = prepare_launch(symbol, grid, block, arguments, shared, l))
        return remember(e, "launch of a kernel");
    l.cooperative = cooperative;
    if (config) apply_attributes(*config, l);
    if (cudaError_t e = sticky_error()) return remember(e);
    cudaError_t refused = check_launch(l);
    if (!refused && !on_current_device(stream)) refused = cudaErrorInvalidResourceHandle;
    const std::string name = readable_name(l.name);
    if (refused)
        return remember(refused, say("launch of ", name, "<<<(", grid.x, ",", grid.y, ",", grid.z, "), (",
                                     block.x, ",", block.y, ",", block.z, "), ", shared, ">>>")
                                     .c_str());
    return submit(
        stream, "kernel " + name, [l](int op) { return run_launch(l, op); }, &l);
}
/// Calls f with the kernel's function, if there is one.
template <class F>
cudaError_t with_function(const void* symbol, F f, const char* call = __builtin_FUNCTION()) {
    Entry entry;
    const Function* function = find_function(symbol);
    return remember(function ? f(*function) : cudaErrorInvalidDeviceFunction, call);
}
}  // namespace
}  // namespace ladder

using namespace ladder;
extern "C" {
const char* ladder_simulator_not_simulated() {
    return last_not_simulated ? not_simulated_text.c_str() : nullptr;
}

cudaError_t cudaLaunchKernel(const void* symbol, dim3 grid, dim3 block, void** arguments, size_t shared,
                             cudaStream_t stream) {
    return launch(symbol, grid, block, arguments, shared, stream, false);
}
cudaError_t cudaLaunchCooperativeKernel(const void* symbol, dim3 grid, dim3 block, void** arguments,
                                        size_t shared, cudaStream_t stream) {
    return launch(symbol, grid, block, arguments, shared, stream, true);
}
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* c, const void* symbol, void** arguments) {
    return launch(symbol, c->gridDim, c->blockDim, arguments, c->dynamicSmemBytes, c->stream, false, c);
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* a, const void* symbol) {
    return with_function(symbol, [&](const Function& f) {
        std::memset(a, 0, sizeof *a);
        a->sharedSizeBytes = f.shared_bytes;
        a->localSizeBytes = f.local_bytes;
        a->maxThreadsPerBlock = f.max_threads;
        a->numRegs = 32;
        a->ptxVersion = a->binaryVersion = 90;
        a->maxDynamicSharedSizeBytes = find_kernel(symbol)->max_dynamic_shared;
        a->preferredShmemCarveout = -1;
        return cudaSuccess;
    });
}
cudaError_t cudaFuncSetAttribute(const void* symbol, cudaFuncAttribute attribute, int value) {
    return with_function(symbol, [&](const Function& f) {
        if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) return cudaSuccess;
        if (value < 0 || int64_t{value} + f.shared_bytes > D::SHARED_OPTIN) return cudaErrorInvalidValue;
        find_kernel(symbol)->max_dynamic_shared = value;
        find_kernel(symbol)->max_dynamic_set = true;
        return cudaSuccess;
    });
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* symbol, int threads,
                                                          size_t shared) {
    return with_function(symbol,
                         [&](const Function& f) { return give(blocks, occupancy(f, threads, shared)); });
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* symbol,
                                                                   int threads, size_t shared, unsigned) {
    return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, symbol, threads, shared);
}
cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t* bytes, const void* symbol, int blocks, int) {
    return with_function(symbol, [&](const Function& f) {
        int each = D::SHARED_PER_MULTIPROCESSOR / std::max(blocks, 1) - D::SHARED_RESERVED;
        return give(bytes, std::max(0, std::min(each, D::SHARED_OPTIN) - f.shared_bytes));
    });
}
cudaError_t cudaOccupancyMaxActiveClusters(int* clusters, const void* symbol,
                                           const cudaLaunchConfig_t* config) {
    return with_function(symbol, [&](const Function& f) {
        Launch l;
        set(l.block, config->blockDim);
        apply_attributes(*config, l);
        uint64_t blocks = occupancy(f, volume(l.block), config->dynamicSmemBytes) * MULTIPROCESSORS;
        return give(clusters, blocks / std::max(uint64_t{1}, volume(l.cluster)));
    });
}
cudaError_t cudaOccupancyMaxPotentialClusterSize(int* size, const void*, const cudaLaunchConfig_t*) {
    return give(size, D::CLUSTER_BLOCKS);
}
cudaError_t cudaFuncGetName(const char** name, const void* symbol) {
    return with_function(symbol, [&](const Function& f) { return give(name, f.name.c_str()); });
}
cudaError_t cudaFuncSetCacheConfig(const void*, cudaFuncCache) {
    return cudaSuccess;
}
}
