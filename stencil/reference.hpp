// reference.hpp: the host's part of this family: shapes, inputs, the right result, and how near to it is
// right. Plain loops that use none of the kernels' functions: they are the specification.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "domain.cuh"
#include "fill.hpp"
#include "parallel.hpp"

/// A cell that a stencil looks at, and with what weight.
struct Tap {
    int dx, dy, dz;
    double weight;
};

/// A stencil: each cell becomes the weighted sum of its taps.
struct Shape {
    std::string name;  ///< "5-point"
    int dimensions, radius;
    std::vector<Tap> taps;
    std::vector<double>
        coefficients;  ///< what kernels are given. All differ, so that two that are swapped show.

    /// How much it can enlarge the greatest cell.
    double gain() const {
        double sum = 0;
        for (const Tap& tap : taps) sum += std::fabs(tap.weight);
        return sum;
    }
};

/// The texts' stencil: out[i] = sum of c[k] (in[i + k] - in[i - k]) for k = 1..radius, like a derivative.
/// coefficients: c[0] (unused), c[1], ..., c[radius].
inline Shape difference_1d(int radius) {
    Shape s{"radius " + std::to_string(radius), 1, radius, {}, {0}};
    // Fractions whose denominator is a power of two: no type rounds them.
    const double denominator = std::exp2(std::ceil(std::log2(2.0 * radius * radius)));
    for (int k = 1; k <= radius; ++k) {
        const double c = (radius + k) / denominator;
        s.coefficients.push_back(c);
        s.taps.push_back({k, 0, 0, c});
        s.taps.push_back({-k, 0, 0, -c});
    }
    return s;
}

/// Gives the taps distinct weights that sum to 1, and the kernels the same in the order of the taps. The
/// first gets what the others leave, more than half.
inline Shape weighted(Shape s) {
    const double count = static_cast<double>(s.taps.size());
    const double denominator = std::exp2(std::ceil(std::log2(3 * count * count)));
    double rest = 1;
    for (size_t i = 1; i < s.taps.size(); ++i) {
        s.taps[i].weight = (count + static_cast<double>(i)) / denominator;
        rest -= s.taps[i].weight;
    }
    s.taps[0].weight = rest;
    for (const Tap& tap : s.taps) s.coefficients.push_back(tap.weight);
    return s;
}

/// 5 points at radius 1. coefficients: the centre, then x - k, x + k, y - k, y + k for k = 1..radius.
inline Shape star_2d(int radius) {
    Shape s{std::to_string(4 * radius + 1) + "-point star", 2, radius, {{0, 0, 0, 0}}, {}};
    for (int k = 1; k <= radius; ++k)
        for (const Tap& tap : {Tap{-k, 0, 0, 0}, Tap{k, 0, 0, 0}, Tap{0, -k, 0, 0}, Tap{0, k, 0, 0}})
            s.taps.push_back(tap);
    return weighted(s);
}

/// 9 points at radius 1. coefficients: the centre, then row by row, without the centre.
inline Shape box_2d(int radius) {
    const int side = 2 * radius + 1;
    Shape s{std::to_string(side * side) + "-point box", 2, radius, {{0, 0, 0, 0}}, {}};
    for (int dy = -radius; dy <= radius; ++dy)
        for (int dx = -radius; dx <= radius; ++dx)
            if (dx || dy) s.taps.push_back({dx, dy, 0, 0});
    return weighted(s);
}

/// 7 points at radius 1, 25 at radius 4. coefficients: the centre, then x - k, x + k, y - k, y + k, z - k,
/// z + k for k = 1..radius.
inline Shape star_3d(int radius) {
    Shape s{std::to_string(6 * radius + 1) + "-point star", 3, radius, {{0, 0, 0, 0}}, {}};
    for (int k = 1; k <= radius; ++k)
        for (const Tap& tap : {Tap{-k, 0, 0, 0}, Tap{k, 0, 0, 0}, Tap{0, -k, 0, 0}, Tap{0, k, 0, 0},
                               Tap{0, 0, -k, 0}, Tap{0, 0, k, 0}})
            s.taps.push_back(tap);
    return weighted(s);
}

/// Random cells of either sign, 1/2 <= |x| < 1: wherever a kernel leaves one out, the sum differs.
template <typename T>
void fill_cells(T* cells, int64_t count, uint64_t seed) {
    fill_uniform(cells, count, seed);
    parallel_ranges(count, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) cells[i] = (cells[i] < 0 ? cells[i] - 1 : cells[i] + 1) / 2;
    });
}

/// Where the rule finds coordinate `at`; -1: nowhere, so that a zero stands there.
inline int64_t find(int64_t at, int64_t side, Boundary boundary) {
    if (boundary == Boundary::clamp) return std::clamp<int64_t>(at, 0, side - 1);
    if (boundary == Boundary::periodic) {
        while (at < 0) at += side;
        return at % side;
    }
    return at < 0 || at >= side ? -1 : at;
}

/// One step of the stencil on all cells, in double.
template <typename T>
std::vector<double> reference_step(const Shape& shape, const Domain& d, const std::vector<T>& in) {
    std::vector<double> out(in.size());
    const int r = shape.radius;
    const bool in_y = shape.dimensions > 1, in_z = shape.dimensions > 2;
    parallel_ranges(d.count(), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
            const int64_t x = i % d.nx, y = i / d.nx % d.ny, z = i / d.nx / d.ny;
            const bool reaches_out = x < r || x >= d.nx - r || (in_y && (y < r || y >= d.ny - r)) ||
                                     (in_z && (z < r || z >= d.nz - r));
            if (d.boundary == Boundary::keep && reaches_out) {
                out[i] = static_cast<double>(in[i]);
                continue;
            }
            for (const Tap& tap : shape.taps) {
                int64_t at_x = x + tap.dx, at_y = y + tap.dy, at_z = z + tap.dz;
                if (reaches_out) {
                    at_x = find(at_x, d.nx, d.boundary);
                    at_y = find(at_y, d.ny, d.boundary);
                    at_z = find(at_z, d.nz, d.boundary);
                    if (at_x < 0 || at_y < 0 || at_z < 0) continue;
                }
                out[i] += tap.weight * static_cast<double>(in[(at_z * d.ny + at_y) * d.nx + at_x]);
            }
        }
    });
    return out;
}

/// `steps` steps, in double from beginning to end.
template <typename T>
std::vector<double> reference(const Shape& shape, const Domain& d, const std::vector<T>& in, int64_t steps) {
    std::vector<double> cells = reference_step(shape, d, in);
    for (int64_t step = 1; step < steps; ++step) cells = reference_step(shape, d, cells);
    return cells;
}

/// How far from the reference a kernel in type T may be. A tap's product goes through one rounding of its
/// own and at most one for each other tap (one more where two cells are subtracted first), each of at most
/// u times the sum of |weight x cell|. In several steps those errors add up, and the stencil may enlarge
/// them like the cells. Cells are less than 1.
template <typename T>
double tolerance(const Shape& shape, int64_t steps) {
    const double u = static_cast<double>(std::numeric_limits<T>::epsilon()) / 2;
    const double roundings = static_cast<double>(shape.taps.size()) + 2;  // and one for their products
    return static_cast<double>(steps) * roundings * u *
           std::pow(std::max(1.0, shape.gain()), static_cast<double>(steps));
}
