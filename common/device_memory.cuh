// device_memory.cuh: buffers that free themselves; counts are in elements, 64-bit, and checked.
#pragma once
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

#include "cuda_error.cuh"

/// Not enough memory for what was asked; what() names the bytes asked and the bytes free.
struct OutOfMemory : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// count * size in bytes. Throws OutOfMemory where the product passes 2^63 - 1, std::invalid_argument where
/// count < 0.
int64_t checked_bytes(int64_t count, int64_t size);

/// Throws OutOfMemory where the host does not have `bytes` more, by the system's count and by the limits of the container
/// (cgroups v1 and v2). To fill memory that is not there would end the program without a word.
void check_host_memory(double bytes);

/// cudaMalloc, cudaHostAlloc and cudaMallocPitch for `bytes` > 0. They throw OutOfMemory and leave no error
/// behind for a later CHECK_KERNEL() to find.
void* allocate_device(int64_t bytes);
void* allocate_pinned(int64_t bytes, unsigned flags);
void* allocate_pitched(int64_t row_bytes, int64_t rows, size_t* pitch_bytes);

/// `count` elements of T in device memory. Zero elements are a null pointer.
template <typename T>
class DeviceBuffer {
 public:
    explicit DeviceBuffer(int64_t count)
        : elements(count),
          pointer(count ? static_cast<T*>(allocate_device(checked_bytes(count, sizeof(T)))) : nullptr) {}
    ~DeviceBuffer() { cudaFree(pointer); }
    DeviceBuffer(const DeviceBuffer&) = delete;
    DeviceBuffer& operator=(const DeviceBuffer&) = delete;

    T* data() const { return pointer; }
    int64_t count() const { return elements; }
    int64_t bytes() const { return elements * static_cast<int64_t>(sizeof(T)); }

    void upload(const T* host) {
        CHECK_CUDA_CALL(cudaMemcpy(pointer, host, bytes(), cudaMemcpyHostToDevice));
    }
    void download(T* host) const {
        CHECK_CUDA_CALL(cudaMemcpy(host, pointer, bytes(), cudaMemcpyDeviceToHost));
    }
    /// Every byte 0xFF: NaN as a float, -1 as an integer, so that a cell which no kernel writes cannot pass a
    /// check.
    void poison() { CHECK_CUDA_CALL(cudaMemset(pointer, 0xFF, bytes())); }

 private:
    int64_t elements;
    T* pointer;
};

/// `count` elements of T in page-locked host memory; flags as for cudaHostAlloc.
template <typename T>
class PinnedBuffer {
 public:
    explicit PinnedBuffer(int64_t count, unsigned flags = cudaHostAllocDefault)
        : elements(count),
          pointer(count ? static_cast<T*>(allocate_pinned(checked_bytes(count, sizeof(T)), flags))
                        : nullptr) {}
    ~PinnedBuffer() { cudaFreeHost(pointer); }
    PinnedBuffer(const PinnedBuffer&) = delete;
    PinnedBuffer& operator=(const PinnedBuffer&) = delete;

    T* data() const { return pointer; }
    int64_t count() const { return elements; }
    int64_t bytes() const { return elements * static_cast<int64_t>(sizeof(T)); }

 private:
    int64_t elements;
    T* pointer;
};

/// rows x cols elements of T in device memory, each row starting at a multiple of pitch_bytes().
template <typename T>
class PitchedBuffer {
 public:
    PitchedBuffer(int64_t rows, int64_t cols) : height(rows), width(cols) {
        if (rows && cols) {
            checked_bytes(rows, checked_bytes(cols, sizeof(T)));
            pointer = static_cast<T*>(allocate_pitched(checked_bytes(cols, sizeof(T)), rows, &pitch));
        }
    }
    ~PitchedBuffer() { cudaFree(pointer); }
    PitchedBuffer(const PitchedBuffer&) = delete;
    PitchedBuffer& operator=(const PitchedBuffer&) = delete;

    T* data() const { return pointer; }
    int64_t rows() const { return height; }
    int64_t cols() const { return width; }
    /// The distance between the starts of two rows in bytes. It need not be a multiple of sizeof(T).
    size_t pitch_bytes() const { return pitch; }

 private:
    int64_t height, width;
    size_t pitch = 0;
    T* pointer = nullptr;
};
