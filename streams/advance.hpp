// advance.hpp: arithmetic that takes as long as it is told, and whose result the host knows without doing the work.
#pragma once
#include <cstdint>

/// A step of a linear congruential generator: arithmetic that the compiler cannot leave out.
constexpr uint32_t MULTIPLIER = 1664525, INCREMENT = 1013904223;

/// The same steps at once: k steps are one multiplication and one addition too.
struct Advance {
    uint32_t multiplier = 1, increment = 0;

    explicit Advance(int64_t steps) {
        uint32_t m = MULTIPLIER, a = INCREMENT;  // of 1, 2, 4, ... steps
        for (; steps > 0; steps /= 2) {
            if (steps % 2) {
                multiplier *= m;
                increment = increment * m + a;
            }
            a += a * m;
            m *= m;
        }
    }
    int operator()(int a) const {
        return static_cast<int>(static_cast<uint32_t>(a) * multiplier + increment);
    }
};
