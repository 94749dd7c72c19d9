// advance.hpp: arithmetic that takes as long as it is told, and whose result the host knows without doing the work.
#pragma once
#include <cstdint>

/// A step of a linear congruential generator: arithmetic that the compiler cannot leave out.
constexpr uint32_t MULTIPLIER = 1664525, INCREMENT = 1013904223;

/// The same steps at once: k steps are one multiplication and one addition too.
struct Advance {
    uint32_t multiplier = 1, increment = 0;

    explicit Advance(int64_t steps) {
        for (int64_t k = 0; k < steps; ++k) {
            multiplier *= MULTIPLIER;
            increment = increment * MULTIPLIER + INCREMENT;
        }
    }
    int operator()(int a) const {
        return static_cast<int>(static_cast<uint32_t>(a) * multiplier + increment);
    }
};
