// opcodes.h: what the opcodes_*.cu share: checks that are counted, device memory, inputs,
// element-wise operations.
//
// Each program computes on the device and compares with the host's own arithmetic: exactly where the
// operation is exact or correctly rounded, within a stated bound where it is not. They hold on an sm_90
// GPU too.
#pragma once
#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

/// Ends the program: without memory or a copy, no check means anything.
inline void need(cudaError_t error) {
    if (error == cudaSuccess) return;
    std::fprintf(stderr, "opcodes: %s\n", cudaGetErrorString(error));
    std::exit(1);
}

template <class T>
std::string shown(const T& value) {
    if constexpr (std::is_arithmetic_v<T>) {
        return std::to_string(value);
    } else {
        return "?";
    }
}

template <class T>
bool sameBits(const T& a, const T& b) {
    if constexpr (std::is_floating_point_v<T>) {
        if (std::isnan(a) && std::isnan(b)) return true;  // the payload of a NaN is nobody's promise
    }
    return std::memcmp(&a, &b, sizeof(T)) == 0;
}

/// Counts checks and names the wrong ones.
class Checks {
 public:
    explicit Checks(const char* group) : group_(group) {}

    void that(bool ok, const std::string& what) {
        ok ? ++passed_ : ++failed_;
        if (!ok) std::printf("opcodes_%s: WRONG %s\n", group_, what.c_str());
    }

    template <class T>
    void equal(const std::string& what, const std::vector<T>& got, const std::vector<T>& want) {
        for (size_t i = 0; i < want.size(); ++i) {
            if (i < got.size() && sameBits(got[i], want[i])) continue;
            that(false, what + "[" + std::to_string(i) + "]: " +
                            (i < got.size() ? shown(got[i]) : "nothing") + " instead of " + shown(want[i]));
            return;
        }
        that(true, what);
    }

    /// Each value differs by at most `relative` of itself, or `absolute`.
    template <class T>
    void close(const std::string& what, const std::vector<T>& got, const std::vector<T>& want,
               double relative, double absolute = 0) {
        for (size_t i = 0; i < want.size(); ++i) {
            if (sameBits(got[i], want[i])) continue;
            double difference = std::fabs(double(got[i]) - double(want[i]));
            if (difference <= relative * std::fabs(double(want[i])) + absolute) continue;
            that(false,
                 what + "[" + std::to_string(i) + "]: " + shown(got[i]) + " instead of " + shown(want[i]));
            return;
        }
        that(true, what);
    }

    /// The program's exit status. A launch that failed before counts as a failed check.
    int finish() {
        cudaError_t error = cudaDeviceSynchronize();
        if (error != cudaSuccess) that(false, cudaGetErrorString(error));
        if (failed_ == 0) std::printf("opcodes_%s: %d checks passed\n", group_, passed_);
        if (failed_ != 0) std::printf("opcodes_%s: %d checks passed, %d failed\n", group_, passed_, failed_);
        return failed_ ? 1 : 0;
    }

 private:
    const char* group_;
    int passed_ = 0, failed_ = 0;
};

/// Device memory that a vector goes into and comes out of.
template <class T>
class Device {
 public:
    explicit Device(size_t n, int byte = 0) : size_(n) {
        need(cudaMalloc(&data_, n * sizeof(T)));
        need(cudaMemset(data_, byte, n * sizeof(T)));
    }
    explicit Device(const std::vector<T>& values) : Device(values.size()) {
        need(cudaMemcpy(data_, values.data(), size_ * sizeof(T), cudaMemcpyHostToDevice));
    }
    ~Device() { cudaFree(data_); }
    Device(const Device&) = delete;
    Device& operator=(const Device&) = delete;
    operator T*() const { return data_; }

    /// All values after the kernels so far; a failed launch leaves zeros, and the checks fail.
    std::vector<T> get() const {
        std::vector<T> values(size_);
        cudaError_t error = cudaMemcpy(values.data(), data_, size_ * sizeof(T), cudaMemcpyDeviceToHost);
        cudaError_t launched = cudaGetLastError();
        if (error != cudaSuccess || launched != cudaSuccess) return std::vector<T>(size_);
        return values;
    }

 private:
    T* data_ = nullptr;
    size_t size_;
};

/// A fixed generator: the same inputs on every machine.
class Random {
 public:
    explicit Random(uint64_t seed) : state_(seed) {}
    uint64_t next() {
        state_ = state_ * 6364136223846793005ull + 1442695040888963407ull;
        return state_ >> 32 ^ state_ << 31;
    }
    /// Between low and high, and in no way special.
    double uniform(double low, double high) {
        return low + (high - low) * double(next() >> 11) / 9007199254740992.0;
    }

 private:
    uint64_t state_;
};

/// Three operands for each of many calculations.
template <class T>
struct Inputs {
    std::vector<T> a, b, c;
    void add(T x, T y, T z) {
        a.push_back(x);
        b.push_back(y);
        c.push_back(z);
    }
};

/// All pairs of the values at the borders of the type, and random ones.
template <class T>
Inputs<T> integerInputs() {
    using Limits = std::numeric_limits<T>;
    const T edges[] = {
        T(0), T(1), T(2), T(31), T(32), T(-1), Limits::min(), Limits::max(), T(Limits::max() / 3)};
    Inputs<T> inputs;
    Random random(1);
    for (T a : edges)
        for (T b : edges) inputs.add(a, b, T(random.next()));
    for (int i = 0; i < 175; ++i)
        inputs.add(T(random.next()), T(random.next() >> (i % 64)), T(random.next()));
    return inputs;
}

/// Defines an operation on a, b and c: by the device's means, and by the host's.
#define OPERATION(name, device, host)                                                                       \
    struct name {                                                                                           \
        template <class T>                                                                                  \
        static __device__ auto onDevice([[maybe_unused]] T a, [[maybe_unused]] T b, [[maybe_unused]] T c) { \
            return device;                                                                                  \
        }                                                                                                   \
        template <class T>                                                                                  \
        static auto onHost([[maybe_unused]] T a, [[maybe_unused]] T b, [[maybe_unused]] T c) {              \
            return host;                                                                                    \
        }                                                                                                   \
    };

template <class Operation, class T, class Out>
__global__ void apply(const T* a, const T* b, const T* c, Out* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = Out(Operation::onDevice(a[i], b[i], c[i]));
}

/// Runs an operation over all inputs on both sides. With a relative or absolute bound, they may differ
/// by that.
template <class Operation, class T>
void check(Checks& checks, const std::string& what, const Inputs<T>& inputs, double relative = 0,
           double absolute = 0) {
    using Out = decltype(Operation::onHost(T{}, T{}, T{}));
    int n = int(inputs.a.size());
    Device<T> a(inputs.a), b(inputs.b), c(inputs.c);
    Device<Out> out(inputs.a.size());
    apply<Operation><<<(n + 127) / 128, 128>>>(static_cast<const T*>(a), static_cast<const T*>(b),
                                               static_cast<const T*>(c), static_cast<Out*>(out), n);
    std::vector<Out> want;
    for (int i = 0; i < n; ++i) want.push_back(Operation::onHost(inputs.a[i], inputs.b[i], inputs.c[i]));
    if (relative == 0 && absolute == 0) {
        checks.equal(what, out.get(), want);
    } else if constexpr (std::is_arithmetic_v<Out>) {
        checks.close(what, out.get(), want, relative, absolute);
    }
}

#define CHECK_OPERATION(operation, ...) check<operation>(checks, #operation, __VA_ARGS__)
