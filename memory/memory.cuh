// memory.cuh: the problem of this family: sentences of the tutorial texts, turned into kernels whose only purpose is to
// be measured.
//
// A kernel that computes nothing is deleted by the compiler, and one that computes something wrong measures something
// else. So each kernel here reads words that the host knows (word_at), and leaves in `out` what the host can work out:
// the end of a chain, the sum of what was read, the last thing stored. All of that is compared before and after the
// timing, as everywhere.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "device_memory.cuh"
#include "grid.cuh"
#include "program.hpp"

/// The sum of the 4-byte words of one load.
__device__ inline uint32_t total_of(uint32_t v) {
    return v;
}
__device__ inline uint32_t total_of(uint2 v) {
    return v.x + v.y;
}
__device__ inline uint32_t total_of(uint4 v) {
    return v.x + v.y + v.z + v.w;
}

/// Word i of the input: seeded, and different from its neighbours.
__host__ __device__ inline uint32_t word_at(uint64_t seed, int64_t i) {
    uint64_t z = (seed + static_cast<uint64_t>(i) + 1) * 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 32)) * 0xd6e8feb86659fd93ull;
    return static_cast<uint32_t>(z ^ (z >> 32));
}

/// The buffers of a program, and the GPU that it runs on.
struct Task {
    uint32_t* in;       ///< Layout::in words, word_at unless the program fills them itself
    uint32_t* out;      ///< Layout::out words, to be checked
    long long* clocks;  ///< Layout::clocks numbers: what the kernels read off their own clock
    uint64_t seed;
    const DeviceInfo* device;
    int64_t in_words;
};

/// What a program needs, known once the command line is read.
struct Layout {
    std::string headline;
    int64_t in = 0, out = 1, clocks = 1;  ///< words and numbers in the buffers
    double bytes = 0;                     ///< what a launch of every variant asks for, where that is a figure
    double working_set = 0;               ///< as in Problem
};

/// A variant of a program of this family.
struct Probe : Label {
    std::function<void(const Task&)> launch = {};
    std::function<uint32_t(int64_t i)> expected = {};  ///< out[i]
    /// From Task::clocks, on the host, to a reading for each of the program's columns.
    std::function<std::vector<Reading>(const std::vector<long long>& clocks)> read = {};
    std::function<std::string(const DeviceInfo&)> obstacle = {};
    std::function<void(const Task&)> restore = {};
    /// Instead of `expected`, for what is not one value a cell.
    std::function<Comparison(const std::vector<uint32_t>& out)> check = {};
    double working_set = 0;
    std::string set = {};  ///< one of several tables that a program can show; "": belongs to all
};

/// Fills `count` words with word_at.
static __global__ void fill_words(uint32_t* out, int64_t count, uint64_t seed) {
    const int64_t step = int64_t{gridDim.x} * blockDim.x;
    for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step)
        out[i] = word_at(seed, i);
}

/// A program of this family: it declares columns and probes, and runs.
class Memory {
 public:
    Memory(const char* name, const char* about, int argc, char** argv)
        : program("memory", name, about, argc, argv) {}

    Program program;
    std::vector<Column> columns;
    std::vector<Probe> probes;
    std::string ceiling;  ///< the probe that stands for 100 %, or ""
    std::string set;      ///< which of the tables is shown; "": there is one only
    std::function<void(const Task&)> fill = [](const Task& t) {
        fill_words<<<1024, 256>>>(t.in, t.in_words, t.seed);
        CHECK_KERNEL();
    };

    /// `layout` is called once the options are known.
    int run(const std::function<Layout()>& layout);

 private:
    int measure(const Layout& layout);
};

inline int Memory::run(const std::function<Layout()>& layout) {
    return program.run({probes.begin(), probes.end()}, [&] {
        program.open_device();
        return measure(layout());
    });
}

inline int Memory::measure(const Layout& layout) {
    DeviceBuffer<uint32_t> in(layout.in), out(layout.out);
    DeviceBuffer<long long> clocks(layout.clocks);
    std::vector<uint32_t> output(layout.out);
    std::vector<long long> read_off(layout.clocks);
    const Task task{in.data(), out.data(), clocks.data(), program.options.seed, &program.device, layout.in};
    if (layout.in) fill(task);

    Problem problem = program.problem(layout.headline);
    problem.bytes = layout.bytes;
    problem.working_set = layout.working_set;
    problem.ceiling = ceiling;
    problem.columns = columns;
    problem.poison = [&] { out.poison(); };

    // A probe that was asked for by name is shown, whichever table it belongs to.
    const bool named = !program.options.variants.empty();
    std::vector<Variant> variants;
    for (const Probe& p : probes) {
        if (!named && !p.set.empty() && p.set != set) continue;
        Variant v{p};
        v.launch = [&] { p.launch(task); };
        v.check = [&] {
            out.download(output.data());
            if (p.check) return p.check(output);
            return compare(
                layout.out, 0, [&](int64_t i) { return output[i]; }, p.expected);
        };
        if (p.restore) v.restore = [&] { p.restore(task); };
        if (p.read)
            v.read = [&] {
                clocks.download(read_off.data());
                return p.read(read_off);
            };
        if (p.obstacle) v.cannot_run = p.obstacle(program.device);
        v.working_set = p.working_set;
        variants.push_back(v);
    }
    return program.measure(problem, variants);
}
