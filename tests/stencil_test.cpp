// The host's part of stencil/: the rules at the edge, the shapes, the reference and its tolerance.
#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "../stencil/plate.hpp"
#include "../stencil/reference.hpp"
#include "verify.hpp"

namespace {

constexpr Boundary RULES[] = {Boundary::keep, Boundary::zero, Boundary::clamp, Boundary::periodic};

struct Case {
    Shape shape;
    Domain domain;
};

// Every shape, sides less than the radius, equal to it, twice it, prime and unequal; every rule.
std::vector<Case> cases() {
    std::vector<Case> all;
    for (const Boundary rule : RULES) {
        for (const int radius : {1, 2, 4, 16}) {
            for (const int64_t n : {1, 2, 4, 5, 8, 9, 33, 101})
                all.push_back({difference_1d(radius), {n, 1, 1, rule}});
            for (const auto& [nx, ny] : {std::pair<int, int>{1, 7}, {7, 1}, {4, 5}, {9, 9}, {23, 37}})
                all.push_back({star_2d(radius), {nx, ny, 1, rule}});
        }
        for (const auto& [nx, ny] : {std::pair<int, int>{1, 1}, {2, 19}, {23, 11}}) {
            all.push_back({box_2d(1), {nx, ny, 1, rule}});
            all.push_back({box_2d(2), {nx, ny, 1, rule}});
        }
        for (const int radius : {1, 4})
            for (const auto& [nx, ny, nz] : {std::tuple<int, int, int>{1, 1, 1}, {3, 1, 5}, {11, 13, 9}})
                all.push_back({star_3d(radius), {nx, ny, nz, rule}});
    }
    return all;
}

std::string name(const Case& c, int64_t steps = 1) {
    return c.shape.name + " " + std::to_string(c.domain.nx) + " x " + std::to_string(c.domain.ny) + " x " +
           std::to_string(c.domain.nz) + " rule " + std::to_string(static_cast<int>(c.domain.boundary)) +
           " steps " + std::to_string(steps);
}

template <typename T>
std::vector<T> cells_of(const Domain& d) {
    std::vector<T> cells(d.count());
    fill_cells(cells.data(), d.count(), 1);
    return cells;
}

using Weights = std::function<double(size_t tap)>;
using IsMissing = std::function<bool(int64_t cell, size_t tap)>;

// What kernels do: in type T, cells looked up by Domain::read, in the order of the taps.
template <typename T>
std::vector<T> step_as_kernels_do(const Case& c, const std::vector<T>& in, const Weights& weight = {},
                                  const IsMissing& missing = {}) {
    const Domain& d = c.domain;
    const int r = c.shape.radius;
    std::vector<T> out(in.size());
    for (int64_t z = 0; z < d.nz; ++z)
        for (int64_t y = 0; y < d.ny; ++y)
            for (int64_t x = 0; x < d.nx; ++x) {
                const int64_t i = d.index(x, y, z);
                const bool stays = c.shape.dimensions == 1   ? d.stays(x, r)
                                   : c.shape.dimensions == 2 ? d.stays(x, y, r)
                                                             : d.stays(x, y, z, r);
                for (size_t t = 0; t < c.shape.taps.size(); ++t) {
                    const Tap& tap = c.shape.taps[t];
                    if (missing && missing(i, t)) continue;
                    const T w = static_cast<T>(weight ? weight(t) : tap.weight);
                    out[i] += w * (c.shape.dimensions == 1 ? d.read(in.data(), x + tap.dx)
                                   : c.shape.dimensions == 2
                                       ? d.read(in.data(), x + tap.dx, y + tap.dy)
                                       : d.read(in.data(), x + tap.dx, y + tap.dy, z + tap.dz));
                }
                if (stays) out[i] = in[i];
            }
    return out;
}

template <typename T>
Comparison compared(const Case& c, const std::vector<T>& got, const std::vector<double>& want,
                    int64_t steps = 1) {
    return compare(
        c.domain.count(), tolerance<T>(c.shape, steps), [&](int64_t i) { return got[i]; },
        [&](int64_t i) { return want[i]; });
}

template <typename T>
class StencilOf : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(StencilOf, Types, );

TYPED_TEST(StencilOf, KernelsArithmeticIsWithinTheTolerance) {
    using T = TypeParam;
    for (const Case& c : cases()) {
        const std::vector<T> in = cells_of<T>(c.domain);
        EXPECT_TRUE(compared(c, step_as_kernels_do(c, in), reference(c.shape, c.domain, in, 1)).ok())
            << name(c);
    }
}

TYPED_TEST(StencilOf, OneMissingHaloCellIsRejected) {
    using T = TypeParam;
    for (const Case& c : cases()) {
        const Domain& d = c.domain;
        const std::vector<T> in = cells_of<T>(d);
        const std::vector<double> want = reference(c.shape, d, in, 1);
        // The middle cell loses its farthest neighbour, where that is a neighbour that it has.
        const int64_t middle = d.index(d.nx / 2, d.ny / 2, d.nz / 2);
        const size_t last = c.shape.taps.size() - 1;
        const std::vector<T> got = step_as_kernels_do(
            c, in, {}, [&](int64_t cell, size_t tap) { return cell == middle && tap == last; });
        const bool used =
            d.boundary == Boundary::clamp || d.boundary == Boundary::periodic ||
            (d.nx / 2 >= c.shape.radius && d.nx / 2 < d.nx - c.shape.radius &&
             (c.shape.dimensions < 2 || (d.ny / 2 >= c.shape.radius && d.ny / 2 < d.ny - c.shape.radius)) &&
             (c.shape.dimensions < 3 || (d.nz / 2 >= c.shape.radius && d.nz / 2 < d.nz - c.shape.radius)));
        if (used) {
            EXPECT_EQ(compared(c, got, want).wrong, 1) << name(c);
        }
    }
}

TYPED_TEST(StencilOf, OneSwappedPairOfCoefficientsIsRejected) {
    using T = TypeParam;
    for (const int radius : {2, 4, 16})
        for (const Case& c : {Case{difference_1d(radius), {1009}}, Case{star_2d(radius), {67, 71}},
                              Case{star_3d(radius), {37, 41, 43}}, Case{box_2d(1), {67, 71}},
                              Case{star_2d(1), {67, 71}}, Case{star_3d(1), {37, 41, 43}}}) {
            const std::vector<T> in = cells_of<T>(c.domain);
            const std::vector<double> want = reference(c.shape, c.domain, in, 1);
            const size_t pairs = std::min<size_t>(c.shape.taps.size() - 1, 24);
            for (size_t swapped = 0; swapped < pairs; ++swapped) {
                const std::vector<T> got = step_as_kernels_do(c, in, [&](size_t tap) {
                    if (tap == swapped)
                        ++tap;
                    else if (tap == swapped + 1)
                        --tap;
                    return c.shape.taps[tap].weight;
                });
                EXPECT_FALSE(compared(c, got, want).ok()) << name(c) << " pair " << swapped;
            }
        }
}

TYPED_TEST(StencilOf, StepsOneByOneAreWithinTheToleranceAndOneMissingCellInTheFirstIsRejected) {
    using T = TypeParam;
    for (const Boundary rule : RULES)
        for (const Shape& shape : {star_2d(1), box_2d(1), star_3d(1)})
            for (const int64_t steps : {2, 5, 16}) {
                const Case c{shape, {19, 23, shape.dimensions == 3 ? 17 : 1, rule}};
                const std::vector<T> in = cells_of<T>(c.domain);
                const std::vector<double> want = reference(shape, c.domain, in, steps);
                const int64_t middle = c.domain.index(9, 11, c.domain.nz / 2);
                std::vector<T> right = step_as_kernels_do(c, in);
                std::vector<T> wrong = step_as_kernels_do(
                    c, in, {}, [&](int64_t cell, size_t tap) { return cell == middle && tap == 1; });
                for (int64_t step = 1; step < steps; ++step) {
                    right = step_as_kernels_do(c, right);
                    wrong = step_as_kernels_do(c, wrong);
                }
                EXPECT_TRUE(compared(c, right, want, steps).ok()) << name(c, steps);
                EXPECT_FALSE(compared(c, wrong, want, steps).ok()) << name(c, steps);
            }
}

// heat.cu's check: how far a flow has to have gone, and with which weights.
template <typename T>
class HeatOf : public StencilOf<T> {
 protected:
    /// Flows on the host until `share` times the change that is enough.
    static std::vector<T> flow(const Plate& plate, double share, const Weights& weight = Plate::weight) {
        const Case c{star_2d(1), plate.domain};
        std::vector<T> cells = plate.start<T>();
        for (int64_t step = 0; step < plate.most_steps(); ++step) {
            const std::vector<T> before = cells;
            cells = step_as_kernels_do(c, before, weight);
            double change = 0;
            for (size_t i = 0; i < cells.size(); ++i)
                change = std::max(change, std::fabs(static_cast<double>(cells[i] - before[i])));
            if (change <= share * plate.enough(1)) break;
        }
        return cells;
    }
    static bool passes(const Plate& plate, const std::vector<T>& cells) {
        return compare(
                   plate.domain.count(), plate.tolerance<T>(), [&](int64_t i) { return cells[i]; },
                   [&](int64_t i) { return plate.solution(i % plate.domain.nx, i / plate.domain.nx); })
            .ok();
    }
    const Plate plates[4] = {{12, 12}, {13, 18}, {20, 7}, {21, 23}};
};
TYPED_TEST_SUITE(HeatOf, Types, );

TYPED_TEST(HeatOf, AFlowThatStopsWhenItIsEnoughPasses) {
    for (const Plate& plate : this->plates) EXPECT_TRUE(this->passes(plate, this->flow(plate, 1)));
}

TYPED_TEST(HeatOf, AFlowThatStopsTooEarlyIsRejected) {
    // A tenth of the grid's error is to come where the change is enough, so 2.2 times that error with a share of 22. The
    // check allows 1.1; the grid's error itself may hide one.
    for (const Plate& plate : this->plates)
        for (const double share : {22, 50, 1000})
            EXPECT_FALSE(this->passes(plate, this->flow(plate, share))) << share;
}

TYPED_TEST(HeatOf, AWrongWeightIsRejected) {
    // More heat from a neighbour than is there, or less, is a source in every step. What it adds grows with the square of
    // the width, and the tolerance shrinks with it: 12 cells are wide enough for 2 % of one weight.
    for (const Plate& plate : this->plates)
        for (size_t wrong = 0; wrong < 5; ++wrong)
            for (const double factor : {0.0, 0.98, 1.02}) {
                const auto weight = [&](size_t k) { return Plate::weight(k) * (k == wrong ? factor : 1); };
                EXPECT_FALSE(this->passes(plate, this->flow(plate, 1, weight))) << wrong << " " << factor;
            }
}

TEST(StencilReference, RulesByHand) {
    const std::vector<double> in = {1, 2, 4, 8};
    const Shape shape = difference_1d(1);  // out[i] = (in[i + 1] - in[i - 1]) * c
    const double c = shape.coefficients[1];
    const auto expect = [&](Boundary rule, std::vector<double> differences) {
        const std::vector<double> out = reference(shape, {4, 1, 1, rule}, in, 1);
        for (size_t i = 0; i < 4; ++i) EXPECT_EQ(out[i], differences[i] * c) << i;
    };
    expect(Boundary::keep, {1 / c, 3, 6, 8 / c});
    expect(Boundary::zero, {2, 3, 6, -4});
    expect(Boundary::clamp, {1, 3, 6, 4});
    expect(Boundary::periodic, {2 - 8, 3, 6, 1 - 4});
}

TEST(StencilReference, APeriodicDomainSmallerThanTheRadiusIsSeenSeveralTimes) {
    const std::vector<double> in = {1, 10};
    const Shape shape = difference_1d(3);
    // On either side of cell 0: cell 1, cell 0, cell 1: all differences vanish.
    for (const double out : reference(shape, {2, 1, 1, Boundary::periodic}, in, 1)) EXPECT_EQ(out, 0);
    const std::vector<double> three = {1, 10, 100};
    const auto& k = shape.coefficients;
    const std::vector<double> out = reference(shape, {3, 1, 1, Boundary::periodic}, three, 1);
    EXPECT_DOUBLE_EQ(out[0], k[1] * (10 - 100) + k[2] * (100 - 10));
}

TEST(StencilReference, KeepLeavesADomainThatTheStencilDoesNotFitIn) {
    for (const Case& c : {Case{difference_1d(4), {8}}, Case{star_2d(2), {4, 100}}, Case{star_2d(2), {100, 4}},
                          Case{star_3d(1), {50, 2, 50}}}) {
        const std::vector<double> in = cells_of<double>(c.domain);
        EXPECT_EQ(reference(c.shape, c.domain, in, 3), in) << name(c);
    }
}

TEST(StencilReference, AConstantStaysWhereTheWeightsSumToOne) {
    for (const Shape& shape : {star_2d(1), star_2d(4), box_2d(1), box_2d(3), star_3d(1), star_3d(4)})
        for (const Boundary rule : {Boundary::keep, Boundary::clamp, Boundary::periodic}) {
            const Domain d{9, 11, shape.dimensions == 3 ? 10 : 1, rule};
            const std::vector<double> in(d.count(), 3);
            for (const double x : reference(shape, d, in, 4)) ASSERT_NEAR(x, 3, 1e-14) << shape.name;
        }
}

TEST(StencilShapes, CoefficientsDifferAndNoTypeRoundsThem) {
    for (int radius = 1; radius <= 16; ++radius)
        for (const Shape& shape :
             {difference_1d(radius), star_2d(radius), star_3d(radius), box_2d(std::min(radius, 4))}) {
            const std::set<double> different(shape.coefficients.begin(), shape.coefficients.end());
            EXPECT_EQ(different.size(), shape.coefficients.size()) << shape.name;
            for (const double c : shape.coefficients) EXPECT_EQ(static_cast<float>(c), c) << shape.name;
            EXPECT_LE(shape.coefficients.size(), 97u);
            EXPECT_LE(shape.gain(), 2);
            if (shape.dimensions > 1) {
                EXPECT_EQ(shape.gain(), 1);
            }
        }
    EXPECT_EQ(star_2d(1).taps.size(), 5u);
    EXPECT_EQ(box_2d(1).taps.size(), 9u);
    EXPECT_EQ(star_3d(1).taps.size(), 7u);
    EXPECT_EQ(star_3d(4).taps.size(), 25u);
}

TEST(StencilShapes, CoefficientsAreInTheOrderThatKernelsCountOn) {
    const Shape star = star_3d(2);
    const Tap& z_plus_2 = star.taps[1 + 6 * 1 + 5];
    EXPECT_EQ((std::tuple{z_plus_2.dx, z_plus_2.dy, z_plus_2.dz}), (std::tuple{0, 0, 2}));
    EXPECT_EQ(star.coefficients[1 + 6 * 1 + 5], z_plus_2.weight);
    const Shape box = box_2d(1);
    EXPECT_EQ((std::pair{box.taps[4].dx, box.taps[4].dy}), (std::pair{-1, 0}));
    EXPECT_EQ((std::pair{box.taps[5].dx, box.taps[5].dy}), (std::pair{1, 0}));
    EXPECT_EQ((std::pair{box.taps[8].dx, box.taps[8].dy}), (std::pair{1, 1}));
}

TEST(StencilDomain, InnerIsTrueOnlyWhereTileAndHaloExist) {
    const Domain d{100, 50, 20};
    EXPECT_TRUE(d.inner_x(4, 96, 4));
    EXPECT_FALSE(d.inner_x(3, 96, 4));
    EXPECT_FALSE(d.inner_x(4, 97, 4));
    EXPECT_TRUE(d.inner_y(1, 49, 1));
    EXPECT_FALSE(d.inner_z(1, 20, 1));
    EXPECT_FALSE((Domain{3}).inner_x(0, 3, 4));
    const int64_t far = int64_t{1} << 33;
    EXPECT_TRUE((Domain{far}).inner_x(far - 300, far - 16, 16));
    EXPECT_EQ((Domain{70000, 70000}).index(1, 69999), int64_t{69999} * 70000 + 1);
}

TEST(StencilFill, NoCellIsNearZero) {
    const std::vector<float> cells = cells_of<float>({100003});
    int negative = 0;
    for (const float x : cells) {
        ASSERT_GE(std::fabs(x), 0.5f);
        ASSERT_LE(std::fabs(x), 1.0f);
        negative += x < 0;
    }
    EXPECT_NEAR(negative, 50000, 1000);
}

}  // namespace
