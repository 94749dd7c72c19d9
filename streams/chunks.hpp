// chunks.hpp: a problem in pieces, and how long they should take. Plain arithmetic, tested on the host.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>

/// A piece of the data: elements begin, ..., begin + size - 1.
struct Chunk {
    int64_t index, begin, size;
};

/// `n` elements in chunks of `size`; what is left over is a shorter last one.
struct Chunks {
    int64_t n, size;

    int64_t count() const { return n / size + (n % size != 0); }
    Chunk operator[](int64_t i) const { return {i, i * size, std::min(size, n - i * size)}; }
};

/// The size of a chunk that makes at most `count` of them.
inline int64_t size_for_count(int64_t n, int64_t count) {
    return std::max<int64_t>(1, n / count + (n % count != 0));
}

/// What each part of a pipeline takes alone, in milliseconds for all of the data: copying in, the kernel, copying out,
/// and both directions of copying at once. `per_chunk` is what a chunk costs beside its data.
struct Parts {
    double in, kernel, out, both, per_chunk;

    double sum() const { return in + kernel + out; }
    double longest() const { return std::max({in, kernel, out}); }
    /// No order of issue is faster: each engine is busy all the time.
    double bound() const { return std::max(longest(), both); }
};

/// T(n) = bound + (in + kernel + out - max(in, kernel, out)) / n + n * per_chunk: while the first chunk comes in and the
/// last goes out, the other engines have nothing to do. A chunk also waits for the one before it in its stream: s streams
/// cannot take less than sum / s, and the last of them begins s - 1 chunks late. One stream takes the sum.
inline double model_ms(const Parts& p, int64_t chunks, int streams) {
    const double n = static_cast<double>(std::max<int64_t>(1, chunks));
    const double s = std::min(static_cast<double>(streams), n);
    const double by_engines = std::min(p.bound() + (p.sum() - p.longest()) / n, p.sum());
    const double by_streams = p.sum() / s + (s - 1) / n * p.longest();
    return std::max(by_engines, by_streams) + n * p.per_chunk;
}

/// The number of chunks at which T(n) is least: where what another chunk saves is what it costs.
inline double best_chunks(const Parts& p) {
    return p.per_chunk > 0 ? std::max(1.0, std::sqrt((p.sum() - p.longest()) / p.per_chunk)) : INFINITY;
}
