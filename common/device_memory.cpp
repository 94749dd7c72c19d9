#include "device_memory.cuh"

#include <fmt/format.h>

#include <algorithm>
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
    if (error != cudaErrorMemoryAllocation) throw CudaError(error, what, __FILE__, __LINE__);
    cudaGetLastError();
    size_t free = 0, total = 0;
    if (cudaMemGetInfo(&free, &total) != cudaSuccess) cudaGetLastError();
    throw OutOfMemory(fmt::format("{}: {:.2f} GB asked, {:.2f} of {:.2f} GB on the GPU free", what,
                                  bytes / 1e9, free / 1e9, total / 1e9));
}

// The first number of a file, in bytes; 0 where there is none ("max").
int64_t number_in(const std::string& path) {
    std::ifstream in(path);
    int64_t value = 0;
    return in >> value ? value : 0;
}

// The number after `key` in a file of lines "key value"; 0 where there is none.
int64_t number_after(const std::string& path, const std::string& key) {
    std::ifstream in(path);
    for (std::string line; std::getline(in, line);)
        if (line.rfind(key, 0) == 0) return std::stoll(line.substr(key.size()));
    return 0;
}

// What the host can still give without swapping, in bytes; 0 where the system does not say. A container's own limit
// counts where it is lower; pages of files that it read can be given back.
int64_t available_host_bytes() {
    int64_t available = number_after("/proc/meminfo", "MemAvailable:") * 1024;
    const struct {
        const char *limit, *used, *statistics, *files;
    } groups[] = {
        {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current", "/sys/fs/cgroup/memory.stat",
         "inactive_file"},
        {"/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes",
         "/sys/fs/cgroup/memory/memory.stat", "total_inactive_file"}};
    for (const auto& group : groups)
        if (const int64_t limit = number_in(group.limit); limit > 0) {
            const int64_t left = std::max<int64_t>(
                1, limit - number_in(group.used) + number_after(group.statistics, group.files));
            available = available ? std::min(available, left) : left;
        }
    return available;
}

}  // namespace

void check_host_memory(double bytes) {
    const int64_t available = available_host_bytes();
    if (available && bytes > static_cast<double>(available))
        throw OutOfMemory(fmt::format("{:.2f} GB of host memory needed, {:.2f} GB available", bytes / 1e9,
                                      static_cast<double>(available) / 1e9));
}

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
