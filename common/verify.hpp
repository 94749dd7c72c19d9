// verify.hpp: is a result right? Every cell is compared; NaN and infinity never pass.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <mutex>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "parallel.hpp"

/// A cell that is wrong.
struct Difference {
    int64_t index;
    double got, want;
};

/// What a comparison found.
struct Comparison {
    static constexpr size_t MAX_SHOWN = 5;

    int64_t compared = 0, wrong = 0, not_finite = 0;
    double worst_error = 0;         ///< the largest |got - want| of the finite cells
    double tolerance = 0;           ///< the largest error that was allowed
    bool bad_tolerance = false;     ///< negative, NaN or infinite
    std::vector<Difference> first;  ///< the first MAX_SHOWN wrong cells, by index

    /// A comparison of nothing shows nothing.
    bool ok() const { return compared > 0 && wrong == 0; }
    /// "2 of 100 wrong, the first at 7: got nan, want 3".
    std::string describe() const;
};

/// |a - b|: of integers exactly, where both are (a double does not hold every int64).
template <typename A, typename B>
double distance(A a, B b) {
    if constexpr (std::is_integral_v<A> && std::is_integral_v<B>) {
        const __int128 difference = static_cast<__int128>(a) - b;
        return static_cast<double>(difference < 0 ? -difference : difference);
    } else {
        return std::fabs(static_cast<double>(a) - static_cast<double>(b));
    }
}

/// Compares got(i) with want(i) for i in 0..count, on all cores. A cell is right where |got - want| <= tolerance(i) (0:
/// exactly equal) and got is finite. Throws std::invalid_argument for a tolerance that is no finite number from 0 on.
template <typename Tolerance, typename Got, typename Want>
Comparison compare_each(int64_t count, const Tolerance& tolerance, const Got& got, const Want& want) {
    Comparison all;
    all.compared = count;
    std::mutex merging;
    parallel_ranges(count, [&](int64_t begin, int64_t end) {
        Comparison part;
        for (int64_t i = begin; i < end; ++i) {
            const auto is = got(i);
            const auto should_be = want(i);
            const double a = static_cast<double>(is), b = static_cast<double>(should_be);
            const double error = distance(is, should_be), allowed = tolerance(i);
            part.bad_tolerance |= !(allowed >= 0 && std::isfinite(allowed));
            // In this form a NaN is wrong; with (error > allowed) it would pass.
            if (!(error <= allowed) || !std::isfinite(a)) {
                ++part.wrong;
                if (part.first.size() < Comparison::MAX_SHOWN) part.first.push_back({i, a, b});
            }
            if (!std::isfinite(a)) ++part.not_finite;
            if (std::isfinite(error)) part.worst_error = std::max(part.worst_error, error);
            part.tolerance = std::max(part.tolerance, allowed);
        }
        const std::lock_guard<std::mutex> lock(merging);
        all.wrong += part.wrong;
        all.not_finite += part.not_finite;
        all.worst_error = std::max(all.worst_error, part.worst_error);
        all.tolerance = std::max(all.tolerance, part.tolerance);
        all.bad_tolerance |= part.bad_tolerance;
        all.first.insert(all.first.end(), part.first.begin(), part.first.end());
    });
    std::sort(all.first.begin(), all.first.end(), [](auto& a, auto& b) { return a.index < b.index; });
    if (all.bad_tolerance) throw std::invalid_argument("a tolerance must be a finite number, 0 or more");
    if (all.first.size() > Comparison::MAX_SHOWN) all.first.resize(Comparison::MAX_SHOWN);
    return all;
}

/// The same with one tolerance for all cells.
template <typename Got, typename Want>
Comparison compare(int64_t count, double tolerance, const Got& got, const Want& want) {
    Comparison all = compare_each(
        count, [=](int64_t) { return tolerance; }, got, want);
    all.tolerance = tolerance;
    return all;
}
