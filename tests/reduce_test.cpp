// The host's part of reduce/: the reference and its tolerance, the rules for NaN and ties, keys, packs.
#include <gtest/gtest.h>

#include <numeric>

#include "../reduce/packs.cuh"
#include "../reduce/reference.hpp"

namespace {

constexpr int64_t H200_THREADS = 132 * 1024;
constexpr int BLOCK = 128;

template <typename T>
std::vector<T> input_of(int64_t n, const std::string& data = "uniform") {
    std::vector<T> values(n);
    fill_input(values.data(), n, data, 1);
    return values;
}

// What a kernel gives: running sums in 4096 threads, then a tree, all in the operator's own type.
template <typename Op>
typename Op::Value reduce_as_kernels_do(Op op, const std::vector<typename Op::Element>& in) {
    std::vector<typename Op::Value> sums(4096, op.neutral());
    for (size_t i = 0; i < in.size(); ++i) sums[i % 4096] = op(sums[i % 4096], op.lift(in[i], i));
    for (size_t half = 2048; half > 0; half /= 2)
        for (size_t t = 0; t < half; ++t) sums[t] = op(sums[t], sums[t + half]);
    return sums[0];
}

template <typename T>
T typical_size(std::vector<T> values) {
    for (T& x : values) x = std::abs(x);
    std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
    return values[values.size() / 2];
}

template <typename T>
class ReduceSum : public testing::Test {};
using Types = testing::Types<float, double, int>;
TYPED_TEST_SUITE(ReduceSum, Types, );

TYPED_TEST(ReduceSum, ToleranceAcceptsKernelsAndRejectsWhatIsMissingOrDouble) {
    using T = TypeParam;
    for (const int64_t n : {1000, 100003, 4194381}) {
        const std::vector<T> in = input_of<T>(n);
        const Sum<T> op;
        const auto expected = reference(op, in.data(), n, H200_THREADS);
        EXPECT_TRUE(judge(op, expected, reduce_as_kernels_do(op, in)).ok()) << n;

        std::vector<T> without_block = in;
        const auto block = without_block.begin() + n / BLOCK / 2 * BLOCK;
        without_block.erase(block, block + BLOCK);
        EXPECT_FALSE(judge(op, expected, reduce_as_kernels_do(op, without_block)).ok()) << n;

        std::vector<T> with_one_twice = in;
        with_one_twice.push_back(typical_size(in));
        EXPECT_FALSE(judge(op, expected, reduce_as_kernels_do(op, with_one_twice)).ok()) << n;

        const std::vector<T> without_tail(in.begin(), in.end() - n % BLOCK);
        ASSERT_LT(without_tail.size(), in.size());
        EXPECT_FALSE(judge(op, expected, reduce_as_kernels_do(op, without_tail)).ok()) << n;
    }
}

TEST(ReduceTolerance, ToleranceAtTheLargestSizesIsLessThanATypicalElement) {
    for (const double n : {1e8, 0x1p28, 0x1p30, 0x1p31}) {
        const int64_t count = static_cast<int64_t>(n);
        const double size = std::sqrt(n / 3);  // of the sum too: elements are uniform in [-1, 1)
        const int64_t depth = depth_of_sum(count, H200_THREADS);
        EXPECT_LT(tolerance_of_sum(unit_roundoff<float>(), depth, size, n / 3), 0.5) << n;
        EXPECT_LT(tolerance_of_sum(unit_roundoff<double>(), depth, size, n / 3), 1e-9) << n;
    }
}

TEST(ReduceTolerance, TheReferenceKnowsMoreThanADoubleHolds) {
    std::vector<double> in(100001, 1e-17);
    in[0] = 1;
    const auto expected = reference(Sum<double>(), in.data(), in.size(), H200_THREADS);
    EXPECT_NEAR((expected.value - 1) + expected.rest, 1e-12, 1e-20);
}

TEST(ReduceTolerance, IntsAreSummedIn64Bits) {
    const std::vector<int> in(4, 1 << 30);
    EXPECT_EQ(reference(Sum<int>(), in.data(), 4, 1).value, int64_t{1} << 32);
    EXPECT_EQ(reduce_as_kernels_do(Sum<int>(), in), int64_t{1} << 32);
    EXPECT_FALSE(judge(Sum<int>(), reference(Sum<int>(), in.data(), 4, 1), int64_t{0}).ok());
}

template <typename Op>
void expect_right(const std::string& data, int64_t n) {
    const auto in = input_of<typename Op::Element>(n, data);
    const auto expected = reference(Op(), in.data(), n, H200_THREADS);
    EXPECT_TRUE(judge(Op(), expected, reduce_as_kernels_do(Op(), in)).ok())
        << Op::NAME << " " << data << " " << n;
}

TYPED_TEST(ReduceSum, EveryOperatorFollowsTheReferenceOnAllData) {
    using T = TypeParam;
    for (const std::string& data : DATA)
        for (const int64_t n : {1, 2, 33, 1000, 200003}) {
            expect_right<Sum<T>>(data, n);
            expect_right<Max<T>>(data, n);
            expect_right<Min<T>>(data, n);
            expect_right<ArgMax<T>>(data, n);
        }
}

TYPED_TEST(ReduceSum, OfNothingIsTheNeutralElement) {
    using T = TypeParam;
    EXPECT_EQ(reference(Sum<T>(), static_cast<const T*>(nullptr), 0, 1).value, 0);
    EXPECT_EQ(reference(Max<T>(), static_cast<const T*>(nullptr), 0, 1).value, Max<T>().neutral());
    EXPECT_EQ(reference(Min<T>(), static_cast<const T*>(nullptr), 0, 1).value, Min<T>().neutral());
}

TYPED_TEST(ReduceSum, MaxOfNegativesIsNegative) {
    const auto in = input_of<TypeParam>(1000, "negative");
    const auto expected = reference(Max<TypeParam>(), in.data(), 1000, 1);
    EXPECT_LT(expected.value, 0);
    EXPECT_FALSE(judge(Max<TypeParam>(), expected, TypeParam{0}).ok());
}

constexpr float NOT_A_NUMBER = std::numeric_limits<float>::quiet_NaN();
constexpr float INFINITE = std::numeric_limits<float>::infinity();

TEST(ReduceRules, NanWinsWhereverItStands) {
    for (const float other : {-INFINITE, -1.0f, 0.0f, 1.0f, INFINITE}) {
        EXPECT_TRUE(is_nan(Max<float>()(NOT_A_NUMBER, other)));
        EXPECT_TRUE(is_nan(Max<float>()(other, NOT_A_NUMBER)));
        EXPECT_TRUE(is_nan(Min<float>()(NOT_A_NUMBER, other)));
        EXPECT_TRUE(is_nan(Min<float>()(other, NOT_A_NUMBER)));
        EXPECT_EQ(ArgMax<float>()({other, 1}, {NOT_A_NUMBER, 5}).index, 5);
        EXPECT_EQ(ArgMax<float>()({NOT_A_NUMBER, 5}, {other, 1}).index, 5);
    }
    EXPECT_EQ(ArgMax<float>()({NOT_A_NUMBER, 5}, {NOT_A_NUMBER, 2}).index, 2);
}

TEST(ReduceRules, ArgmaxTakesTheLowestOfEqualsAndFindsMinusInfinity) {
    EXPECT_EQ(ArgMax<float>()({1, 7}, {1, 3}).index, 3);
    EXPECT_EQ(ArgMax<float>()({0.0f, 7}, {-0.0f, 3}).index, 3);
    EXPECT_EQ(ArgMax<float>()(ArgMax<float>().neutral(), {-INFINITE, 9}).index, 9);
}

TEST(ReduceRules, AnExpectedNanOrInfinityIsMatchedByItselfAlone) {
    const Expected<Sum<float>> nan{NOT_A_NUMBER}, infinite{INFINITE}, one{1.0f, 0, 1e-7};
    const Sum<float> op;
    EXPECT_TRUE(judge(op, nan, NOT_A_NUMBER).ok());
    EXPECT_FALSE(judge(op, nan, 1.0f).ok());
    EXPECT_FALSE(judge(op, nan, INFINITE).ok());
    EXPECT_TRUE(judge(op, infinite, INFINITE).ok());
    EXPECT_FALSE(judge(op, infinite, -INFINITE).ok());
    EXPECT_FALSE(judge(op, infinite, NOT_A_NUMBER).ok());
    EXPECT_FALSE(judge(op, one, NOT_A_NUMBER).ok());
    EXPECT_FALSE(judge(op, one, INFINITE).ok());
    EXPECT_TRUE(judge(op, one, 1.0f).ok());
}

TEST(ReduceRules, AResultThatWasNeverWrittenIsWrongEvenWhereNanIsRight) {
    float poison;
    std::memset(&poison, 0xFF, sizeof poison);
    EXPECT_TRUE(std::isnan(poison));
    EXPECT_FALSE(judge(Sum<float>(), {NOT_A_NUMBER}, poison).ok());
    EXPECT_FALSE(judge(Max<float>(), {NOT_A_NUMBER}, poison).ok());
}

template <typename T>
void expect_ascending_keys(const std::vector<T>& ascending) {
    for (size_t i = 1; i < ascending.size(); ++i) {
        EXPECT_LT(key_of(ascending[i - 1], 0), key_of(ascending[i], 0xFFFFFFFF)) << i;
        EXPECT_GT(key_of(ascending[i], 3), key_of(ascending[i], 4)) << i;
        EXPECT_EQ(index_in(key_of(ascending[i], 123456789)), 123456789u);
    }
    EXPECT_GT(key_of(ascending[0], 0xFFFFFFFF), uint64_t{0}) << "an element must beat an empty lane";
}

TEST(ReduceKeys, AscendWithTheValueAndDescendWithTheIndex) {
    using Float = std::numeric_limits<float>;
    expect_ascending_keys<float>({-INFINITE, Float::lowest(), -1.0f, -Float::min(), -Float::denorm_min(),
                                  0.0f, Float::denorm_min(), Float::min(), 1.0f, Float::max(), INFINITE,
                                  NOT_A_NUMBER});
    expect_ascending_keys<int>({INT32_MIN + 1, -1, 0, 1, INT32_MAX});
    EXPECT_EQ(key_of(0.0f, 7), key_of(-0.0f, 7));
    EXPECT_EQ(key_of(NOT_A_NUMBER, 7), key_of(-NOT_A_NUMBER, 7));
}

template <typename T>
void expect_split_covers() {
    for (uintptr_t address = 256; address < 256 + 32; address += sizeof(T))
        for (const int64_t n : {0, 1, 2, 3, 4, 5, 7, 8, 9, 31, 33, 1000003}) {
            const Split s = split<T>(address, n);
            EXPECT_EQ(s.head + s.packs * Pack<T>::V + s.tail, n);
            EXPECT_LT(s.head, Pack<T>::V);
            EXPECT_LT(s.tail, Pack<T>::V);
            if (s.packs) {
                EXPECT_EQ((address + s.head * sizeof(T)) % 16, 0u);
            }
        }
    const int64_t past_32_bits = (int64_t{1} << 33) + 5;
    EXPECT_EQ(split<T>(256, past_32_bits).packs, past_32_bits / Pack<T>::V);
}

TEST(ReducePacks, HeadPacksAndTailCoverAllElementsOnce) {
    expect_split_covers<float>();
    expect_split_covers<double>();
}

}  // namespace
