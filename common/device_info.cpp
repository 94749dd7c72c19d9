#include "device_info.hpp"

#include <cuda_runtime.h>
#include <fmt/format.h>

#include "cuda_error.cuh"
#include "options.hpp"

std::optional<double> theoretical_bandwidth(int memory_clock_khz, int bus_width_bits) {
    if (memory_clock_khz <= 0 || bus_width_bits <= 0) return std::nullopt;
    return 2.0 * memory_clock_khz * 1e3 * bus_width_bits / 8;
}

std::string version_text(int cuda_version) {
    return fmt::format("{}.{}", cuda_version / 1000, cuda_version % 1000 / 10);
}

DeviceInfo open_device(int index) {
    int count = 0;
    CHECK_CUDA_CALL(
        cudaGetDeviceCount(&count));  // without a driver this call, not cudaDriverGetVersion, fails
    if (index >= count)
        throw UsageError(
            fmt::format("--device {}: this program sees {} device{} (0 to {}; CUDA_VISIBLE_DEVICES "
                        "renumbers those that it lists)",
                        index, count, count == 1 ? "" : "s", count - 1));
    CHECK_CUDA_CALL(cudaSetDevice(index));
    CHECK_CUDA_CALL(cudaFree(nullptr));  // makes the context here, so that no timed call does

    // CUDA 13 took the clocks out of cudaDeviceProp; the attributes are there in 12 and 13.
    const auto attribute = [index](cudaDeviceAttr which) {
        int value = 0;
        CHECK_CUDA_CALL(cudaDeviceGetAttribute(&value, which, index));
        return value;
    };
    cudaDeviceProp properties;
    CHECK_CUDA_CALL(cudaGetDeviceProperties(&properties, index));
    DeviceInfo info;
    info.name = properties.name;
    info.major = attribute(cudaDevAttrComputeCapabilityMajor);
    info.minor = attribute(cudaDevAttrComputeCapabilityMinor);
    info.multiprocessors = attribute(cudaDevAttrMultiProcessorCount);
    info.l2_bytes = attribute(cudaDevAttrL2CacheSize);
    info.shared_bytes_per_block = attribute(cudaDevAttrMaxSharedMemoryPerBlock);
    info.shared_bytes_per_block_opt_in = attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin);
    info.peak_bandwidth = theoretical_bandwidth(attribute(cudaDevAttrMemoryClockRate),
                                                attribute(cudaDevAttrGlobalMemoryBusWidth));
    int driver = 0, runtime = 0;
    CHECK_CUDA_CALL(cudaDriverGetVersion(&driver));
    CHECK_CUDA_CALL(cudaRuntimeGetVersion(&runtime));
    info.driver = version_text(driver);
    info.runtime = version_text(runtime);
    return info;
}
