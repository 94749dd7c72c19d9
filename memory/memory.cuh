// memory.cuh: the problem of this family: sentences of the tutorial texts, turned into kernels whose only
// purpose is to be measured.
//
// A kernel that computes nothing is deleted by the compiler, and one that computes something wrong measures
// something else. So each kernel here reads words that the host knows (word_at), and leaves in `out` what the
// host can work out: the end of a chain, the sum of what was read, the last thing stored. All of that is
// compared, as everywhere.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "grid.cuh"
#include "ladder.hpp"

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

/// What a launch gets: the buffers of a program.
struct Buffers {
    uint32_t* in;       ///< Layout::in words, word_at unless the program fills them itself
    uint32_t* out;      ///< Layout::out words, to be checked
    long long* clocks;  ///< Layout::clocks numbers: what the kernels read off their own clock
    uint64_t seed;
    int64_t in_words;
};

/// What a program needs, known once its options are read and the GPU is.
struct Layout {
    std::string headline;
    int64_t in = 0, out = 1, clocks = 1;  ///< words and numbers in the buffers
    double bytes = 0;                     ///< what a launch of every variant asks for, where that is a figure
    double working_set = 0;               ///< as in Problem
    double host_bytes = 0;                ///< what the program itself fills on the host
};

/// Fills `count` words with word_at.
static __global__ void fill_words(uint32_t* out, int64_t count, uint64_t seed) {
    const int64_t step = int64_t{gridDim.x} * blockDim.x;
    for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step)
        out[i] = word_at(seed, i);
}

struct MemoryFamily {
    static constexpr const char* NAME = "memory";
    using Types = TypeList<void>;
    struct Traits {
        std::function<uint32_t(int64_t i)> expected = {};  ///< out[i]
        /// Instead of `expected`, for what is not one value a cell.
        std::function<Comparison(const std::vector<uint32_t>& out)> check = {};
        /// From Buffers::clocks, on the host, to a reading for each of the program's columns.
        std::function<std::vector<Reading>(const std::vector<long long>& clocks)> read = {};
        std::function<void(const Buffers&)> restore = {};
        double working_set = 0;  ///< as in Variant
        std::string set = {};    ///< one of several tables that a program can show; "": belongs to all
    };
    template <typename>
    using Task = Buffers;

    explicit MemoryFamily(Program& program) : program(program) {}
    std::string nothing_to_do() const { return ""; }
    /// --type, where a program has it, is none of the Types.
    template <typename>
    bool chosen() const {
        return true;
    }

    Program& program;
    // What a program says of itself beside its variants.
    std::vector<Column> columns;
    std::function<Layout()> layout;
    std::string ceiling;  ///< the variant that stands for 100 %, or ""
    std::string set;      ///< which of the tables is shown; "": there is one only
    std::function<void(const Buffers&)> fill = [](const Buffers& t) {
        fill_words<<<1024, 256>>>(t.in, t.in_words, t.seed);
        CHECK_KERNEL();
    };

    template <typename>
    struct Work {
        static double host_bytes(const MemoryFamily& family) {
            const Layout layout = family.layout();
            return sizeof(uint32_t) * static_cast<double>(layout.out) +
                   sizeof(long long) * static_cast<double>(layout.clocks) + layout.host_bytes;
        }

        Work(const MemoryFamily& family, const Program& program)
            : family(family),
              layout(family.layout()),
              in(layout.in),
              out(layout.out),
              clocks(layout.clocks),
              task{in.data(), out.data(), clocks.data(), program.options.seed, layout.in},
              output(layout.out),
              read_off(layout.clocks) {
            if (layout.in) family.fill(task);
        }
        void describe(Problem& problem) const {
            problem.headline = layout.headline;
            if (layout.bytes > 0) problem.rates = {{"GB/s", layout.bytes}};
            problem.working_set = layout.working_set;
            problem.ceiling = family.ceiling;
            problem.columns = family.columns;
        }
        void describe(Variant& v, const Traits& traits) {
            if (traits.restore) v.restore = [&] { traits.restore(task); };
            if (traits.read)
                v.read = [&] {
                    clocks.download(read_off.data());
                    return traits.read(read_off);
                };
            v.working_set = traits.working_set;
            v.hidden = !traits.set.empty() && traits.set != family.set;
        }
        void poison() {
            out.poison();
            clocks.poison();
        }
        Comparison check(const Traits& variant) {
            out.download(output.data());
            if (variant.check) return variant.check(output);
            return compare(
                out.count(), 0, [&](int64_t i) { return output[i]; }, variant.expected);
        }

     private:
        const MemoryFamily& family;
        const Layout layout;
        DeviceBuffer<uint32_t> in, out;
        DeviceBuffer<long long> clocks;

     public:
        const Buffers task;

     private:
        std::vector<uint32_t> output;
        std::vector<long long> read_off;
    };
};

using Memory = Ladder<MemoryFamily>;
