// pack.cuh: several elements side by side, for vectorized loads and stores.
#pragma once

/// V elements that one load or store moves: 16 bytes unless said otherwise. Its address must be a multiple of its size.
template <typename T, int ELEMENTS = 16 / sizeof(T)>
struct alignas(ELEMENTS * sizeof(T)) Pack {
    static constexpr int V = ELEMENTS;
    T at[V];
};
