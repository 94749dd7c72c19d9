#include "statistics.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

TEST(Summarize, KnownValues) {
    const Summary s = summarize({2, 4, 4, 4, 5, 5, 7, 9});
    EXPECT_EQ(s.samples, 8u);
    EXPECT_DOUBLE_EQ(s.mean, 5);
    EXPECT_DOUBLE_EQ(s.stddev, std::sqrt(32.0 / 7));
    EXPECT_DOUBLE_EQ(s.median, 4.5);
    EXPECT_DOUBLE_EQ(s.min, 2);
    EXPECT_DOUBLE_EQ(s.max, 9);
    EXPECT_DOUBLE_EQ(s.lower_quartile, 4);
    EXPECT_DOUBLE_EQ(s.upper_quartile, 6);
}

TEST(Summarize, OddMedianAndUnsortedInput) {
    const Summary s = summarize({9, 1, 5});
    EXPECT_DOUBLE_EQ(s.median, 5);
    EXPECT_DOUBLE_EQ(s.lower_quartile, 3);
    EXPECT_DOUBLE_EQ(s.upper_quartile, 7);
}

TEST(Summarize, SmallSpreadAroundALargeMean) {
    // E[x^2] - E[x]^2 gives 0 or NaN here: 1e20 has no room for the 1.
    const Summary s = summarize({1e10 - 1, 1e10, 1e10 + 1});
    EXPECT_DOUBLE_EQ(s.mean, 1e10);
    EXPECT_DOUBLE_EQ(s.stddev, 1);
    const Summary near = summarize({1 - 1e-6, 1, 1 + 1e-6});
    EXPECT_NEAR(near.stddev, 1e-6, 1e-15);
}

TEST(Summarize, EqualSamplesHaveNoSpread) {
    EXPECT_EQ(summarize({0.1, 0.1, 0.1, 0.1}).stddev, 0);
}

TEST(Summarize, OneSampleHasNoDeviation) {
    const Summary s = summarize({3});
    EXPECT_EQ(s.mean, 3);
    EXPECT_EQ(s.median, 3);
    EXPECT_TRUE(std::isnan(s.stddev));
}

TEST(Summarize, NothingHasNoFigures) {
    const Summary s = summarize({});
    EXPECT_EQ(s.samples, 0u);
    for (double figure : {s.mean, s.stddev, s.median, s.min, s.max, s.lower_quartile, s.upper_quartile})
        EXPECT_TRUE(std::isnan(figure));
}

TEST(EstimateMedian, RanksOfTheSignTest) {
    // n = 10: the 2nd and the 9th (97.9 %); n = 20: the 6th and the 15th (95.9 %). Tables of the binomial.
    std::vector<double> ten, twenty;
    for (int i = 1; i <= 10; ++i) ten.push_back(i);
    for (int i = 20; i >= 1; --i) twenty.push_back(i);
    EXPECT_DOUBLE_EQ(estimate_median(ten).value, 5.5);
    EXPECT_DOUBLE_EQ(estimate_median(ten).low, 2);
    EXPECT_DOUBLE_EQ(estimate_median(ten).high, 9);
    EXPECT_DOUBLE_EQ(estimate_median(twenty).low, 6);
    EXPECT_DOUBLE_EQ(estimate_median(twenty).high, 15);
}

TEST(EstimateMedian, FewerThanSixSamplesGiveNoInterval) {
    const Estimate five = estimate_median({1, 2, 3, 4, 5}), six = estimate_median({1, 2, 3, 4, 5, 6});
    EXPECT_DOUBLE_EQ(five.value, 3);
    EXPECT_TRUE(std::isnan(five.low));
    EXPECT_TRUE(std::isnan(five.high));
    EXPECT_DOUBLE_EQ(six.low, 1);
    EXPECT_DOUBLE_EQ(six.high, 6);
    EXPECT_TRUE(std::isnan(estimate_median({}).value));
}

TEST(EstimateMedian, ManySamples) {
    std::vector<double> samples;
    for (int i = 1; i <= 10000; ++i) samples.push_back(i);
    const Estimate e = estimate_median(samples);
    EXPECT_DOUBLE_EQ(e.value, 5000.5);
    EXPECT_NEAR(e.low, 5000.5 - 98, 2);  // 1.96 * sqrt(n) / 2
    EXPECT_NEAR(e.high, 5000.5 + 98, 2);
}

TEST(EstimateRatio, IsPairedByRound) {
    // Both slow down together: each pair has the ratio 2, though the medians of the sides are far apart by
    // round.
    const Estimate e = estimate_ratio({2, 4, 8, 16, 32, 64}, {1, 2, 4, 8, 16, 32});
    EXPECT_DOUBLE_EQ(e.value, 2);
    EXPECT_DOUBLE_EQ(e.low, 2);
    EXPECT_DOUBLE_EQ(e.high, 2);
    EXPECT_THROW(estimate_ratio({1}, {1, 2}), std::invalid_argument);
}
