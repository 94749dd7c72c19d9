// reference.hpp: the host's part of this family: where matrices lie, the right result, and how near to it is right.
// Plain loops in double: they are the specification.
#pragma once
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "fill.hpp"
#include "parallel.hpp"
#include "verify.hpp"

/// Row-major matrices of one shape, one after the other: those of a batch, or a single one that all of it share.
struct Layout {
    int64_t rows, cols, ld;  ///< ld >= cols: elements from the start of a row to that of the next
    int64_t items;
    /// From a matrix to the next: 0 where there is but one.
    int64_t stride() const { return items == 1 ? 0 : rows * ld; }
    int64_t count() const { return items * rows * ld; }
    int64_t row(int64_t item, int64_t r) const { return item * stride() + r * ld; }
};

/// C = alpha A B + beta C for each matrix of a batch.
struct Shape {
    int64_t m, n, k, batch;
    Layout a, b, c;
    double alpha = 1, beta = 0;
    double multiplications() const { return 1.0 * batch * m * n * k; }
    int64_t cells() const { return batch * m * n; }
};

/// What --data offers, the default first. integers: from -4 to 4, so that float sums of up to 2^20 products are exact.
inline const std::vector<std::string> DATA = {"normal", "integers"};
constexpr int LARGEST_INTEGER = 4;

/// Fills the rows. What lies between them becomes NaN, all bits 1: a kernel that computes with it is found.
template <typename T>
void fill_rows(T* values, const Layout& layout, const std::string& data, uint64_t seed) {
    const int64_t rows = layout.items * layout.rows, cols = layout.cols;
    if (data == "integers")
        fill_small_integers(values, rows * cols, LARGEST_INTEGER, seed);
    else
        fill_normal(values, rows * cols, seed);
    if (layout.ld == cols) return;
    // The last row first: none then lands on one that is still to be moved.
    for (int64_t r = rows - 1; r >= 0; --r) {
        std::memmove(values + r * layout.ld, values + r * cols, sizeof(T) * cols);
        std::memset(values + r * layout.ld + cols, 0xFF, sizeof(T) * (layout.ld - cols));
    }
}

/// A number that differs, as good as surely, where any bit of the values does.
template <typename T>
uint64_t fingerprint(const std::vector<T>& values) {
    std::atomic<uint64_t> sum{0};
    parallel_ranges(static_cast<int64_t>(values.size()), [&](int64_t begin, int64_t end) {
        uint64_t part = 0;
        for (int64_t i = begin; i < end; ++i) {
            uint64_t bits = 0;
            std::memcpy(&bits, &values[i], sizeof(T));
            // Of each value and its place, mixed as in MurmurHash3.
            uint64_t z = bits + static_cast<uint64_t>(i) * 0x9E3779B97F4A7C15u;
            z = (z ^ (z >> 33)) * 0xFF51AFD7ED558CCDu;
            part += z ^ (z >> 33);
        }
        sum += part;
    });
    return sum;
}

/// Is every sum of such integers, times alpha and with beta C, exact in T?
template <typename T>
bool sums_are_exact(const Shape& s) {
    const double largest = std::fabs(s.alpha) * LARGEST_INTEGER * LARGEST_INTEGER * static_cast<double>(s.k) +
                           std::fabs(s.beta) * LARGEST_INTEGER;
    return std::floor(s.alpha) == s.alpha && std::floor(s.beta) == s.beta &&
           largest <= 1 / static_cast<double>(std::numeric_limits<T>::epsilon());
}

/// Half the distance from 1 to the next number: the largest relative error of one operation.
template <typename T>
constexpr double unit_roundoff() {
    return static_cast<double>(std::numeric_limits<T>::epsilon()) / 2;
}

/// How far a rounded element of C may lie from alpha s + beta c, where s = sum a b over k, in a type of unit roundoff u.
///
/// An addition that yields s_i errs by at most u |s_i|. All k together err by up to u k sum |a b|, which always holds
/// and is useless: it lets whole tiles of k go missing. But rounding errors are of either sign, and so are the products:
/// the squares of all partial sums s_1, ..., s_k add up to about k sum (a b)^2 for a sum that ends near 0, and to
/// k s^2 / 3 more for one that grows evenly to s; and sum (a b)^2 is about |a|^2 |b|^2 / k, with the norms of A's row
/// and B's column. Errors turn out to have a quarter of this size, but a sum may wander far before it ends near 0: the
/// worst of a million cells is nine times as far off as most. So six times the estimate is allowed, and a typical
/// product is still larger than that up to k of a million. The last operations (times alpha, plus beta c) err by u each.
inline double tolerance_of_cell(double u, const Shape& shape, double norm_a, double norm_b, double s,
                                double c) {
    const double sum =
        std::sqrt(norm_a * norm_a * norm_b * norm_b + static_cast<double>(shape.k) * s * s / 3);
    return u * (6 * std::fabs(shape.alpha) * sum + 2 * std::fabs(shape.alpha * s) +
                2 * std::fabs(shape.beta * c));
}

/// The right C, and the comparison of others with it.
///
/// Up to `largest_full` multiplications every cell is computed. Beyond, some rows are, and Freivalds' test (1977) covers
/// all: C x is compared with alpha A (B x) + beta C0 x, three products of a matrix with a vector. A wrong row passes
/// only where its errors times x cancel; x is random, of either sign and from 1 to 2 in size, so that a single wrong
/// cell never cancels and two almost never do.
template <typename T>
class Reference {
 public:
    /// a, b and c0 (C as it was; not read where beta = 0) must outlive this. `exact`: no error is allowed.
    Reference(const Shape& shape, const T* a, const T* b, const T* c0, bool exact, uint64_t seed,
              double largest_full = LARGEST_FULL);
    /// How much memory it takes.
    static double host_bytes(const Shape& shape, double largest_full = LARGEST_FULL);

    /// Compares C, laid out as shape.c says. What lies between its rows must have all bits set, as before.
    Comparison check(const T* c) const;

    bool complete() const { return full; }

 private:
    static constexpr double LARGEST_FULL = 1 << 30;
    static constexpr int VECTORS = 3, SOME_ROWS = 8;
    /// `VECTORS` numbers for each row of a matrix.
    using Vectors = std::vector<double>;

    void compute_row(int64_t item, int64_t row, double* sums) const;
    Comparison compare_rows(const std::vector<int64_t>& which, const std::vector<double>& sums,
                            const T* c) const;
    void check_by_freivalds(const T* c, Comparison& found) const;
    void check_padding(const T* c, Comparison& found) const;

    /// matrix x.
    static Vectors times(const T* matrix, int64_t rows, int64_t cols, int64_t ld, const Vectors& x);
    static double square(double value) { return value * value; }
    double old(int64_t item, int64_t row, int64_t col) const {
        return shape.beta == 0 ? 0 : static_cast<double>(c0[shape.c.row(item, row) + col]);
    }

    const Shape shape;
    const T *a, *b, *c0;
    const bool exact, full;
    // A double reference errs too, about as much as a kernel in double.
    const double u = unit_roundoff<T>() + unit_roundoff<double>();
    std::vector<double> norm_a, norm_b;  ///< of A's rows and B's columns, item by item
    std::vector<int64_t> rows;           ///< those that are computed: item * m + row
    std::vector<double> sums;            ///< A B in these rows
    Vectors x;                           ///< for each column of C
    std::vector<Vectors> right;          ///< for each item: alpha A (B x) + beta C0 x
};

template <typename T>
Reference<T>::Reference(const Shape& shape, const T* a, const T* b, const T* c0, bool exact, uint64_t seed,
                        double largest_full)
    : shape(shape), a(a), b(b), c0(c0), exact(exact), full(shape.multiplications() <= largest_full) {
    norm_a.assign(shape.a.items * shape.m, 0);
    norm_b.assign(shape.b.items * shape.n, 0);
    for (int64_t i = 0; i < shape.a.items; ++i)
        for (int64_t r = 0; r < shape.m; ++r)
            for (int64_t k = 0; k < shape.k; ++k) norm_a[i * shape.m + r] += square(a[shape.a.row(i, r) + k]);
    for (int64_t i = 0; i < shape.b.items; ++i)
        for (int64_t k = 0; k < shape.k; ++k)
            for (int64_t c = 0; c < shape.n; ++c) norm_b[i * shape.n + c] += square(b[shape.b.row(i, k) + c]);
    for (double& squares : norm_a) squares = std::sqrt(squares);
    for (double& squares : norm_b) squares = std::sqrt(squares);

    const int64_t all = shape.batch * shape.m;
    std::mt19937_64 random(seed);
    if (full) {
        for (int64_t r = 0; r < all; ++r) rows.push_back(r);
    } else {
        rows = {0, all - 1};
        while (rows.size() < SOME_ROWS) rows.push_back(static_cast<int64_t>(random() % all));
    }
    sums.resize(rows.size() * shape.n);
    const int64_t least = std::max<int64_t>(1, (1 << 20) / std::max<int64_t>(1, shape.n * shape.k));
    parallel_ranges(
        static_cast<int64_t>(rows.size()),
        [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i)
                compute_row(rows[i] / shape.m, rows[i] % shape.m, &sums[i * shape.n]);
        },
        least);
    if (full) return;

    std::uniform_real_distribution<double> size(1, 2);
    x.resize(shape.n * VECTORS);
    for (double& value : x) value = random() % 2 ? size(random) : -size(random);
    for (int64_t item = 0; item < shape.batch; ++item) {
        const Vectors bx = times(b + shape.b.row(item, 0), shape.k, shape.n, shape.b.ld, x);
        Vectors y = times(a + shape.a.row(item, 0), shape.m, shape.k, shape.a.ld, bx);
        for (double& value : y) value *= shape.alpha;
        if (shape.beta != 0) {
            const Vectors before = times(c0 + shape.c.row(item, 0), shape.m, shape.n, shape.c.ld, x);
            for (size_t i = 0; i < y.size(); ++i) y[i] += shape.beta * before[i];
        }
        right.push_back(std::move(y));
    }
}

template <typename T>
double Reference<T>::host_bytes(const Shape& s, double largest_full) {
    const bool full = s.multiplications() <= largest_full;
    const int64_t norms = s.a.items * s.m + s.b.items * s.n, rows = full ? s.batch * s.m : SOME_ROWS;
    const int64_t vectors = full ? 0 : VECTORS * (s.n + s.k + s.batch * s.m);  // x, B x, and all of `right`
    return static_cast<double>(sizeof(double)) * static_cast<double>(norms + rows * (s.n + 1) + vectors);
}

template <typename T>
void Reference<T>::compute_row(int64_t item, int64_t row, double* row_sums) const {
    for (int64_t k = 0; k < shape.k; ++k) {
        const double a_rk = static_cast<double>(a[shape.a.row(item, row) + k]);
        const T* row_of_b = b + shape.b.row(item, k);
        for (int64_t c = 0; c < shape.n; ++c) row_sums[c] += a_rk * static_cast<double>(row_of_b[c]);
    }
}

template <typename T>
typename Reference<T>::Vectors Reference<T>::times(const T* matrix, int64_t rows, int64_t cols, int64_t ld,
                                                   const Vectors& x) {
    Vectors y(rows * VECTORS, 0.0);
    parallel_ranges(
        rows,
        [&](int64_t begin, int64_t end) {
            for (int64_t r = begin; r < end; ++r) {
                double sum[VECTORS] = {};
                for (int64_t c = 0; c < cols; ++c)
                    for (int v = 0; v < VECTORS; ++v)
                        sum[v] += static_cast<double>(matrix[r * ld + c]) * x[c * VECTORS + v];
                for (int v = 0; v < VECTORS; ++v) y[r * VECTORS + v] = sum[v];
            }
        },
        std::max<int64_t>(1, (1 << 18) / std::max<int64_t>(1, cols)));
    return y;
}

template <typename T>
Comparison Reference<T>::compare_rows(const std::vector<int64_t>& which,
                                      const std::vector<double>& sums_of_rows, const T* c) const {
    struct Cell {
        int64_t item, row, col;
    };
    const auto cell = [&](int64_t i) {
        const int64_t row = which[i / shape.n];
        return Cell{row / shape.m, row % shape.m, i % shape.n};
    };
    Comparison found = compare_each(
        static_cast<int64_t>(which.size()) * shape.n,
        [&](int64_t i) {
            if (exact) return 0.0;
            const Cell at = cell(i);
            return tolerance_of_cell(u, shape, norm_a[(shape.a.items == 1 ? 0 : at.item) * shape.m + at.row],
                                     norm_b[(shape.b.items == 1 ? 0 : at.item) * shape.n + at.col],
                                     sums_of_rows[i], old(at.item, at.row, at.col));
        },
        [&](int64_t i) {
            const Cell at = cell(i);
            return c[shape.c.row(at.item, at.row) + at.col];
        },
        [&](int64_t i) {
            const Cell at = cell(i);
            return shape.alpha * sums_of_rows[i] + shape.beta * old(at.item, at.row, at.col);
        });
    for (Difference& d : found.first) d.index = which[d.index / shape.n] * shape.n + d.index % shape.n;
    return found;
}

template <typename T>
void Reference<T>::check_by_freivalds(const T* c, Comparison& found) const {
    const auto norm = [](const double* values, int64_t count, double start = 0) {
        double squares = start;
        for (int64_t i = 0; i < count; ++i) squares += values[i] * values[i];
        return std::sqrt(squares);
    };
    const double rms_x =
        norm(x.data(), shape.n * VECTORS) / std::sqrt(static_cast<double>(shape.n * VECTORS));
    // The errors of a row's cells add up at random, like the squares of their tolerances; and the test itself errs, in
    // sums of n products.
    const double allowed_error = 4 * (u + std::sqrt(static_cast<double>(shape.n)) * unit_roundoff<double>());
    for (int64_t item = 0; item < shape.batch; ++item) {
        const Vectors got = times(c + shape.c.row(item, 0), shape.m, shape.n, shape.c.ld, x);
        const double all_b = norm(&norm_b[(shape.b.items == 1 ? 0 : item) * shape.n], shape.n);
        for (int64_t row = 0; row < shape.m; ++row) {
            double old_squares = 0;
            for (int64_t col = 0; shape.beta != 0 && col < shape.n; ++col)
                old_squares += square(old(item, row, col));
            const double size =
                std::fabs(shape.alpha) * norm_a[(shape.a.items == 1 ? 0 : item) * shape.m + row] * all_b +
                std::fabs(shape.beta) * std::sqrt(old_squares);
            bool right_row = true;
            for (int v = 0; v < VECTORS; ++v) {
                const int64_t i = row * VECTORS + v;
                right_row &= std::fabs(got[i] - right[item][i]) <= rms_x * size * allowed_error;
            }
            if (right_row) continue;
            ++found.wrong;
            if (found.first.size() >= Comparison::MAX_SHOWN) continue;
            // Which cells? Exactly those that the row's own computation names; the row's first, where it names none.
            const int64_t which = item * shape.m + row;
            std::vector<double> row_sums(shape.n, 0.0);
            compute_row(item, row, row_sums.data());
            const Comparison in_row = compare_rows({which}, row_sums, c);
            found.wrong += std::max<int64_t>(0, in_row.wrong - 1);
            found.not_finite += in_row.not_finite;
            if (in_row.first.empty())
                found.first.push_back({which * shape.n, got[row * VECTORS], right[item][row * VECTORS]});
            else
                found.first.insert(found.first.end(), in_row.first.begin(), in_row.first.end());
        }
    }
}

template <typename T>
void Reference<T>::check_padding(const T* c, Comparison& found) const {
    const Layout& at = shape.c;
    if (at.ld == at.cols) return;
    T untouched;
    std::memset(&untouched, 0xFF, sizeof untouched);
    for (int64_t r = 0; r < at.items * at.rows; ++r)
        for (int64_t col = at.cols; col < at.ld; ++col)
            if (std::memcmp(&c[r * at.ld + col], &untouched, sizeof(T)) != 0) {
                ++found.wrong;  // told by the cell before it
                found.first.push_back(
                    {r * at.cols + at.cols - 1, static_cast<double>(c[r * at.ld + col]), std::nan("")});
            }
}

template <typename T>
Comparison Reference<T>::check(const T* c) const {
    Comparison found = compare_rows(rows, sums, c);
    if (!full && found.ok()) check_by_freivalds(c, found);
    found.compared = shape.cells();
    check_padding(c, found);
    std::sort(found.first.begin(), found.first.end(), [](auto& p, auto& q) { return p.index < q.index; });
    if (found.first.size() > Comparison::MAX_SHOWN) found.first.resize(Comparison::MAX_SHOWN);
    return found;
}
