// fill.hpp: seeded inputs, the same on every machine and with any number of threads. Never constants: equal
// values hide a wrong index, and draw less power than real data do.
#pragma once
#include <cstdint>

/// values[i] differ from each other, so that a cell in a wrong place cannot pass: a random permutation of the
/// integers below the next power of two up to 2^24 cells (float holds them exactly), beyond it a permutation
/// of bit patterns of finite values (distinct up to 2^30 cells, then repeating far away). T: float, double.
template <typename T>
void fill_distinct(T* values, int64_t count, uint64_t seed);

/// Uniform in [-1, 1). T: float, double.
template <typename T>
void fill_uniform(T* values, int64_t count, uint64_t seed);

/// Normal with mean 0 and deviation 1. T: float, double.
template <typename T>
void fill_normal(T* values, int64_t count, uint64_t seed);

/// Integers in [-magnitude, magnitude], uniform: sums of few enough are exact in any type. T: float, double,
/// int.
template <typename T>
void fill_small_integers(T* values, int64_t count, int magnitude, uint64_t seed);
