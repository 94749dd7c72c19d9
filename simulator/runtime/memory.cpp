// Allocations, copies and fills.
#include <algorithm>
#include <cstring>
#include <set>

#include "runtime/runtime.hpp"

namespace ladder {
namespace {
/// The region that holds the bytes; reports a fault if they leave it, or if device memory is wanted and
/// not there.
cudaError_t resolve(const void* pointer, size_t bytes, bool device, const char* call, Region*& region) {
    uint64_t address = reinterpret_cast<uint64_t>(pointer);
    region = memory().find(address);
    if (region && region->contains(address, bytes)) return cudaSuccess;
    if (!region && !device && !memory().on_device(address)) return cudaSuccess;
    std::string freed = memory().freed(address), touches = say("It touches ", bytes, " bytes ");
    if (!freed.empty())
        report_host(call, {"use after free", touches + "of memory that was freed.", freed});
    else if (region)
        report_host(call, {"out of bounds", touches + "and leaves the allocation.",
                           place_in(*region, address - region->base)});
    else
        report_host(call, {"out of bounds", touches + "that lie in no allocation of the device.",
                           memory().describe(address)});
    return cudaErrorInvalidValue;
}

void copy_written(Region& to, uint64_t to_offset, const Region& from, uint64_t from_offset, size_t bytes) {
    for (size_t k = 0; k < bytes; ++k)
        if (!from.written.none(from_offset + k, 1)) to.written.set(to_offset + k, 1);
}

cudaError_t allocate(void** pointer, size_t bytes, RegionKind kind, const char* what) {
    Entry entry;
    if (!pointer) return remember(cudaErrorInvalidValue, what);
    *pointer = nullptr;
    if (cudaError_t e = sticky_error()) return remember(e);
    if (bytes == 0) return kind == RegionKind::Managed ? remember(cudaErrorInvalidValue, what) : cudaSuccess;
    Region* region = memory().allocate(bytes, kind, what);
    return region ? give(pointer, reinterpret_cast<void*>(region->base))
                  : remember(cudaErrorMemoryAllocation);
}

/// Frees an allocation of one of two kinds.
cudaError_t release(void* pointer, const char* call, RegionKind kind, RegionKind or_kind) {
    if (!pointer) return cudaSuccess;
    uint64_t address = reinterpret_cast<uint64_t>(pointer);
    Region* region = memory().beginning_at(pointer);
    if (region && (region->kind == kind || region->kind == or_kind)) {
        memory().release(pointer);
        return remember(sticky_error());
    }
    if (region)
        report_host(call, {"bad free", "This call does not free such memory.", name_of(*region)});
    else if (memory().was_freed(pointer))
        report_host(call, {"double free", "The memory was freed before.", memory().freed(address)});
    else
        report_host(call, {"bad free", "No allocation begins at this address.", memory().describe(address)});
    return remember(cudaErrorInvalidValue, call);
}

cudaError_t copy_row(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, int operation,
                     const char* call) {
    if (bytes == 0) return cudaSuccess;
    if (!to || !from) return cudaErrorInvalidValue;
    Region *target, *source;
    bool within = kind == cudaMemcpyDeviceToDevice;
    if (cudaError_t e = resolve(to, bytes, within || kind == cudaMemcpyHostToDevice, call, target)) return e;
    if (cudaError_t e = resolve(from, bytes, within || kind == cudaMemcpyDeviceToHost, call, source))
        return e;
    uint64_t to_offset = target ? reinterpret_cast<uint64_t>(to) - target->base : 0;
    uint64_t from_offset = source ? reinterpret_cast<uint64_t>(from) - source->base : 0;
    if (source && source->tracked && source->uninitialised(from_offset, bytes)) {
        report_host(call, {"uninitialised read", say("It copies ", bytes, " bytes that nothing has written."),
                           place_in(*source, from_offset)});
        source->written.set(from_offset, bytes);
    }
    if (source) touch_by_operation(operation, *source, from_offset, bytes, false);
    if (target) touch_by_operation(operation, *target, to_offset, bytes, true);
    std::memmove(target ? target->data + to_offset : to, source ? source->data + from_offset : from, bytes);
    if (target && target->tracked && source && source->tracked)
        copy_written(*target, to_offset, *source, from_offset, bytes);
    else if (target && target->tracked)
        target->written.set(to_offset, bytes);
    return cudaSuccess;
}

cudaError_t fill_row(void* to, int value, size_t bytes, int operation, const char* call) {
    if (bytes == 0) return cudaSuccess;
    Region* target;
    if (cudaError_t e = resolve(to, bytes, true, call, target)) return e;
    uint64_t offset = reinterpret_cast<uint64_t>(to) - target->base;
    touch_by_operation(operation, *target, offset, bytes, true);
    std::memset(target->data + offset, value, bytes);
    if (target->tracked) target->written.set(offset, bytes);
    return cudaSuccess;
}

uint64_t default_threshold = 0;  // a pool is known by its release threshold
cudaMemPool_t default_pool() {
    return reinterpret_cast<cudaMemPool_t>(&default_threshold);
}
}  // namespace

Operation copying(const Rows& r, const char* call) {
    return [=](int operation) {
        if (r.width > r.to_pitch || r.width > r.from_pitch) return cudaErrorInvalidPitchValue;
        for (size_t y = 0; y < r.height; ++y)
            if (cudaError_t e = copy_row(static_cast<char*>(r.to) + y * r.to_pitch,
                                         static_cast<const char*>(r.from) + y * r.from_pitch, r.width, r.kind,
                                         operation, call))
                return e;
        return cudaSuccess;
    };
}
Operation filling(void* to, size_t pitch, int value, size_t width, size_t height, const char* call) {
    return [=](int operation) {
        for (size_t y = 0; y < height; ++y)
            if (cudaError_t e = fill_row(static_cast<char*>(to) + y * pitch, value, width, operation, call))
                return e;
        return cudaSuccess;
    };
}
cudaError_t submit_and_wait(cudaStream_t stream, const char* call, Operation run) {
    Entry entry;
    cudaError_t e = submit(stream, call, std::move(run));
    host_waits_for_stream(stream_of(stream).id);
    return e;
}

/// A copy that the host asks for and waits for, as far as the documentation says that it does (CUDA Runtime API, "API
/// synchronization behavior"): to pageable memory's last byte on the device it does not wait, and for a copy within the
/// device not at all.
cudaError_t copy_and_wait(const Rows& r, const char* call) {
    Entry entry;
    const bool to_device = memory().on_device(reinterpret_cast<uint64_t>(r.to));
    const bool from_device = memory().on_device(reinterpret_cast<uint64_t>(r.from));
    const bool from_pageable = !from_device && !memory().find(reinterpret_cast<uint64_t>(r.from));
    if (!to_device || !(from_device || from_pageable))
        return submit_and_wait(nullptr, call, copying(r, call));
    if (from_pageable)
        host_waits_for_stream(LEGACY_STREAM);  // the copy into the staging buffer begins after that
    return submit(nullptr, call, copying(r, call));
}
}  // namespace ladder

using namespace ladder;
extern "C" {
cudaError_t cudaMalloc(void** p, size_t n) {
    return allocate(p, n, RegionKind::Device, "cudaMalloc");
}
cudaError_t cudaMallocManaged(void** p, size_t n, unsigned) {
    return allocate(p, n, RegionKind::Managed, "cudaMallocManaged");
}
cudaError_t cudaMallocAsync(void** p, size_t n, cudaStream_t) {
    return allocate(p, n, RegionKind::Device, "cudaMallocAsync");
}
cudaError_t cudaMallocFromPoolAsync(void** p, size_t n, cudaMemPool_t, cudaStream_t s) {
    return cudaMallocAsync(p, n, s);
}
cudaError_t cudaMallocHost(void** p, size_t n) {
    return allocate(p, n, RegionKind::Host, "cudaMallocHost");
}
cudaError_t cudaHostAlloc(void** p, size_t n, unsigned) {
    return allocate(p, n, RegionKind::Host, "cudaHostAlloc");
}
cudaError_t cudaMallocPitch(void** p, size_t* pitch, size_t width, size_t height) {
    *pitch = (width + 511) / 512 * 512;
    return allocate(p, *pitch * height, RegionKind::Device, "cudaMallocPitch");
}
cudaError_t cudaFree(void* p) {
    Entry entry;
    host_waits_for_all();
    return release(p, "cudaFree", RegionKind::Device, RegionKind::Managed);
}
cudaError_t cudaFreeAsync(void* p, cudaStream_t stream) {
    Entry entry;
    auto run = [p](int operation) {
        Region* region = memory().beginning_at(p);
        if (region && operation) free_by_operation(operation, *region);
        return release(p, "cudaFreeAsync", RegionKind::Device, RegionKind::Device);
    };
    return stream_of(stream).capture ? run(0) : submit(stream, "cudaFreeAsync", run);
}
cudaError_t cudaFreeHost(void* p) {
    Entry entry;
    host_waits_for_all();
    return release(p, "cudaFreeHost", RegionKind::Host, RegionKind::Host);
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
    bool known = memory().find(reinterpret_cast<uint64_t>(host));
    return known ? give(device, host) : remember(cudaErrorInvalidValue);
}
cudaError_t cudaHostGetFlags(unsigned* flags, void*) {
    return give(flags, cudaHostAllocMapped);
}
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* a, const void* p) {
    Entry entry;
    Region* region = memory().find(reinterpret_cast<uint64_t>(p));
    void* pointer = const_cast<void*>(p);
    bool host = region && (region->kind == RegionKind::Host || region->kind == RegionKind::RegisteredHost);
    std::memset(a, 0, sizeof *a);
    a->type = !region                               ? cudaMemoryTypeUnregistered
              : region->kind == RegionKind::Managed ? cudaMemoryTypeManaged
              : host                                ? cudaMemoryTypeHost
                                                    : cudaMemoryTypeDevice;
    a->device = region ? 0 : -1;
    a->devicePointer = region ? pointer : nullptr;
    a->hostPointer = a->type == cudaMemoryTypeDevice ? nullptr : pointer;
    return cudaSuccess;
}
cudaError_t cudaMemGetInfo(size_t* free_bytes, size_t* total) {
    Entry entry;
    *total = Memory::TOTAL;
    *free_bytes = Memory::TOTAL - memory().in_use();
    return remember(sticky_error());
}

cudaError_t cudaMemcpy(void* to, const void* from, size_t n, cudaMemcpyKind kind) {
    return copy_and_wait(one_row(to, from, n, kind), "cudaMemcpy");
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t n, cudaMemcpyKind kind, cudaStream_t stream) {
    return submit(stream, "cudaMemcpyAsync", copying(one_row(to, from, n, kind), "cudaMemcpyAsync"));
}
cudaError_t cudaMemcpyPeer(void* to, int, const void* from, int, size_t n) {
    return cudaMemcpy(to, from, n, cudaMemcpyDeviceToDevice);
}
cudaError_t cudaMemcpyPeerAsync(void* to, int, const void* from, int, size_t n, cudaStream_t s) {
    return cudaMemcpyAsync(to, from, n, cudaMemcpyDeviceToDevice, s);
}
cudaError_t cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                         size_t height, cudaMemcpyKind kind) {
    Rows r{to, to_pitch, from, from_pitch, width, height, kind};
    return copy_and_wait(r, "cudaMemcpy2D");
}
cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                              size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
    Rows r{to, to_pitch, from, from_pitch, width, height, kind};
    return submit(stream, "cudaMemcpy2DAsync", copying(r, "cudaMemcpy2DAsync"));
}
cudaError_t cudaMemset(void* to, int value, size_t n) {
    return submit(nullptr, "cudaMemset", filling(to, n, value, n, 1, "cudaMemset"));
}
cudaError_t cudaMemsetAsync(void* to, int value, size_t n, cudaStream_t stream) {
    return submit(stream, "cudaMemsetAsync", filling(to, n, value, n, 1, "cudaMemsetAsync"));
}
cudaError_t cudaMemset2D(void* to, size_t pitch, int value, size_t width, size_t height) {
    return submit(nullptr, "cudaMemset2D", filling(to, pitch, value, width, height, "cudaMemset2D"));
}
cudaError_t cudaMemset2DAsync(void* to, size_t pitch, int value, size_t width, size_t height,
                              cudaStream_t stream) {
    return submit(stream, "cudaMemset2DAsync", filling(to, pitch, value, width, height, "cudaMemset2DAsync"));
}

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int) {
    return give(pool, default_pool());
}
cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* pool, int) {
    return give(pool, default_pool());
}
cudaError_t cudaDeviceSetMemPool(int, cudaMemPool_t) {
    return cudaSuccess;
}
cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps*) {
    return give(pool, reinterpret_cast<cudaMemPool_t>(new uint64_t(0)));
}
cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) {
    if (pool != default_pool()) delete reinterpret_cast<uint64_t*>(pool);
    return cudaSuccess;
}
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t, size_t) {
    return cudaSuccess;
}
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
    if (attribute == cudaMemPoolAttrReleaseThreshold)
        *reinterpret_cast<uint64_t*>(pool) = *static_cast<uint64_t*>(value);
    return cudaSuccess;
}
cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
    Entry entry;
    auto* to = static_cast<uint64_t*>(value);
    switch (attribute) {
        case cudaMemPoolAttrReleaseThreshold:
            return give(to, *reinterpret_cast<uint64_t*>(pool));
        case cudaMemPoolAttrReservedMemCurrent:
        case cudaMemPoolAttrReservedMemHigh:
        case cudaMemPoolAttrUsedMemCurrent:
        case cudaMemPoolAttrUsedMemHigh:
            return give(to, memory().in_use());
        default:
            return give(static_cast<int*>(value), 1);
    }
}
}
