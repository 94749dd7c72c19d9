#include "statistics.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace {

// The median of sorted[begin, end).
double middle(const std::vector<double>& sorted, size_t begin, size_t end) {
    const size_t count = end - begin;
    if (count == 0) return NOT_KNOWN;
    const size_t half = begin + count / 2;
    return count % 2 ? sorted[half] : sorted[half - 1] + (sorted[half] - sorted[half - 1]) / 2;
}

// The largest k such that the k-th smallest and the k-th largest of n samples hold the true median between
// them with a probability of at least 95 %: P(Binomial(n, 1/2) < k) <= 2.5 %. 0 where n is too small for any.
size_t rank_of_interval(size_t n) {
    double term = std::exp2(-static_cast<double>(n)), below = 0;
    size_t k = 0;
    while (k < n && below + term <= 0.025) {
        below += term;
        term *= static_cast<double>(n - k) / static_cast<double>(k + 1);
        ++k;
    }
    return k;
}

}  // namespace

Summary summarize(const std::vector<double>& samples) {
    const size_t n = samples.size();
    Summary s{n, NOT_KNOWN, NOT_KNOWN, NOT_KNOWN, NOT_KNOWN, NOT_KNOWN, NOT_KNOWN, NOT_KNOWN};
    if (n == 0) return s;

    double sum = 0;
    for (double x : samples) sum += x;
    s.mean = sum / static_cast<double>(n);
    double squares = 0;
    for (double x : samples) squares += (x - s.mean) * (x - s.mean);
    if (n > 1) s.stddev = std::sqrt(squares / static_cast<double>(n - 1));

    std::vector<double> sorted = samples;
    std::sort(sorted.begin(), sorted.end());
    s.min = sorted.front();
    s.max = sorted.back();
    s.median = middle(sorted, 0, n);
    s.lower_quartile = middle(sorted, 0, (n + 1) / 2);
    s.upper_quartile = middle(sorted, n / 2, n);
    return s;
}

Estimate estimate_median(std::vector<double> samples) {
    std::sort(samples.begin(), samples.end());
    const size_t n = samples.size(), k = n > 1000 ? 0 : rank_of_interval(n);
    Estimate e{middle(samples, 0, n), NOT_KNOWN, NOT_KNOWN};
    if (n > 1000) {
        // 2^-n would be denormal; the normal approximation of the same rank is exact enough here.
        const size_t rank =
            static_cast<size_t>((static_cast<double>(n) - 1.96 * std::sqrt(static_cast<double>(n))) / 2);
        e.low = samples[rank - 1];
        e.high = samples[n - rank];
    } else if (k > 0) {
        e.low = samples[k - 1];
        e.high = samples[n - k];
    }
    return e;
}

Estimate estimate_ratio(const std::vector<double>& numerator, const std::vector<double>& denominator) {
    if (numerator.size() != denominator.size()) throw std::invalid_argument("a ratio needs pairs");
    std::vector<double> ratios(numerator.size());
    for (size_t i = 0; i < ratios.size(); ++i) ratios[i] = numerator[i] / denominator[i];
    return estimate_median(std::move(ratios));
}
