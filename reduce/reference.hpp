// reference.hpp: the host's part of this family: inputs, the right result, and how near to it is right.
// Plain loops that use none of the kernels' operators: they are the specification.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstring>
#include <mutex>
#include <string>
#include <vector>

#include "fill.hpp"
#include "operators.cuh"
#include "parallel.hpp"
#include "verify.hpp"

/// What --data offers, the default first. uniform: in [-1, 1), or ints of up to 2e9. negative: below zero, so
/// that a forgotten lane's 0 wins a max. ties: few different values. nan: two NaNs (as for uniform in ints).
/// inf: one of either sign.
inline const std::vector<std::string> DATA = {"uniform", "negative", "ties", "nan", "inf"};

template <typename T>
void fill_input(T* values, int64_t n, const std::string& data, uint64_t seed) {
    using Limits = std::numeric_limits<T>;
    if (data == "ties")
        fill_small_integers(values, n, 2, seed);
    else if constexpr (std::is_same_v<T, int>)
        fill_small_integers(values, n, 2000000000, seed);
    else
        fill_uniform(values, n, seed);
    if (data == "negative")
        parallel_ranges(n, [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i) values[i] = -std::abs(values[i]) - 1;
        });
    if (Limits::has_infinity && n > 0) {
        if (data == "nan") values[n / 3] = values[n - 1 - n / 5] = Limits::quiet_NaN();
        if (data == "inf") values[n / 3] = Limits::infinity();
        if (data == "inf") values[n - 1 - n / 5] = -Limits::infinity();
    }
}

/// A right result: a value, what it lacks (a sum is known to more digits than a double has), and how far from
/// their sum a result may be.
template <typename Op>
struct Expected {
    typename Op::Value value;
    double rest = 0, tolerance = 0;
};

/// Half the distance from 1 to the next number: the largest relative error of one operation.
template <typename T>
constexpr double unit_roundoff() {
    return std::numeric_limits<T>::is_integer ? 0
                                              : static_cast<double>(std::numeric_limits<T>::epsilon()) / 2;
}

/// How far a rounded sum may lie from the exact one, in a type of unit roundoff u.
///
/// Each addition that yields s errs by at most u |s|. That gives the bound u x depth x sum |x|, which always
/// holds and is useless: at 2^28 floats it lets a million elements go missing. But rounding errors are of
/// either sign, so that the size of their sum is about u x sqrt(sum of s^2). Where elements are of either
/// sign too, m of them sum to about sqrt(m) times one; at each of `depth` levels the squares of all s then
/// sum to those of the elements: depth x sum x^2. Where they have a mean, s grows evenly along the last
/// chain, up to the result: depth x sum^2 / 3 more. One error has about 0.3 times that size (it is spread
/// evenly between its bounds, and few s are the last of their chain), so twice the estimate is some seven
/// deviations.
inline double tolerance_of_sum(double u, int64_t depth, double sum, double sum_of_squares) {
    return 2 * u * std::sqrt(static_cast<double>(depth) * (sum_of_squares + sum * sum / 3));
}

/// The most additions that one element goes through in any kernel of this family, on a GPU with this many
/// threads at work at once: its share of the elements, and trees or one atomic a block thereafter.
inline int64_t depth_of_sum(int64_t n, int64_t threads) {
    return std::min(n, n / threads + 1024);
}

/// A number as the unevaluated sum of two doubles, so that additions lose nothing that matters.
struct DoubleDouble {
    double high = 0, low = 0;
    /// Knuth's TwoSum: what the rounded sum lost is itself a double.
    void add(double x) {
        const double sum = high + x, part = sum - high;
        low += (high - (sum - part)) + (x - part);
        high = sum;
    }
};

template <typename T>
Expected<Sum<T>> reference(Sum<T>, const T* in, int64_t n, int64_t threads) {
    std::mutex merging;
    if constexpr (std::is_same_v<T, int>) {
        int64_t sum = 0;
        parallel_ranges(n, [&](int64_t begin, int64_t end) {
            int64_t part = 0;
            for (int64_t i = begin; i < end; ++i) part += in[i];
            const std::lock_guard<std::mutex> lock(merging);
            sum += part;
        });
        return {sum};
    } else {
        DoubleDouble sum;
        double plain = 0, squares = 0;
        parallel_ranges(n, [&](int64_t begin, int64_t end) {
            DoubleDouble part;
            double part_plain = 0, part_squares = 0;
            for (int64_t i = begin; i < end; ++i) {
                const double x = static_cast<double>(in[i]);
                part.add(x);
                part_plain += x;
                part_squares += x * x;
            }
            const std::lock_guard<std::mutex> lock(merging);
            sum.add(part.high);
            sum.low += part.low;
            plain += part_plain;
            squares += part_squares;
        });
        // With NaN or infinity among the elements the low parts are NaN; the plain sum is as IEEE 754 says.
        if (!std::isfinite(plain)) return {static_cast<T>(plain)};
        const T value = static_cast<T>(sum.high + sum.low);
        const double rest = (sum.high - static_cast<double>(value)) + sum.low;
        return {value, rest,
                tolerance_of_sum(unit_roundoff<T>(), depth_of_sum(n, threads), sum.high, squares)};
    }
}

template <typename T>
Expected<ArgMax<T>> reference(ArgMax<T>, const T* in, int64_t n, int64_t) {
    const auto better = [](T a, T b) { return std::isnan(double(a)) ? !std::isnan(double(b)) : a > b; };
    std::mutex merging;
    int64_t best = -1;
    parallel_ranges(n, [&](int64_t begin, int64_t end) {
        if (begin == end) return;
        int64_t first = begin;
        for (int64_t i = begin; i < end; ++i)
            if (better(in[i], in[first])) first = i;
        const std::lock_guard<std::mutex> lock(merging);
        if (best < 0 || better(in[first], in[best]) || (!better(in[best], in[first]) && first < best))
            best = first;
    });
    if (best < 0) return {{Bounds<T>::LOWEST, INT64_MAX}};
    return {{in[best], best}};
}

template <typename T>
Expected<Max<T>> reference(Max<T>, const T* in, int64_t n, int64_t threads) {
    return {reference(ArgMax<T>(), in, n, threads).value.value};
}

template <typename T>
Expected<Min<T>> reference(Min<T>, const T* in, int64_t n, int64_t) {
    std::mutex merging;
    T least = Bounds<T>::HIGHEST;
    bool nan = false;
    parallel_ranges(n, [&](int64_t begin, int64_t end) {
        T part = Bounds<T>::HIGHEST;
        bool part_nan = false;
        for (int64_t i = begin; i < end; ++i) {
            part = std::min(part, in[i]);  // keeps `part` where in[i] is NaN
            part_nan |= std::isnan(double(in[i]));
        }
        const std::lock_guard<std::mutex> lock(merging);
        least = std::min(least, part);
        nan |= part_nan;
    });
    return {nan ? std::numeric_limits<T>::quiet_NaN() : least};
}

/// All bytes 0xFF: a result that no kernel wrote. No kernel's own NaN looks like that: the hardware's has a
/// clear sign.
template <typename V>
bool is_poison(const V& value) {
    const V copy = value;
    unsigned char bytes[sizeof(V)];
    std::memcpy(bytes, &copy, sizeof(V));
    return std::all_of(bytes, bytes + sizeof(V), [](unsigned char b) { return b == 0xFF; });
}

/// The bits of a value, as a number: the same bits give the same number.
template <typename V>
uint64_t bits_of(const V& value) {
    static_assert(sizeof(V) <= sizeof(uint64_t));
    uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof(V));
    return bits;
}
template <typename T>
uint64_t bits_of(const Found<T>& found) {
    return bits_of(found.value) * 0x9E3779B97F4A7C15u ^ static_cast<uint64_t>(found.index);
}

/// For a message: the number itself; of an argmax, the index.
template <typename V>
double plain(const V& value) {
    return static_cast<double>(value);
}
template <typename T>
double plain(const Found<T>& found) {
    return static_cast<double>(found.index);
}

/// Is `got` the expected result? An expected NaN or infinity is matched by the same alone; poison by nothing
/// but a whole number that happens to be -1.
template <typename Op>
Comparison judge(Op, const Expected<Op>& expected, const typename Op::Value& got) {
    Comparison c;
    c.compared = 1;
    c.tolerance = expected.tolerance;
    const double shown = plain(got), wanted = plain(expected.value);
    bool right;
    if constexpr (std::is_same_v<Op, ArgMax<typename Op::Element>>) {
        right = got.index == expected.value.index &&
                (got.value == expected.value.value || (is_nan(got.value) && is_nan(expected.value.value)));
    } else {
        if (std::isfinite(wanted)) {
            // In this form a NaN is wrong. Equal ints have equal doubles, but not the other way round.
            c.worst_error = std::fabs((shown - wanted) - expected.rest);
            right = std::numeric_limits<typename Op::Value>::is_integer ? got == expected.value
                                                                        : c.worst_error <= c.tolerance;
            if (!std::isfinite(c.worst_error)) c.worst_error = 0;
        } else {
            right = std::isnan(wanted) ? std::isnan(shown) && !is_poison(got) : shown == wanted;
        }
        c.not_finite = !std::isfinite(shown);
    }
    if (!right) {
        c.wrong = 1;
        c.first.push_back({0, shown, wanted});
    }
    return c;
}
