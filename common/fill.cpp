#include "fill.hpp"

#include <cmath>
#include <cstring>

#include "parallel.hpp"

namespace {

// SplitMix64 (Steele, Lea, Flood 2014) as a hash of (seed, index): each value depends on its index alone.
uint64_t hash(uint64_t seed, uint64_t index) {
    uint64_t z = (index + 1) * 0x9E3779B97F4A7C15u + seed * 0xD1342543DE82EF95u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

// In [0, 1), by the upper 53 bits.
double unit(uint64_t bits) {
    return static_cast<double>(bits >> 11) * 0x1p-53;
}

// A bijection of the numbers of `bits` bits: odd factors and right shifts can each be undone.
uint64_t permute(uint64_t index, int bits, uint64_t seed) {
    const uint64_t mask = (uint64_t{1} << bits) - 1;
    uint64_t z = (index ^ hash(seed, 0)) & mask;
    for (int round = 0; round < 3; ++round) {
        z = (z * 0x9E3779B97F4A7C15u) & mask;
        z ^= z >> (bits / 2 + 1);
    }
    return z;
}

template <typename T, typename Value>
void fill(T* values, int64_t count, const Value& value) {
    parallel_ranges(count, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) values[i] = static_cast<T>(value(i));
    });
}

}  // namespace

template <typename T>
void fill_distinct(T* values, int64_t count, uint64_t seed) {
    int bits = 1;
    while ((int64_t{1} << bits) < count) ++bits;
    if (bits <= 24) {
        fill(values, count, [=](int64_t i) { return permute(i, bits, seed); });
        return;
    }
    // 30 bits: sign, 6 bits of an exponent around zero, 23 bits of mantissa.
    fill(values, count, [=](int64_t i) {
        const uint64_t p = permute(i & ((1 << 30) - 1), 30, seed + (i >> 30));
        const uint32_t pattern =
            static_cast<uint32_t>((p >> 29) << 31 | ((p >> 23 & 63) + 96) << 23 | (p & 0x7FFFFF));
        float f;
        std::memcpy(&f, &pattern, sizeof f);
        return f;
    });
}

template <typename T>
void fill_uniform(T* values, int64_t count, uint64_t seed) {
    // Truncation to 24 bits keeps a float below 1.
    fill(values, count, [=](int64_t i) {
        return sizeof(T) == 4 ? static_cast<double>(hash(seed, i) >> 40) * 0x1p-23 - 1
                              : 2 * unit(hash(seed, i)) - 1;
    });
}

template <typename T>
void fill_normal(T* values, int64_t count, uint64_t seed) {
    // Box and Muller; 1 - unit is never 0, so the logarithm is finite.
    fill(values, count, [=](int64_t i) {
        const double radius = std::sqrt(-2 * std::log(1 - unit(hash(seed, 2 * i))));
        return radius * std::cos(6.283185307179586 * unit(hash(seed, 2 * i + 1)));
    });
}

template <typename T>
void fill_small_integers(T* values, int64_t count, int magnitude, uint64_t seed) {
    const uint64_t choices = 2 * static_cast<uint64_t>(magnitude) + 1;
    fill(values, count, [=](int64_t i) { return static_cast<int64_t>(hash(seed, i) % choices) - magnitude; });
}

#define INSTANTIATE(T)                                  \
    template void fill_distinct(T*, int64_t, uint64_t); \
    template void fill_uniform(T*, int64_t, uint64_t);  \
    template void fill_normal(T*, int64_t, uint64_t);
INSTANTIATE(float)
INSTANTIATE(double)
template void fill_small_integers(float*, int64_t, int, uint64_t);
template void fill_small_integers(double*, int64_t, int, uint64_t);
template void fill_small_integers(int*, int64_t, int, uint64_t);
