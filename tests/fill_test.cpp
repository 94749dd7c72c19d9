#include "fill.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <vector>

TEST(Distinct, SmallIsAPermutationOfIntegers) {
    for (int64_t count : {1, 2, 3, 1000, 1024, 1025}) {
        std::vector<float> v(count);
        fill_distinct(v.data(), count, 1);
        const std::set<float> values(v.begin(), v.end());
        EXPECT_EQ(static_cast<int64_t>(values.size()), count);
        EXPECT_GE(*values.begin(), 0);
        EXPECT_LT(*values.rbegin(), std::max<int64_t>(2, 2 * count));
        for (float x : v) EXPECT_EQ(x, std::floor(x));
    }
}

template <typename T>
void expect_distinct_past_24_bits() {
    const int64_t count = (1 << 24) + 12345;  // float cannot tell the integers apart any more
    std::vector<T> v(count);
    fill_distinct(v.data(), count, 7);
    for (T x : v) ASSERT_TRUE(std::isfinite(x));
    std::sort(v.begin(), v.end());
    EXPECT_EQ(std::adjacent_find(v.begin(), v.end()), v.end());
}
TEST(Distinct, LargeFloat) {
    expect_distinct_past_24_bits<float>();
}
TEST(Distinct, LargeDouble) {
    expect_distinct_past_24_bits<double>();
}

TEST(Fill, TheSeedDecides) {
    std::vector<double> a(1000), b(1000), c(1000);
    fill_uniform(a.data(), 1000, 5);
    fill_uniform(b.data(), 1000, 5);
    fill_uniform(c.data(), 1000, 6);
    EXPECT_EQ(a, b);
    EXPECT_NE(a, c);
}

TEST(Fill, APrefixDoesNotDependOnTheCount) {
    std::vector<double> whole(200000), part(1000);  // the whole is filled by several threads
    fill_normal(whole.data(), 200000, 3);
    fill_normal(part.data(), 1000, 3);
    EXPECT_TRUE(std::equal(part.begin(), part.end(), whole.begin()));
}

template <typename T>
void expect_uniform() {
    std::vector<T> v(100000);
    fill_uniform(v.data(), 100000, 1);
    EXPECT_GE(*std::min_element(v.begin(), v.end()), T(-1));
    EXPECT_LT(*std::max_element(v.begin(), v.end()), T(1));
    const double mean = std::accumulate(v.begin(), v.end(), 0.0) / 100000;
    EXPECT_NEAR(mean, 0, 0.01);  // 5 sigma are 0.009
}
TEST(Uniform, Float) {
    expect_uniform<float>();
}
TEST(Uniform, Double) {
    expect_uniform<double>();
}

TEST(Normal, MeanAndDeviation) {
    std::vector<float> v(100000);
    fill_normal(v.data(), 100000, 1);
    double sum = 0, squares = 0;
    for (float x : v) {
        ASSERT_TRUE(std::isfinite(x));
        sum += x;
        squares += static_cast<double>(x) * x;
    }
    EXPECT_NEAR(sum / 100000, 0, 0.016);  // 5 sigma
    EXPECT_NEAR(squares / 100000, 1, 0.023);
}

TEST(SmallIntegers, EveryValueOccursAndNoOther) {
    std::vector<int> v(10000);
    fill_small_integers(v.data(), 10000, 3, 1);
    EXPECT_EQ(std::set<int>(v.begin(), v.end()), (std::set<int>{-3, -2, -1, 0, 1, 2, 3}));
}
