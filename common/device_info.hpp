// device_info.hpp: the GPU that the program runs on.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

struct DeviceInfo {
    std::string name;
    int major = 0, minor = 0;  ///< compute capability
    int multiprocessors = 0;
    int64_t l2_bytes = 0;
    int64_t shared_bytes_per_block = 0;         ///< without opting in
    int64_t shared_bytes_per_block_opt_in = 0;  ///< the most that cudaFuncSetAttribute can ask for
    std::optional<double> peak_bandwidth;       ///< bytes per second, by clock and width of the memory bus
    std::string driver, runtime;                ///< CUDA versions, "13.0"
};

/// Clock in kHz as CUDA reports it, width in bits, two transfers a clock; nothing where either is unknown
/// (0).
std::optional<double> theoretical_bandwidth(int memory_clock_khz, int bus_width_bits);

/// "13.0" for 13000.
std::string version_text(int cuda_version);

/// Makes device `index` current (only that one: no context is made on any other) and describes it.
/// An index that does not exist is a UsageError; without any device the program ends as cuda_call_failed
/// says.
DeviceInfo open_device(int index);
