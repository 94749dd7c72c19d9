// The formats below single precision, f16, bf16 and tf32, and rounding to any of them.
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace ladder {
struct FloatFormat {
    int digits;    ///< of the significand, with the hidden one
    int smallest;  ///< exponent of the last place of subnormal numbers
    double largest;
};
constexpr FloatFormat HALF_FORMAT{11, -24, 65504.0}, BFLOAT_FORMAT{8, -133, 3.3895313892515355e38};
constexpr FloatFormat TF32_FORMAT{11, -136, 3.4011621342146535e38},
    SINGLE_FORMAT{24, -149, 3.4028234663852886e38};

/// Rounds to a format; mode 0 is to nearest even, 'a' to nearest with ties away, 'z', 'm', 'p' as in PTX.
inline double round_to(double x, const FloatFormat& f, char mode = 0) {
    if (!std::isfinite(x) || x == 0) return x;
    int exponent;
    std::frexp(x, &exponent);
    int place = std::max(exponent - f.digits, f.smallest);
    double scaled = std::ldexp(x, -place);
    double r = mode == 'z'   ? std::trunc(scaled)
               : mode == 'm' ? std::floor(scaled)
               : mode == 'p' ? std::ceil(scaled)
               : mode == 'a' ? std::round(scaled)
                             : std::nearbyint(scaled);
    double y = std::ldexp(r, place);
    if (std::abs(y) <= f.largest) return r == 0 ? std::copysign(0.0, x) : y;
    bool to_infinity = mode == 0 || mode == 'a' || (mode == 'p' && x > 0) || (mode == 'm' && x < 0);
    return std::copysign(to_infinity ? std::numeric_limits<double>::infinity() : f.largest, x);
}

// Half precision by its definition (IEEE 754 binary16): not every C++ compiler has the type.
struct Half {
    uint16_t bits;
    static Half from(double x, char mode = 0) {
        if (x != x) return {0x7fff};
        const double y = round_to(x, HALF_FORMAT, mode), magnitude = std::abs(y);
        uint16_t b = std::signbit(y) ? 0x8000 : 0;
        if (std::isinf(y)) return {static_cast<uint16_t>(b | 0x7c00)};
        if (magnitude < 0x1p-14)
            return {static_cast<uint16_t>(b | static_cast<uint16_t>(magnitude * 0x1p24))};
        const int exponent = std::ilogb(magnitude);
        const auto digits = static_cast<uint16_t>(std::ldexp(magnitude, 10 - exponent));  // 1024 to 2047
        return {static_cast<uint16_t>(b | (exponent + 15) << 10 | (digits - 1024))};
    }
    static Half from_single(float x) { return from(x); }
    float value() const {
        const int exponent = bits >> 10 & 31, digits = bits & 1023;
        const float magnitude = exponent == 31 ? digits ? std::numeric_limits<float>::quiet_NaN()
                                                        : std::numeric_limits<float>::infinity()
                                : exponent ? std::ldexp(static_cast<float>(1024 + digits), exponent - 25)
                                               : std::ldexp(static_cast<float>(digits), -24);
        return bits >> 15 ? -magnitude : magnitude;
    }
};

struct Bfloat {
    uint16_t bits;
    static Bfloat from_single(float x) {
        uint32_t b = std::bit_cast<uint32_t>(x);
        return {static_cast<uint16_t>(x != x ? 0x7fff : (b + 0x7fff + (b >> 16 & 1)) >> 16)};
    }
    static Bfloat from(double x, char mode = 0) { return from_single(round_to(x, BFLOAT_FORMAT, mode)); }
    float value() const { return std::bit_cast<float>(uint32_t{bits} << 16); }
};

/// Two short values in one register.
template <class H>
struct Pair {
    using Half = H;
    H low, high;
};
template <class T>
constexpr bool is_pair = false;
template <class H>
constexpr bool is_pair<Pair<H>> = true;

/// A number that C++ can reckon with.
template <class T>
auto value_of(T v) {
    if constexpr (std::is_arithmetic_v<T>)
        return v;
    else
        return v.value();
}

/// a * b + c of short factors, rounded once: the sum is rounded to odd, so that a later rounding to fewer
/// digits sees on which side of a tie it lies.
inline double short_fma(double a, double b, double c) {
    double product = a * b, sum = product + c;
    if (!std::isfinite(sum)) return sum;
    double part = sum - product, error = (product - (sum - part)) + (c - part);
    uint64_t bits = std::bit_cast<uint64_t>(sum);
    if (error == 0 || (bits & 1)) return sum;
    return std::bit_cast<double>((error > 0) == (sum > 0) ? bits + 1 : bits - 1);
}
}  // namespace ladder
