// gpus.cuh: all GPUs that the process sees, with a stream on each.
#pragma once
#include <memory>

#include "streams.cuh"

/// Makes a device current as long as it lives.
class OnDevice {
 public:
    explicit OnDevice(int device) {
        CHECK_CUDA_CALL(cudaGetDevice(&before));
        CHECK_CUDA_CALL(cudaSetDevice(device));
    }
    ~OnDevice() { cudaSetDevice(before); }
    OnDevice(const OnDevice&) = delete;
    OnDevice& operator=(const OnDevice&) = delete;

 private:
    int before = 0;
};

/// GPU 0 is the current device, on whose default stream the time is taken; the others follow in their order.
class Gpus {
 public:
    Gpus() {
        int here = 0;
        CHECK_CUDA_CALL(cudaGetDevice(&here));
        const int count = visible();
        for (int i = 0; i < count; ++i) devices.push_back((here + i) % count);
        forked = std::make_unique<OrderEvent>();
        for (int g = 0; g < count; ++g) {
            const OnDevice on(devices[g]);
            streams.push_back(std::make_unique<Streams>(1));
            joined.push_back(std::make_unique<OrderEvent>());
            for (int p = 0; p < count; ++p) reach(g, p);
        }
    }

    static int visible() {
        int count = 0;
        CHECK_CUDA_CALL(cudaGetDeviceCount(&count));
        return count;
    }
    int count() const { return static_cast<int>(devices.size()); }
    int device(int g) const { return devices[g]; }
    cudaStream_t stream(int g) const { return (*streams[g])[0]; }
    int next(int g) const { return (g + 1) % count(); }
    /// Can the kernels of every GPU read and write the memory of all?
    bool all_reach_all() const { return unreachable == 0; }

    void fork() {
        forked->record(nullptr);
        for (int g = 0; g < count(); ++g) forked->hold(stream(g));
    }
    void join() {
        for (int g = 0; g < count(); ++g) {
            joined[g]->record(stream(g));
            joined[g]->hold(nullptr);
        }
    }
    void synchronize() const {
        for (const int device : devices) {
            const OnDevice on(device);
            CHECK_CUDA_CALL(cudaDeviceSynchronize());
        }
    }

 private:
    /// Opens p's memory to the kernels and copies of g, the current device. Without it a copy between them is staged in
    /// the host's memory by the driver.
    void reach(int g, int p) {
        if (g == p) return;
        int can = 0;
        CHECK_CUDA_CALL(cudaDeviceCanAccessPeer(&can, devices[g], devices[p]));
        if (!can) {
            ++unreachable;
            return;
        }
        const cudaError_t error = cudaDeviceEnablePeerAccess(devices[p], 0);
        if (error == cudaErrorPeerAccessAlreadyEnabled)
            cudaGetLastError();
        else
            CHECK_CUDA_CALL(error);
    }

    std::vector<int> devices;
    std::vector<std::unique_ptr<Streams>> streams;
    std::unique_ptr<OrderEvent> forked;
    std::vector<std::unique_ptr<OrderEvent>> joined;
    int unreachable = 0;
};

/// Why a variant cannot run on these GPUs, or "".
template <typename ProgramsWork>
std::string fewer_than_two(const DeviceInfo&, const ProgramsWork& w) {
    return w.gpus->count() >= 2 ? "" : "needs two GPUs; this process sees one";
}
template <typename ProgramsWork>
std::string no_peer_access(const DeviceInfo& device, const ProgramsWork& w) {
    return w.gpus->count() >= 2 && !w.gpus->all_reach_all() ? "no peer access between these GPUs"
                                                            : fewer_than_two(device, w);
}

/// A buffer of `count` elements on each GPU.
template <typename T>
class BufferOnEach {
 public:
    BufferOnEach(const Gpus& gpus, int64_t count) {
        for (int g = 0; g < gpus.count(); ++g) {
            const OnDevice on(gpus.device(g));
            buffers.push_back(std::make_unique<DeviceBuffer<T>>(count));
        }
    }
    DeviceBuffer<T>& operator[](int g) const { return *buffers[g]; }
    void poison(const Gpus& gpus) {
        for (int g = 0; g < gpus.count(); ++g) {
            const OnDevice on(gpus.device(g));
            buffers[g]->poison();
        }
        gpus.synchronize();
    }

 private:
    std::vector<std::unique_ptr<DeviceBuffer<T>>> buffers;
};
