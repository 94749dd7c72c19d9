// The formats below single precision, f16, bf16 and tf32, and rounding to any of them.
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#ifdef __F16C__
#include <immintrin.h>
#endif

namespace ladder {

struct FloatFormat {
    int digits;    ///< of the significand, with the hidden one
    int smallest;  ///< exponent of the last place of subnormal numbers
    double largest;
};
constexpr FloatFormat kHalfFormat{11, -24, 65504.0}, kBfloatFormat{8, -133, 3.3895313892515355e38};
constexpr FloatFormat kTf32Format{11, -136, 3.4011621342146535e38},
    kSingleFormat{24, -149, 3.4028234663852886e38};

/// Rounds to a format; mode 0 is to nearest even, 'a' to nearest with ties away, 'z', 'm', 'p' as in PTX.
inline double round_to(double x, const FloatFormat& f, char mode = 0) {
    if (!std::isfinite(x) || x == 0) return x;
    int exponent;
    std::frexp(x, &exponent);
    int place = std::max(exponent - f.digits, f.smallest);
    double scaled = std::ldexp(x, -place), r = 0;
    switch (mode) {
        case 'z': r = std::trunc(scaled); break;
        case 'm': r = std::floor(scaled); break;
        case 'p': r = std::ceil(scaled); break;
        case 'a': r = std::round(scaled); break;
        default: r = std::nearbyint(scaled);
    }
    double y = std::ldexp(r, place);
    if (std::abs(y) <= f.largest) return r == 0 ? std::copysign(0.0, x) : y;
    bool to_infinity = mode == 0 || mode == 'a' || (mode == 'p' && x > 0) || (mode == 'm' && x < 0);
    return std::copysign(to_infinity ? std::numeric_limits<double>::infinity() : f.largest, x);
}

/// The bits of a double that is exact in half precision.
inline uint16_t half_bits(double x) {
    uint16_t sign = std::signbit(x) ? 0x8000 : 0;
    double magnitude = std::abs(x);
    if (std::isnan(x)) return 0x7fff;
    if (std::isinf(x)) return sign | 0x7c00;
    if (magnitude < 0x1p-14) return sign | static_cast<uint16_t>(magnitude * 0x1p24);
    int exponent;
    double fraction = std::frexp(magnitude, &exponent);
    return static_cast<uint16_t>(sign | ((exponent + 14) << 10) | (static_cast<int>(fraction * 2048) & 1023));
}

struct Half {
    uint16_t bits;
    static constexpr const FloatFormat& format = kHalfFormat;
    static Half from(double x, char mode = 0) { return {half_bits(round_to(x, kHalfFormat, mode))}; }
    static Half from_single(float x) {
#ifdef __F16C__
        if (x != x) return {0x7fff};
        return {static_cast<uint16_t>(_cvtss_sh(x, _MM_FROUND_TO_NEAREST_INT))};
#else
        return from(x);
#endif
    }
    float value() const {
#ifdef __F16C__
        return _cvtsh_ss(bits);
#else
        int exponent = bits >> 10 & 31, fraction = bits & 1023;
        float m = exponent == 31 ? (fraction ? NAN : INFINITY)
                  : exponent     ? std::ldexp(static_cast<float>(fraction + 1024), exponent - 25)
                                 : std::ldexp(static_cast<float>(fraction), -24);
        return bits & 0x8000 ? -m : m;
#endif
    }
};

struct Bfloat {
    uint16_t bits;
    static constexpr const FloatFormat& format = kBfloatFormat;
    static Bfloat from(double x, char mode = 0) {
        if (std::isnan(x)) return {0x7fff};
        return {static_cast<uint16_t>(
            std::bit_cast<uint32_t>(static_cast<float>(round_to(x, kBfloatFormat, mode))) >> 16)};
    }
    static Bfloat from_single(float x) {
        uint32_t b = std::bit_cast<uint32_t>(x);
        if (x != x) return {0x7fff};
        return {static_cast<uint16_t>((b + 0x7fff + (b >> 16 & 1)) >> 16)};
    }
    float value() const { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }
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
