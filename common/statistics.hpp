// statistics.hpp: what a set of timings says, and how surely.
#pragma once
#include <cstddef>
#include <limits>
#include <vector>

/// A figure that the samples cannot give: a mean of nothing, a deviation of one.
constexpr double NOT_KNOWN = std::numeric_limits<double>::quiet_NaN();

/// What a summary of samples holds; NOT_KNOWN where there are too few of them.
struct Summary {
    size_t samples;
    double mean, stddev;  ///< stddev divides by n - 1
    double median, min, max;
    double lower_quartile, upper_quartile;  ///< medians of the lower and the upper half (Tukey's hinges)
};

/// Mean and deviation in two passes: E[x^2] - E[x]^2 cancels to nonsense, or to NaN, at a small spread.
Summary summarize(const std::vector<double>& samples);

/// A median with its 95 % confidence interval; low and high are NaN for fewer than six samples.
struct Estimate {
    double value = NOT_KNOWN, low = NOT_KNOWN, high = NOT_KNOWN;
};

/// The interval is between order statistics (sign test): it assumes nothing of the distribution of the
/// samples.
Estimate estimate_median(std::vector<double> samples);

/// The median of numerator[i] / denominator[i], each pair measured in the same round. Both have the same
/// length.
Estimate estimate_ratio(const std::vector<double>& numerator, const std::vector<double>& denominator);
