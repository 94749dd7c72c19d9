// plate.hpp: the host's part of heat.cu: the plate, when it is at rest, and what it then must be. heat.cu tells why.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "domain.cuh"

struct Plate {
    static constexpr double PI = 3.14159265358979323846, R = 0.2;

    Domain domain;
    double dx, height;
    double gap;         ///< the slowest wave shrinks by 1 - gap a step
    double grid_error;  ///< what the 5-point formula is wrong by, at most

    Plate(int64_t nx, int64_t ny)
        : domain{nx, ny}, dx(1 / static_cast<double>(nx - 1)), height(dx * static_cast<double>(ny - 1)) {
        gap = 4 * R *
              (std::pow(std::sin(PI * dx / 2), 2) +
               std::pow(std::sin(PI / 2 / static_cast<double>(ny - 1)), 2));
        grid_error = dx * dx * std::pow(PI, 4) / 48;
    }

    /// The weight of tap k of the 5-point star.
    static double weight(size_t k) { return k ? R : 1 - 4 * R; }

    /// Cold, but for the top.
    template <typename T>
    std::vector<T> start() const {
        std::vector<T> cells(domain.count());
        for (int64_t x = 1; x < domain.nx - 1; ++x)
            cells[x] = static_cast<T>(std::sin(PI * dx * static_cast<double>(x)));
        return cells;
    }

    double solution(int64_t x, int64_t y) const {
        const double at_y = dx * static_cast<double>(y);
        // sinh(a) / sinh(b) without numbers that no double holds
        return std::sin(PI * dx * static_cast<double>(x)) * std::exp(-PI * at_y) *
               std::expm1(-2 * PI * (height - at_y)) / std::expm1(-2 * PI * height);
    }

    /// What a result may be wrong by.
    template <typename T>
    double tolerance() const {
        const double width = static_cast<double>(domain.nx - 1), u = std::numeric_limits<T>::epsilon() / 2.0;
        return 1.1 * grid_error + (5 + 3) * u * width * width / (8 * R);
    }

    /// The change of k steps with which it is enough: a tenth of grid_error is to come.
    double enough(int k) const {
        const double shrink = std::pow(1 - gap, k);
        return 0.1 * grid_error * (1 - shrink) / shrink;
    }

    /// A float may stop changing, or go to and fro by a rounding, long before that.
    int64_t most_steps() const { return static_cast<int64_t>(2 * std::log(10 / grid_error + 10) / gap); }
};
