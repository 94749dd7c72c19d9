// Kernel launches: their limits, their run, and what the runtime tells about a kernel.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <set>

#include "report.h"
#include "runtime.h"
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
    std::string place = source_place(in);
    size_t slash = place.rfind('/');
    if (slash != std::string::npos) place = place.substr(slash + 1);
    std::string what = in.callee ? "call of " + in.callee->name : in.text;
    bool hopper = what.rfind("wgmma", 0) == 0 || what.rfind("cp.async.bulk", 0) == 0 ||
                  what.rfind("cp.reduce", 0) == 0 || what.find("tensormap") != std::string::npos;
    if (what.rfind("cp.async.bulk.tensor", 0) == 0) what = "cp.async.bulk.tensor";
    if (what.rfind("wgmma", 0) == 0) what = what.substr(0, what.find('.', what.find('.') + 1));
    return what + ", " + place + (hopper ? ": needs an sm_90 GPU" : ": not known to the simulator");
}

/// Blocks of a kernel that fit one multiprocessor.
int occupancy(const Function& f, int threads, size_t dynamic_shared) {
    if (threads <= 0 || threads > D::kThreadsPerBlock) return 0;
    int warps = (threads + 31) / 32, by_threads = D::kThreadsPerMultiprocessor / (warps * 32);
    size_t shared = static_cast<size_t>(f.shared_bytes) + dynamic_shared + D::kSharedReserved;
    return std::min(
        {by_threads, static_cast<int>(D::kSharedPerMultiprocessor / shared), D::kBlocksPerMultiprocessor});
}

/// The memory that a grid-wide barrier counts in; the kernel finds it through special registers.
uint64_t grid_barrier() {
    static Region* region = memory().allocate(256, RegionKind::Internal, "grid barrier");
    std::memset(region->data, 0, 256);
    return region->base;
}

cudaError_t apply_attributes(const cudaLaunchConfig_t& config, LaunchRequest& r) {
    for (unsigned k = 0; k < config.numAttrs; ++k) {
        const cudaLaunchAttribute& a = config.attrs[k];
        if (a.id == cudaLaunchAttributeCooperative) r.cooperative = a.val.cooperative != 0;
        if (a.id != cudaLaunchAttributeClusterDimension) continue;
        r.cluster = dim3(a.val.clusterDim.x, a.val.clusterDim.y, a.val.clusterDim.z);
        r.clustered = true;
    }
    return cudaSuccess;
}

}  // namespace

cudaError_t prepare_launch(const void* symbol, dim3 grid, dim3 block, void** arguments, size_t shared,
                           LaunchRequest& r) {
    r.symbol = symbol;
    r.function = find_function(symbol);
    r.grid = grid;
    r.block = block;
    r.dynamic_shared = shared;
    if (!r.function) return cudaErrorInvalidDeviceFunction;
    r.parameters.assign(static_cast<size_t>(r.function->parameter_bytes), 0);
    for (size_t k = 0; k < r.function->parameters.size(); ++k) {
        const Parameter& p = r.function->parameters[k];
        std::memcpy(&r.parameters[static_cast<size_t>(p.offset)], arguments[k], static_cast<size_t>(p.size));
    }
    return cudaSuccess;
}

cudaError_t check_launch(LaunchRequest& r) {
    const Function& f = *r.function;
    dim3 g = r.grid, b = r.block;
    if (!g.x || !g.y || !g.z || !b.x || !b.y || !b.z) return cudaErrorInvalidConfiguration;
    uint64_t threads = uint64_t{b.x} * b.y * b.z;
    if (b.x > D::kThreadsPerBlock || b.y > D::kThreadsPerBlock || b.z > D::kBlockZ ||
        threads > D::kThreadsPerBlock)
        return cudaErrorInvalidConfiguration;
    if (threads > static_cast<uint64_t>(f.max_threads)) return cudaErrorLaunchOutOfResources;
    if (g.x > static_cast<unsigned>(D::kGridX) || g.y > D::kGridYZ || g.z > D::kGridYZ)
        return cudaErrorInvalidConfiguration;
    if (uint64_t{g.x} * g.y * g.z > 0xffffffffu) return cudaErrorInvalidConfiguration;
    size_t allowed = find_kernel(r.symbol)->max_dynamic_shared;
    if (r.dynamic_shared >
        std::max(allowed, D::kShared - std::min<size_t>(D::kShared, static_cast<size_t>(f.shared_bytes))))
        return cudaErrorInvalidValue;
    if (!find_kernel(r.symbol)->max_dynamic_set &&
        r.dynamic_shared + static_cast<size_t>(f.shared_bytes) > D::kShared)
        return cudaErrorInvalidValue;
    if (f.cluster[0]) {
        r.cluster = dim3(static_cast<unsigned>(f.cluster[0]), static_cast<unsigned>(f.cluster[1]),
                         static_cast<unsigned>(f.cluster[2]));
        r.clustered = true;
    }
    dim3 c = r.cluster;
    uint64_t cluster = uint64_t{c.x} * c.y * c.z;
    if (!cluster || cluster > 16 || g.x % c.x || g.y % c.y || g.z % c.z) return cudaErrorInvalidClusterSize;
    uint64_t resident = static_cast<uint64_t>(occupancy(f, static_cast<int>(threads), r.dynamic_shared)) *
                        D::kMultiprocessors;
    if (r.cooperative && uint64_t{g.x} * g.y * g.z > resident) return cudaErrorCooperativeLaunchTooLarge;
    std::set<const Function*> seen;
    last_not_simulated = false;
    if (const Instruction* in = find_not_simulated(f, seen)) {
        not_simulated_text = reason_for(*in);
        last_not_simulated = true;
        std::fprintf(stderr, "ladder simulator: not simulated: %s\n", not_simulated_text.c_str());
        return cudaErrorNotSupported;
    }
    return cudaSuccess;
}

cudaError_t run_launch(const LaunchRequest& r, int operation) {
    Launch launch;
    launch.function = r.function;
    launch.name = r.function->name;
    const dim3* from[] = {&r.grid, &r.block, &r.cluster};
    unsigned* to[] = {launch.grid, launch.block, launch.cluster};
    for (int k = 0; k < 3; ++k) {
        to[k][0] = from[k]->x;
        to[k][1] = from[k]->y;
        to[k][2] = from[k]->z;
    }
    launch.cooperative = r.cooperative;
    launch.clustered = r.clustered;
    launch.dynamic_shared = r.dynamic_shared;
    launch.parameters = r.parameters;
    launch.grid_barrier = grid_barrier();
    launch.operation = operation;
    launch.ordered_before = ordered_before(operation);
    Profile& profile = profiles()[r.function];
    profile.kernel = r.function;
    launch.profile = &profile;
    const LadderSimulatorCounts before = counts_of(profile);
    try {
        execute(launch);
    } catch (const LaunchStop& stop) {
        set_sticky(static_cast<cudaError_t>(stop.error));
    }
    log_launch(readable_name(launch.name), before, counts_of(profile));
    return cudaSuccess;
}

cudaError_t submit_launch(LaunchRequest r, cudaStream_t stream) {
    if (cudaError_t e = sticky_error()) return e;
    if (cudaError_t e = check_launch(r)) return e;
    return submit(
        stream, "kernel " + readable_name(r.function->name), [r](int op) { return run_launch(r, op); }, &r);
}

}  // namespace ladder

using namespace ladder;

extern "C" {
const char* ladder_simulator_not_simulated() {
    return last_not_simulated ? not_simulated_text.c_str() : nullptr;
}

cudaError_t cudaLaunchKernel(const void* symbol, dim3 grid, dim3 block, void** arguments, size_t shared,
                             cudaStream_t stream) {
    Entry entry;
    LaunchRequest r;
    if (cudaError_t e = prepare_launch(symbol, grid, block, arguments, shared, r)) return remember(e);
    return remember(submit_launch(std::move(r), stream));
}
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments, size_t shared,
                               cudaStream_t stream) {
    return cudaLaunchKernel(reinterpret_cast<const void*>(kernel), grid, block, arguments, shared, stream);
}
cudaError_t cudaLaunchCooperativeKernel(const void* symbol, dim3 grid, dim3 block, void** arguments,
                                        size_t shared, cudaStream_t stream) {
    Entry entry;
    LaunchRequest r;
    if (cudaError_t e = prepare_launch(symbol, grid, block, arguments, shared, r)) return remember(e);
    r.cooperative = true;
    return remember(submit_launch(std::move(r), stream));
}
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* symbol, void** arguments) {
    Entry entry;
    LaunchRequest r;
    if (cudaError_t e =
            prepare_launch(symbol, config->gridDim, config->blockDim, arguments, config->dynamicSmemBytes, r))
        return remember(e);
    apply_attributes(*config, r);
    return remember(submit_launch(std::move(r), config->stream));
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* a, const void* symbol) {
    Entry entry;
    const Function* f = find_function(symbol);
    if (!f) return remember(cudaErrorInvalidDeviceFunction);
    std::memset(a, 0, sizeof *a);
    a->sharedSizeBytes = static_cast<size_t>(f->shared_bytes);
    a->localSizeBytes = static_cast<size_t>(f->local_bytes);
    a->maxThreadsPerBlock = f->max_threads;
    a->numRegs = 32;
    a->ptxVersion = a->binaryVersion = 90;
    a->maxDynamicSharedSizeBytes = static_cast<int>(find_kernel(symbol)->max_dynamic_shared);
    a->preferredShmemCarveout = -1;
    return cudaSuccess;
}
cudaError_t cudaFuncSetAttribute(const void* symbol, cudaFuncAttribute attribute, int value) {
    Entry entry;
    const Function* f = find_function(symbol);
    if (!f) return remember(cudaErrorInvalidDeviceFunction);
    if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) return cudaSuccess;
    if (value < 0 || static_cast<size_t>(value) + static_cast<size_t>(f->shared_bytes) > D::kSharedOptin)
        return remember(cudaErrorInvalidValue);
    find_kernel(symbol)->max_dynamic_shared = static_cast<size_t>(value);
    find_kernel(symbol)->max_dynamic_set = true;
    return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* symbol,
                                                                   int threads, size_t shared, unsigned) {
    Entry entry;
    const Function* f = find_function(symbol);
    if (!f) return remember(cudaErrorInvalidDeviceFunction);
    *blocks = occupancy(*f, threads, shared);
    return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* symbol, int threads,
                                                          size_t shared) {
    return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, symbol, threads, shared, 0);
}
cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t* bytes, const void* symbol, int blocks, int) {
    Entry entry;
    const Function* f = find_function(symbol);
    if (!f) return remember(cudaErrorInvalidDeviceFunction);
    size_t each = D::kSharedPerMultiprocessor / static_cast<size_t>(std::max(blocks, 1)) - D::kSharedReserved;
    size_t fixed = static_cast<size_t>(f->shared_bytes);
    *bytes = std::min(each, D::kSharedOptin) - std::min(std::min(each, D::kSharedOptin), fixed);
    return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveClusters(int* clusters, const void* symbol,
                                           const cudaLaunchConfig_t* config) {
    Entry entry;
    const Function* f = find_function(symbol);
    if (!f) return remember(cudaErrorInvalidDeviceFunction);
    LaunchRequest r;
    apply_attributes(*config, r);
    int blocks = occupancy(*f, static_cast<int>(config->blockDim.x * config->blockDim.y * config->blockDim.z),
                           config->dynamicSmemBytes);
    *clusters = blocks * D::kMultiprocessors /
                static_cast<int>(std::max(1u, r.cluster.x * r.cluster.y * r.cluster.z));
    return cudaSuccess;
}
cudaError_t cudaOccupancyMaxPotentialClusterSize(int* size, const void*, const cudaLaunchConfig_t*) {
    *size = D::kClusterBlocks;
    return cudaSuccess;
}
cudaError_t cudaFuncGetName(const char** name, const void* symbol) {
    Entry entry;
    KernelSymbol* k = find_kernel(symbol);
    if (!k) return remember(cudaErrorInvalidDeviceFunction);
    *name = k->name.c_str();
    return cudaSuccess;
}
cudaError_t cudaFuncSetCacheConfig(const void*, cudaFuncCache) { return cudaSuccess; }
}
