// operators.cuh: sum, max, min and argmax, for host and device, with the rules that all kernels keep.
//
// Rules:  NaN       a sum with NaN is NaN; max and min: NaN wins wherever it stands; argmax: the first NaN
//         ties      argmax: the lowest index; zeros of both signs are equal
//         nothing   the neutral element: 0 for a sum, -Inf or the lowest int for a max, the opposite for a min
//         overflow  sums of int are int64_t
// An operator is commutative and has a neutral element, so that any order and any padding give its result; a
// sum of floats is so but for rounding.
#pragma once
#include <cuda_runtime.h>

#include <cstdint>
#include <limits>
#include <type_traits>

template <typename T>
struct Bounds {
    using Limits = std::numeric_limits<T>;
    static constexpr T LOWEST = Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
    static constexpr T HIGHEST = Limits::has_infinity ? Limits::infinity() : Limits::max();
};

template <typename T>
__host__ __device__ bool is_nan(T x) {
    return x != x;
}

/// Element: what is read. Value: what it is reduced in, and the result. lift: the value of an element alone.
template <typename T>
struct Sum {
    using Element = T;
    using Value = std::conditional_t<std::is_same_v<T, int>, int64_t, T>;
    static constexpr const char* NAME = "sum";
    __host__ __device__ Value neutral() const { return 0; }
    __host__ __device__ Value lift(T x, int64_t) const { return x; }
    __host__ __device__ Value operator()(Value a, Value b) const { return a + b; }
};

template <typename T>
struct Max {
    using Element = T;
    using Value = T;
    static constexpr const char* NAME = "max";
    __host__ __device__ T neutral() const { return Bounds<T>::LOWEST; }
    __host__ __device__ T lift(T x, int64_t) const { return x; }
    __host__ __device__ T operator()(T a, T b) const { return a > b || is_nan(a) ? a : b; }
};

template <typename T>
struct Min {
    using Element = T;
    using Value = T;
    static constexpr const char* NAME = "min";
    __host__ __device__ T neutral() const { return Bounds<T>::HIGHEST; }
    __host__ __device__ T lift(T x, int64_t) const { return x; }
    __host__ __device__ T operator()(T a, T b) const { return a < b || is_nan(a) ? a : b; }
};

/// An element and where it stands.
template <typename T>
struct Found {
    T value;
    int64_t index;
};

template <typename T>
struct ArgMax {
    using Element = T;
    using Value = Found<T>;
    static constexpr const char* NAME = "argmax";
    /// Its index is behind all others, so that even an element of -Inf is found before it.
    __host__ __device__ Value neutral() const { return {Bounds<T>::LOWEST, INT64_MAX}; }
    __host__ __device__ Value lift(T x, int64_t i) const { return {x, i}; }
    __host__ __device__ Value operator()(Value a, Value b) const {
        const bool tie = a.value == b.value || (is_nan(a.value) && is_nan(b.value));
        if (tie) return a.index < b.index ? a : b;
        return a.value > b.value || is_nan(a.value) ? a : b;
    }
};

/// Value and index of a 4-byte element as one 64-bit number whose order is argmax's: the greater key has the
/// greater value and, of equal values, the lower index. None is
/// less than 0, which can stand for no element.
template <typename T>
__host__ __device__ uint64_t key_of(T value, uint32_t index) {
    static_assert(sizeof(T) == 4);
    union {
        T value;
        uint32_t bits;
    } both;
    uint32_t order;
    if constexpr (std::is_same_v<T, float>) {
        both.value = value + 0.0f;  // -0 becomes +0: they are equal
        // The bits of floats ascend with the value from +0 up, and descend below: turn those round.
        order = both.bits >> 31 ? ~both.bits : both.bits | 0x80000000u;
        if (is_nan(value)) order = 0xFFFFFFFFu;
    } else {
        both.value = value;
        order = both.bits ^ 0x80000000u;
    }
    return uint64_t{order} << 32 | static_cast<uint32_t>(~index);
}

/// The index in a key.
__host__ __device__ inline uint32_t index_in(uint64_t key) {
    return ~static_cast<uint32_t>(key);
}
