// Allocations, copies and fills.
#include <algorithm>
#include <cstring>
#include <set>

#include "report.h"
#include "runtime.h"

namespace ladder {
namespace {

bool on_device(RegionKind k) { return k != RegionKind::Host && k != RegionKind::RegisteredHost; }

/// The region that holds the bytes; reports a fault if they leave it, or if device memory is wanted and not
/// there.
cudaError_t resolve(const void* pointer, size_t bytes, bool device, const char* call, Region*& region) {
    uint64_t address = reinterpret_cast<uint64_t>(pointer);
    region = memory().find(address);
    if (region && region->contains(address, bytes)) return cudaSuccess;
    if (!region && !device) return cudaSuccess;
    std::string freed = memory().freed(address), size = std::to_string(bytes) + " bytes";
    if (!freed.empty())
        report_host(call, {"use after free", "It touches " + size + " of memory that was freed.", freed});
    else if (region)
        report_host(call, {"out of bounds", "It touches " + size + " and leaves the allocation.",
                           name_of(*region) + ", offset " + std::to_string(address - region->base)});
    else
        report_host(call,
                    {"out of bounds", "It touches " + size + " that lie in no allocation of the device.",
                     memory().describe(address)});
    return cudaErrorInvalidValue;
}

void copy_written(Region& to, uint64_t to_offset, const Region& from, uint64_t from_offset, size_t bytes) {
    for (size_t k = 0; k < bytes; ++k)
        if (!from.written.none(from_offset + k, 1)) to.written.set(to_offset + k, 1);
}

cudaError_t allocate(void** pointer, size_t bytes, RegionKind kind, const char* what) {
    if (!pointer) return cudaErrorInvalidValue;
    *pointer = nullptr;
    if (cudaError_t e = sticky_error()) return e;
    if (bytes == 0) return cudaSuccess;
    Region* region = memory().allocate(bytes, kind, what);
    if (!region) return cudaErrorMemoryAllocation;
    *pointer = region->data;
    return cudaSuccess;
}

cudaError_t release(void* pointer, const char* call) {
    if (!pointer) return cudaSuccess;
    if (memory().release(pointer)) return sticky_error();
    std::string freed = memory().freed(reinterpret_cast<uint64_t>(pointer));
    if (memory().was_freed(pointer))
        report_host(call, {"double free", "The memory was freed before.", freed});
    else
        report_host(call, {"bad free", "No allocation begins at this address.",
                           memory().describe(reinterpret_cast<uint64_t>(pointer))});
    return cudaErrorInvalidValue;
}

struct Rows {
    void* to;
    size_t to_pitch;
    const void* from;
    size_t from_pitch, width, height;
};
cudaError_t copy_rows(const Rows& r, cudaMemcpyKind kind, int operation, const char* call) {
    if (r.width > r.to_pitch || r.width > r.from_pitch) return cudaErrorInvalidPitchValue;
    for (size_t y = 0; y < r.height; ++y)
        if (cudaError_t e =
                copy(static_cast<char*>(r.to) + y * r.to_pitch,
                     static_cast<const char*>(r.from) + y * r.from_pitch, r.width, kind, operation, call))
            return e;
    return cudaSuccess;
}
cudaError_t fill_rows(void* to, size_t pitch, int value, size_t width, size_t height, int operation,
                      const char* call) {
    for (size_t y = 0; y < height; ++y)
        if (cudaError_t e = fill(static_cast<char*>(to) + y * pitch, value, width, operation, call)) return e;
    return cudaSuccess;
}

/// An operation after which the host waits for the default stream.
cudaError_t synchronous(const char* call, Operation run) {
    cudaError_t e = submit(nullptr, call, std::move(run));
    host_waits_for_stream(kLegacyStream);
    return remember(e);
}

struct Pool {
    uint64_t threshold = 0;
};
Pool default_pool;
cudaMemPool_t default_handle() { return reinterpret_cast<cudaMemPool_t>(&default_pool); }

}  // namespace

cudaError_t copy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, int operation,
                 const char* call) {
    if (bytes == 0) return cudaSuccess;
    if (!to || !from) return cudaErrorInvalidValue;
    Region *target, *source;
    if (cudaError_t e = resolve(to, bytes, kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice,
                                call, target))
        return e;
    if (cudaError_t e = resolve(
            from, bytes, kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice, call, source))
        return e;
    uint64_t to_offset = target ? reinterpret_cast<uint64_t>(to) - target->base : 0;
    uint64_t from_offset = source ? reinterpret_cast<uint64_t>(from) - source->base : 0;
    if (source && source->uninitialised(from_offset, bytes)) {
        report_host(call, {"uninitialised read",
                           "It copies " + std::to_string(bytes) + " bytes that nothing has written.",
                           name_of(*source) + ", offset " + std::to_string(from_offset)});
        source->written.set(from_offset, bytes);
    }
    if (source) touch_by_operation(operation, *source, from_offset, bytes, false);
    if (target) touch_by_operation(operation, *target, to_offset, bytes, true);
    std::memmove(to, from, bytes);
    if (target && target->tracked && source && source->tracked)
        copy_written(*target, to_offset, *source, from_offset, bytes);
    else if (target && target->tracked)
        target->written.set(to_offset, bytes);
    return cudaSuccess;
}

cudaError_t fill(void* to, int value, size_t bytes, int operation, const char* call) {
    if (bytes == 0) return cudaSuccess;
    Region* target;
    if (cudaError_t e = resolve(to, bytes, true, call, target)) return e;
    uint64_t offset = reinterpret_cast<uint64_t>(to) - target->base;
    touch_by_operation(operation, *target, offset, bytes, true);
    std::memset(to, value, bytes);
    if (target->tracked) target->written.set(offset, bytes);
    return cudaSuccess;
}

}  // namespace ladder

using namespace ladder;

extern "C" {
cudaError_t cudaMalloc(void** p, size_t n) {
    Entry entry;
    return remember(allocate(p, n, RegionKind::Device, "cudaMalloc"));
}
cudaError_t cudaMallocManaged(void** p, size_t n, unsigned) {
    Entry entry;
    return remember(n == 0 ? cudaErrorInvalidValue
                           : allocate(p, n, RegionKind::Managed, "cudaMallocManaged"));
}
cudaError_t cudaMallocAsync(void** p, size_t n, cudaStream_t) {
    Entry entry;
    return remember(allocate(p, n, RegionKind::Device, "cudaMallocAsync"));
}
cudaError_t cudaMallocFromPoolAsync(void** p, size_t n, cudaMemPool_t, cudaStream_t s) {
    return cudaMallocAsync(p, n, s);
}
cudaError_t cudaMallocHost(void** p, size_t n) {
    Entry entry;
    return remember(allocate(p, n, RegionKind::Host, "cudaMallocHost"));
}
cudaError_t cudaHostAlloc(void** p, size_t n, unsigned) {
    Entry entry;
    return remember(allocate(p, n, RegionKind::Host, "cudaHostAlloc"));
}
cudaError_t cudaMallocPitch(void** p, size_t* pitch, size_t width, size_t height) {
    Entry entry;
    *pitch = (width + 511) / 512 * 512;
    return remember(allocate(p, *pitch * height, RegionKind::Device, "cudaMallocPitch"));
}
cudaError_t cudaFree(void* p) {
    Entry entry;
    host_waits_for_all();
    return remember(release(p, "cudaFree"));
}
cudaError_t cudaFreeAsync(void* p, cudaStream_t) {
    Entry entry;
    return remember(release(p, "cudaFreeAsync"));
}
cudaError_t cudaFreeHost(void* p) {
    Entry entry;
    host_waits_for_all();
    return remember(release(p, "cudaFreeHost"));
}
cudaError_t cudaHostRegister(void* p, size_t n, unsigned) {
    Entry entry;
    if (!p || n == 0) return remember(cudaErrorInvalidValue);
    if (memory().find(reinterpret_cast<uint64_t>(p))) return remember(cudaErrorHostMemoryAlreadyRegistered);
    memory().adopt(p, n, "cudaHostRegister");
    return cudaSuccess;
}
cudaError_t cudaHostUnregister(void* p) {
    Entry entry;
    return memory().release(p) ? cudaSuccess : remember(cudaErrorHostMemoryNotRegistered);
}
cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned) {
    Entry entry;
    if (!memory().find(reinterpret_cast<uint64_t>(host))) return remember(cudaErrorInvalidValue);
    *device = host;
    return cudaSuccess;
}
cudaError_t cudaHostGetFlags(unsigned* flags, void*) {
    *flags = cudaHostAllocMapped;
    return cudaSuccess;
}
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* a, const void* p) {
    Entry entry;
    std::memset(a, 0, sizeof *a);
    Region* region = memory().find(reinterpret_cast<uint64_t>(p));
    a->type = cudaMemoryTypeUnregistered;
    a->device = -1;
    a->hostPointer = const_cast<void*>(p);
    if (!region) return cudaSuccess;
    bool device = on_device(region->kind);
    a->type = region->kind == RegionKind::Managed ? cudaMemoryTypeManaged
              : device                            ? cudaMemoryTypeDevice
                                                  : cudaMemoryTypeHost;
    a->device = 0;
    a->devicePointer = const_cast<void*>(p);
    a->hostPointer = a->type == cudaMemoryTypeDevice ? nullptr : const_cast<void*>(p);
    return cudaSuccess;
}
cudaError_t cudaMemGetInfo(size_t* free_bytes, size_t* total) {
    Entry entry;
    *total = Memory::kTotal;
    *free_bytes = Memory::kTotal - memory().in_use();
    return remember(sticky_error());
}

cudaError_t cudaMemcpy(void* to, const void* from, size_t n, cudaMemcpyKind kind) {
    Entry entry;
    return synchronous("cudaMemcpy", [=](int op) { return copy(to, from, n, kind, op, "cudaMemcpy"); });
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t n, cudaMemcpyKind kind, cudaStream_t stream) {
    Entry entry;
    return remember(submit(stream, "cudaMemcpyAsync",
                           [=](int op) { return copy(to, from, n, kind, op, "cudaMemcpyAsync"); }));
}
cudaError_t cudaMemcpyPeer(void* to, int, const void* from, int, size_t n) {
    return cudaMemcpy(to, from, n, cudaMemcpyDeviceToDevice);
}
cudaError_t cudaMemcpyPeerAsync(void* to, int, const void* from, int, size_t n, cudaStream_t s) {
    return cudaMemcpyAsync(to, from, n, cudaMemcpyDeviceToDevice, s);
}
cudaError_t cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                         size_t height, cudaMemcpyKind kind) {
    Entry entry;
    Rows r{to, to_pitch, from, from_pitch, width, height};
    return synchronous("cudaMemcpy2D", [=](int op) { return copy_rows(r, kind, op, "cudaMemcpy2D"); });
}
cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                              size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
    Entry entry;
    Rows r{to, to_pitch, from, from_pitch, width, height};
    return remember(submit(stream, "cudaMemcpy2DAsync",
                           [=](int op) { return copy_rows(r, kind, op, "cudaMemcpy2DAsync"); }));
}
cudaError_t cudaMemset(void* to, int value, size_t n) {
    Entry entry;
    return remember(
        submit(nullptr, "cudaMemset", [=](int op) { return fill(to, value, n, op, "cudaMemset"); }));
}
cudaError_t cudaMemsetAsync(void* to, int value, size_t n, cudaStream_t stream) {
    Entry entry;
    return remember(
        submit(stream, "cudaMemsetAsync", [=](int op) { return fill(to, value, n, op, "cudaMemsetAsync"); }));
}
cudaError_t cudaMemset2D(void* to, size_t pitch, int value, size_t width, size_t height) {
    Entry entry;
    return remember(submit(nullptr, "cudaMemset2D", [=](int op) {
        return fill_rows(to, pitch, value, width, height, op, "cudaMemset2D");
    }));
}
cudaError_t cudaMemset2DAsync(void* to, size_t pitch, int value, size_t width, size_t height,
                              cudaStream_t stream) {
    Entry entry;
    return remember(submit(stream, "cudaMemset2DAsync", [=](int op) {
        return fill_rows(to, pitch, value, width, height, op, "cudaMemset2DAsync");
    }));
}

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int) {
    *pool = default_handle();
    return cudaSuccess;
}
cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* pool, int) {
    *pool = default_handle();
    return cudaSuccess;
}
cudaError_t cudaDeviceSetMemPool(int, cudaMemPool_t) { return cudaSuccess; }
cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps*) {
    *pool = reinterpret_cast<cudaMemPool_t>(new Pool);
    return cudaSuccess;
}
cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) {
    if (pool != default_handle()) delete reinterpret_cast<Pool*>(pool);
    return cudaSuccess;
}
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t, size_t) { return cudaSuccess; }
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
    if (attribute == cudaMemPoolAttrReleaseThreshold)
        reinterpret_cast<Pool*>(pool)->threshold = *static_cast<uint64_t*>(value);
    return cudaSuccess;
}
cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
    Entry entry;
    switch (attribute) {
        case cudaMemPoolAttrReleaseThreshold:
            *static_cast<uint64_t*>(value) = reinterpret_cast<Pool*>(pool)->threshold;
            break;
        case cudaMemPoolAttrReservedMemCurrent:
        case cudaMemPoolAttrReservedMemHigh:
        case cudaMemPoolAttrUsedMemCurrent:
        case cudaMemPoolAttrUsedMemHigh: *static_cast<uint64_t*>(value) = memory().in_use(); break;
        default: *static_cast<int*>(value) = 1;
    }
    return cudaSuccess;
}
}
