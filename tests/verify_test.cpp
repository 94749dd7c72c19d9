#include "verify.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace {

Comparison compare_vectors(const std::vector<double>& got, const std::vector<double>& want,
                           double tolerance) {
    return compare(
        static_cast<int64_t>(got.size()), tolerance, [&](int64_t i) { return got[i]; },
        [&](int64_t i) { return want[i]; });
}
constexpr double NOT_A_NUMBER = std::numeric_limits<double>::quiet_NaN();
constexpr double INFINITE = std::numeric_limits<double>::infinity();

}  // namespace

TEST(Compare, EqualIsRight) {
    const Comparison c = compare_vectors({1, 2, 3}, {1, 2, 3}, 0);
    EXPECT_TRUE(c.ok());
    EXPECT_EQ(c.compared, 3);
    EXPECT_EQ(c.worst_error, 0);
    EXPECT_TRUE(c.first.empty());
}

TEST(Compare, NothingIsNotRight) {
    const Comparison c = compare_vectors({}, {}, 0);
    EXPECT_FALSE(c.ok());
    EXPECT_EQ(c.describe(), "nothing was compared");
}

TEST(Compare, IntegersAreComparedAsIntegers) {
    const auto found = [](int64_t a, int64_t b) {
        return compare(
            1, 0, [=](int64_t) { return a; }, [=](int64_t) { return b; });
    };
    constexpr int64_t BIG = int64_t{1} << 53;  // from here on a double skips every other one
    EXPECT_TRUE(found(BIG + 1, BIG + 1).ok());
    EXPECT_FALSE(found(BIG, BIG + 1).ok());
    EXPECT_EQ(found(BIG, BIG + 1).worst_error, 1);
    EXPECT_EQ(found(std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()).worst_error,
              0x1p64);
}

TEST(Compare, AToleranceIsAFiniteNumber) {
    for (const double tolerance : {INFINITE, NOT_A_NUMBER, -1.0})
        EXPECT_THROW(compare_vectors({1}, {1}, tolerance), std::invalid_argument) << tolerance;
}

TEST(Compare, TheEdgeOfTheTolerance) {
    EXPECT_TRUE(compare_vectors({1.5}, {1}, 0.5).ok());
    EXPECT_FALSE(compare_vectors({1.5}, {1}, std::nextafter(0.5, 0)).ok());
    EXPECT_FALSE(compare_vectors({std::nextafter(1.0, 2)}, {1}, 0).ok());
}

TEST(Compare, EachCellHasItsOwnTolerance) {
    const auto found = [](double tolerance_of_second) {
        const double allowed[] = {2, tolerance_of_second}, got[] = {1, 1};
        return compare_each(
            2, [&](int64_t i) { return allowed[i]; }, [&](int64_t i) { return got[i]; },
            [](int64_t) { return 0; });
    };
    EXPECT_TRUE(found(1).ok());
    EXPECT_EQ(found(1).tolerance, 2);
    EXPECT_EQ(found(0.5).wrong, 1);
    EXPECT_EQ(found(0.5).first[0].index, 1);
    EXPECT_THROW(found(NOT_A_NUMBER), std::invalid_argument);
}

TEST(Compare, NanNeverPasses) {
    EXPECT_FALSE(compare_vectors({NOT_A_NUMBER}, {1}, 1e300).ok());
    EXPECT_FALSE(compare_vectors({NOT_A_NUMBER}, {NOT_A_NUMBER}, 1e300).ok());
    EXPECT_FALSE(compare_vectors({1}, {NOT_A_NUMBER}, 1e300).ok());
}

TEST(Compare, InfinityNeverPasses) {
    const Comparison c = compare_vectors({INFINITE, -INFINITE, 0}, {INFINITE, 1, 0}, 1e300);
    EXPECT_EQ(c.wrong, 2);
    EXPECT_EQ(c.not_finite, 2);
}

TEST(Compare, FirstDifferencesInOrderAcrossThreads) {
    const int64_t count = 1 << 20;
    const auto c = compare(
        count, 0, [](int64_t i) { return i; }, [&](int64_t i) { return i % 100000 == 7 ? -1 : i; });
    EXPECT_EQ(c.wrong, 11);
    ASSERT_EQ(c.first.size(), Comparison::MAX_SHOWN);
    for (size_t k = 0; k < c.first.size(); ++k)
        EXPECT_EQ(c.first[k].index, static_cast<int64_t>(k) * 100000 + 7);
    EXPECT_EQ(c.first[1].got, 100007);
    EXPECT_EQ(c.first[1].want, -1);
}

TEST(Compare, DescribesWhatIsWrong) {
    EXPECT_EQ(compare_vectors({1, NOT_A_NUMBER, 3}, {1, 2, 4}, 0).describe(),
              "2 of 3 wrong (1 NaN or infinite): [1] is nan, should be 2; [2] is 3, should be 4");
}

TEST(Compare, OneSwappedPairIsFound) {
    std::vector<double> want(1000);
    for (size_t i = 0; i < want.size(); ++i) want[i] = static_cast<double>(i);
    std::vector<double> got = want;
    std::swap(got[500], got[501]);
    EXPECT_EQ(compare_vectors(got, want, 0).wrong, 2);
}

TEST(ParallelRanges, CoverEverythingOnce) {
    for (int64_t count : {int64_t{0}, int64_t{1}, int64_t{65535}, int64_t{65536}, int64_t{1000003}}) {
        std::vector<int> seen(count, 0);
        parallel_ranges(count, [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i) ++seen[i];
        });
        EXPECT_EQ(std::count(seen.begin(), seen.end(), 1), count);
    }
}
