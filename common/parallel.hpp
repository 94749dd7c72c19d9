// parallel.hpp: a loop over many elements on all cores of the CPU.
#pragma once
#include <algorithm>
#include <cstdint>
#include <system_error>
#include <thread>
#include <vector>

/// Calls body(begin, end) for ranges that cover 0..count once, each on a thread of its own, of at least `least`:
/// a thread costs more than a smaller range.
template <typename Body>
void parallel_ranges(int64_t count, const Body& body, int64_t least = 1 << 16) {
    const int64_t cores = std::max(1u, std::thread::hardware_concurrency());
    const int64_t ranges = std::clamp<int64_t>(count / least, 1, cores);
    const int64_t share = count / ranges, rest = count % ranges;
    std::vector<std::thread> threads;
    int64_t begin = 0;
    for (int64_t r = 0; r < ranges; ++r) {
        const int64_t end = begin + share + (r < rest);
        bool started = false;
        if (r + 1 < ranges) try {
                threads.emplace_back([&body, begin, end] { body(begin, end); });
                started = true;
            } catch (const std::system_error&) {  // no more threads for this user: the caller's own does it
            }
        if (!started) body(begin, end);
        begin = end;
    }
    for (std::thread& t : threads) t.join();
}
