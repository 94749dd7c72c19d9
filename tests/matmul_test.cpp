// The host's part of matmul/: the reference, its tolerance, and Freivalds' test.
#include <gtest/gtest.h>

#include "../matmul/reference.hpp"

namespace {

constexpr int64_t K_TILE = 8;  // the smallest of the kernels
constexpr double FULL = 1e30, FREIVALDS = 0;

Layout layout(int64_t rows, int64_t cols, int64_t pad, int64_t items) {
    return {rows, cols, cols + pad, items};
}

// A problem, and its C as a kernel gives it: running sums in T.
template <typename T>
struct Product {
    Shape shape;
    std::vector<T> a, b, before, c;

    Product(int64_t m, int64_t n, int64_t k, double alpha = 1, double beta = 0, int64_t pad = 0,
            const std::string& data = "normal", int64_t batch = 1, bool one_a = false, bool one_b = false)
        : shape{m,
                n,
                k,
                batch,
                layout(m, k, pad, one_a ? 1 : batch),
                layout(k, n, 2 * pad, one_b ? 1 : batch),
                layout(m, n, 3 * pad, batch),
                alpha,
                beta} {
        const auto fill = [&](std::vector<T>& values, const Layout& at, uint64_t seed) {
            values.resize(at.count());
            fill_rows(values.data(), at, data, seed);
        };
        fill(a, shape.a, 1);
        fill(b, shape.b, 2);
        fill(before, shape.c, 3);
        c = before;
        for (int64_t item = 0; item < batch; ++item)
            for (int64_t r = 0; r < m; ++r) {
                const std::vector<T> sums = row_of_sums(item, r, k);
                for (int64_t col = 0; col < n; ++col) {
                    T& cell = at(item, r, col);
                    cell =
                        static_cast<T>(alpha) * sums[col] + (beta == 0 ? T{0} : static_cast<T>(beta) * cell);
                }
            }
    }

    std::vector<T> row_of_sums(int64_t item, int64_t r, int64_t k_end) const {
        std::vector<T> sums(shape.n, 0);
        for (int64_t k = 0; k < k_end; ++k)
            for (int64_t col = 0; col < shape.n; ++col)
                sums[col] += a[shape.a.row(item, r) + k] * b[shape.b.row(item, k) + col];
        return sums;
    }
    T& at(int64_t item, int64_t r, int64_t col) { return c[shape.c.row(item, r) + col]; }

    Reference<T> reference(double largest_full, bool exact = false) const {
        return Reference<T>(shape, a.data(), b.data(), before.data(), exact, 1, largest_full);
    }
};

template <typename T>
class MatmulCheck : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(MatmulCheck, Types, );

// What goes wrong in kernels must be found, in a C whose rounding is as bad as it gets: one running sum.
template <typename T>
void expect_faults_found(int64_t m, int64_t n, int64_t k, double largest_full) {
    Product<T> p(m, n, k);
    const auto reference = p.reference(largest_full);
    EXPECT_EQ(reference.complete(), largest_full == FULL);
    const Comparison right = reference.check(p.c.data());
    EXPECT_TRUE(right.ok()) << right.describe();
    EXPECT_EQ(right.compared, m * n);
    const std::vector<T> c = p.c;
    const int64_t row = m / 2, col = n / 3;

    const auto expect_wrong = [&](const char* what, int64_t first) {
        const Comparison found = reference.check(p.c.data());
        EXPECT_FALSE(found.ok()) << what;
        EXPECT_EQ(found.first.empty() ? -1 : found.first[0].index, first) << what;
        p.c = c;
    };
    // The last tile of k is missing: in one cell alone; everywhere.
    p.at(0, row, col) = p.row_of_sums(0, row, k - K_TILE)[col];
    expect_wrong("a tile of k missing in a cell", row * n + col);
    for (int64_t r = 0; r < m; ++r) {
        const std::vector<T> sums = p.row_of_sums(0, r, k - K_TILE);
        std::copy(sums.begin(), sums.end(), &p.at(0, r, 0));
    }
    expect_wrong("a tile of k missing", 0);
    std::swap_ranges(&p.at(0, row, 0), &p.at(0, row, 0) + n, &p.at(0, row + 1, 0));
    expect_wrong("two rows swapped", row * n);
    std::swap(p.at(0, row, col), p.at(0, row, col + 1));
    expect_wrong("two cells of a row swapped", row * n + col);
    p.at(0, row, col) += static_cast<T>(0.5);  // a typical product
    expect_wrong("one product twice in a cell", row * n + col);
    p.at(0, row, col) = std::numeric_limits<T>::quiet_NaN();
    expect_wrong("a NaN", row * n + col);
    p.at(0, m - 1, n - 1) = 0;
    expect_wrong("the last cell not written", m * n - 1);
}

TYPED_TEST(MatmulCheck, FindsFaultsInEveryCell) {
    expect_faults_found<TypeParam>(60, 70, 100, FULL);
    expect_faults_found<TypeParam>(24, 1000, 1024, FULL);
}

TYPED_TEST(MatmulCheck, FreivaldsFindsTheSame) {
    expect_faults_found<TypeParam>(60, 70, 100, FREIVALDS);
    expect_faults_found<TypeParam>(24, 4096, 4096, FREIVALDS);
}

TYPED_TEST(MatmulCheck, OneProductOf8192InACellIsFound) {
    Product<TypeParam> p(1, 1, 8192);
    const auto reference = p.reference(FULL);
    EXPECT_TRUE(reference.check(p.c.data()).ok());
    p.c[0] += static_cast<TypeParam>(0.1);
    EXPECT_FALSE(reference.check(p.c.data()).ok());
}

TYPED_TEST(MatmulCheck, AwkwardShapesFactorsAndRowsApart) {
    using P = Product<TypeParam>;
    for (const double largest_full : {FULL, FREIVALDS})
        for (const P& p : {P(1, 1, 1), P(3, 3, 431), P(33, 65, 129), P(1, 50, 2), P(50, 1, 3, -0.5, 2, 1),
                           P(5, 6, 0), P(5, 6, 0, 1, 2), P(35, 79, 19, 0.25, -1, 5), P(20, 20, 20, 0, 1)})
            EXPECT_TRUE(p.reference(largest_full).check(p.c.data()).ok())
                << p.shape.m << " " << p.shape.n << " " << p.shape.k << ": "
                << p.reference(largest_full).check(p.c.data()).describe();
}

TYPED_TEST(MatmulCheck, OfNoProductsIsBetaC) {
    const Product<TypeParam> zero(5, 6, 0), twice(5, 6, 0, 1, 2);
    std::vector<TypeParam> c(30, 0);
    EXPECT_TRUE(zero.reference(FULL).check(c.data()).ok());
    EXPECT_FALSE(zero.reference(FULL).check(zero.before.data()).ok());  // old memory
    EXPECT_FALSE(twice.reference(FULL).check(c.data()).ok());
    EXPECT_FALSE(twice.reference(FULL).check(twice.before.data()).ok());
}

TYPED_TEST(MatmulCheck, WhatLiesBetweenTheRowsMustStay) {
    for (const double largest_full : {FULL, FREIVALDS}) {
        Product<TypeParam> p(7, 9, 11, 1, 0, 1);
        const auto reference = p.reference(largest_full);
        EXPECT_TRUE(reference.check(p.c.data()).ok());
        p.at(0, 3, 9 + 2) = 0;  // the last of three elements past row 3
        const Comparison found = reference.check(p.c.data());
        EXPECT_EQ(found.wrong, 1);
        EXPECT_EQ(found.first.at(0).index, 3 * 9 + 8);
    }
}

TYPED_TEST(MatmulCheck, PaddingOfInputsIsNan) {
    const Product<TypeParam> p(3, 4, 5, 1, 0, 2);
    for (int64_t r = 0; r < 3; ++r)
        for (int64_t col = 0; col < 7; ++col) EXPECT_EQ(std::isnan(p.a[r * 7 + col]), col >= 5);
}

TYPED_TEST(MatmulCheck, RowsApartHoldTheSameNumbers) {
    for (const int64_t pad : {1, 3, 100}) {
        const Product<TypeParam> dense(7, 5, 9), apart(7, 5, 9, 1, 0, pad);
        for (int64_t r = 0; r < 7; ++r)
            for (int64_t col = 0; col < 9; ++col)
                EXPECT_EQ(apart.a[r * (9 + pad) + col], dense.a[r * 9 + col])
                    << pad << " " << r << " " << col;
    }
}

TYPED_TEST(MatmulCheck, MemoryOfTheReference) {
    const Shape s = Product<TypeParam>(60, 70, 100).shape;
    using R = Reference<TypeParam>;
    // Norms of 60 rows and 70 columns; 60 rows of sums with their numbers, or 8 and three vectors for each of x, B x
    // and C x.
    EXPECT_EQ(R::host_bytes(s, FULL), 8 * (60 + 70 + 60 * 71));
    EXPECT_EQ(R::host_bytes(s, FREIVALDS), 8 * (60 + 70 + 8 * 71 + 3 * (70 + 100 + 60)));
}

TYPED_TEST(MatmulCheck, IntegersAreExact) {
    Product<TypeParam> p(20, 30, 200, 2, -3, 0, "integers");
    EXPECT_TRUE(sums_are_exact<TypeParam>(p.shape));
    const auto reference = p.reference(FULL, true);
    const Comparison right = reference.check(p.c.data());
    EXPECT_TRUE(right.ok()) << right.describe();
    EXPECT_EQ(right.tolerance, 0);
    p.at(0, 5, 5) = std::nextafter(p.at(0, 5, 5), TypeParam{1000000});
    EXPECT_FALSE(reference.check(p.c.data()).ok());

    Shape s = p.shape;
    s.alpha = 0.5;
    EXPECT_FALSE(sums_are_exact<TypeParam>(s));
    s.alpha = 1;
    s.k = int64_t{1} << 50;
    EXPECT_FALSE(sums_are_exact<TypeParam>(s));
}

TYPED_TEST(MatmulCheck, BatchesAndWhatTheyShare) {
    for (const double largest_full : {FULL, FREIVALDS})
        for (const bool one_a : {false, true})
            for (const bool one_b : {false, true}) {
                Product<TypeParam> p(6, 7, 8, 1, 2, 1, "normal", 5, one_a, one_b);
                const auto reference = p.reference(largest_full);
                EXPECT_TRUE(reference.check(p.c.data()).ok());
                // A batch in which two items have changed places.
                for (int64_t r = 0; r < 6; ++r)
                    std::swap_ranges(&p.at(1, r, 0), &p.at(1, r, 0) + 7, &p.at(3, r, 0));
                const Comparison found = reference.check(p.c.data());
                EXPECT_FALSE(found.ok());
                const int64_t item = found.first.at(0).index / (6 * 7);
                EXPECT_TRUE(item == 1 || item == 3) << item;
            }
}

TYPED_TEST(MatmulCheck, TheFingerprintSeesEveryBitAndItsPlace) {
    std::vector<TypeParam> values(300000);
    fill_normal(values.data(), 300000, 1);
    const uint64_t before = fingerprint(values);
    EXPECT_EQ(fingerprint(std::vector<TypeParam>(values)), before);
    std::swap(values[7], values[299999]);
    EXPECT_NE(fingerprint(values), before);
    std::swap(values[7], values[299999]);
    EXPECT_EQ(fingerprint(values), before);
    values[150000] = std::nextafter(values[150000], TypeParam{9});
    EXPECT_NE(fingerprint(values), before);
}

}  // namespace
