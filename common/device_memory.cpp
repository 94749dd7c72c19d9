#include "device_memory.cuh"

#include <fmt/format.h>

#include <fstream>
#include <limits>
#include <string>

int64_t checked_bytes(int64_t count, int64_t size) {
    if (count < 0 || size < 0) throw std::invalid_argument(fmt::format("a buffer of {} elements", count));
    if (size && count > std::numeric_limits<int64_t>::max() / size)
        throw OutOfMemory(fmt::format("{} elements of {} bytes are more than any memory holds", count, size));
    return count * size;
}

namespace {

// cudaErrorMemoryAllocation stays in the last-error slot, where a later CHECK_KERNEL() would blame a good
// launch.
void check_allocation(cudaError_t error, const char* what, int64_t bytes) {
    if (error == cudaSuccess) return;
    if (error != cudaErrorMemoryAllocation) cuda_call_failed(error, what, __FILE__, __LINE__);
    cudaGetLastError();
    size_t free = 0, total = 0;
    if (cudaMemGetInfo(&free, &total) != cudaSuccess) cudaGetLastError();
    throw OutOfMemory(fmt::format("{}: {:.2f} GB asked, {:.2f} of {:.2f} GB on the GPU free", what,
                                  bytes / 1e9, free / 1e9, total / 1e9));
}

// What the host can still give without swapping, in bytes; 0 where the system does not say.
int64_t available_host_bytes() {
    std::ifstream in("/proc/meminfo");
    for (std::string line; std::getline(in, line);)
        if (line.rfind("MemAvailable:", 0) == 0) return std::stoll(line.substr(13)) * 1024;
    return 0;
}

}  // namespace

void* allocate_device(int64_t bytes) {
    void* pointer = nullptr;
    check_allocation(cudaMalloc(&pointer, bytes), "cudaMalloc", bytes);
    return pointer;
}

void* allocate_pinned(int64_t bytes, unsigned flags) {
    // Locked pages cannot be swapped: to ask for more than there is would starve the machine, not fail.
    const int64_t available = available_host_bytes();
    void* pointer = nullptr;
    cudaError_t error = cudaErrorMemoryAllocation;
    if (!available || bytes <= available) error = cudaHostAlloc(&pointer, bytes, flags);
    if (error == cudaErrorMemoryAllocation) {
        cudaGetLastError();
        throw OutOfMemory(
            fmt::format("cudaHostAlloc: {:.2f} GB of page-locked host memory asked, {:.2f} GB of host "
                        "memory available",
                        bytes / 1e9, available / 1e9));
    }
    CHECK_CUDA_CALL(error);
    return pointer;
}

void* allocate_pitched(int64_t row_bytes, int64_t rows, size_t* pitch_bytes) {
    void* pointer = nullptr;
    check_allocation(cudaMallocPitch(&pointer, pitch_bytes, row_bytes, rows), "cudaMallocPitch",
                     row_bytes * rows);
    return pointer;
}
