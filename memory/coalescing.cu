// coalescing.cu: what a warp's addresses cost in global memory.
//
// Idea:   global memory moves in sectors of 32 bytes, four to a line of 128. A warp that reads 32 words in a
//         row touches 4 sectors; one whose words lie 8 or more apart touches 32, and of each it asked for 4
//         bytes. The memory is as fast as it is; what was asked for is a part of what it moves.
// stride_S: word i S for i = 0, 1, 2, ...  offset_K: word i + K: one sector more than aligned at most, and
//         the neighbouring warp finds that in the cache.  random: any word.
// structs: one field of particles that have eight: an array of structs against a struct of arrays.
// wide_B: 4, 8 and 16 bytes a thread: 128, 256 and 512 bytes a request.
// sectors: a request, by arithmetic. The simulator counts the same, and so does ncu (scripts/profile.py).
// Checked: the sum of what each warp reads.
// Text 2, transactions of 32 and 128 bytes, aligned and coalesced access.
#include <algorithm>
#include <set>

#include "memory.cuh"
#include "parallel.hpp"

constexpr int BLOCK_SIZE = 256, PER_THREAD = 8, FIELDS = 8, SECTOR_BYTES = 32, MAX_STRIDE = 32;
constexpr int64_t PER_WARP = WARP_SIZE * PER_THREAD;

// Which element the i-th read is of; n are read.
struct Stride {
    int stride, offset;
    __host__ __device__ int64_t operator()(int64_t i, int64_t) const { return i * stride + offset; }
};
struct Random {
    __host__ __device__ int64_t operator()(int64_t i, int64_t n) const {
        return static_cast<int64_t>(word_at(12345, i)) * n >> 32;
    }
};
struct Field {  // of a struct of arrays
    int field;
    __host__ __device__ int64_t operator()(int64_t i, int64_t n) const { return field * n + i; }
};

/// Reads n words, one Word at a time, and adds up those of each warp (wrapping, so in any order).
template <typename Word, typename Which>
__global__ void read_words(Which which, const uint32_t* in, int64_t n, uint32_t* warp_sums) {
    constexpr int words = sizeof(Word) / sizeof(uint32_t);
    const int64_t warp = (blockIdx.x * int64_t{BLOCK_SIZE} + threadIdx.x) / WARP_SIZE, count = n / words;
    const int64_t first = warp * PER_WARP + threadIdx.x % WARP_SIZE;
    const auto element = [&](int k) {
        return reinterpret_cast<const Word*>(in)[which(first + k * WARP_SIZE, count)];
    };
    uint32_t sum = 0;
    if (first + (PER_THREAD - 1) * WARP_SIZE < count) {
        Word v[PER_THREAD];  // all loads are in flight before the first is used
#pragma unroll
        for (int k = 0; k < PER_THREAD; ++k) v[k] = element(k);
#pragma unroll
        for (int k = 0; k < PER_THREAD; ++k) sum += total_of(v[k]);
    } else {
        for (int k = 0; first + k * WARP_SIZE < count; ++k) sum += total_of(element(k));
    }
    if (warp == 0 && threadIdx.x < n % words) sum += in[n - 1 - threadIdx.x];
    for (int delta = WARP_SIZE / 2; delta > 0; delta /= 2) sum += __shfl_down_sync(~0u, sum, delta);
    if (threadIdx.x % WARP_SIZE == 0) warp_sums[warp] = sum;
}

/// Warps that read n words, whole blocks of them.
int64_t warps_for(int64_t n, int words) {
    return std::max<int64_t>(1, ceil_div(n / words, PER_WARP * (BLOCK_SIZE / WARP_SIZE))) *
           (BLOCK_SIZE / WARP_SIZE);
}

template <typename Which>
std::vector<uint32_t> reference(Which which, int words, int64_t n, uint64_t seed) {
    std::vector<uint32_t> sums(warps_for(n, words));
    const int64_t count = n / words;
    parallel_ranges(static_cast<int64_t>(sums.size()), [&](int64_t begin, int64_t end) {
        for (int64_t warp = begin; warp < end; ++warp)
            for (int64_t i = warp * PER_WARP; i < std::min(count, (warp + 1) * PER_WARP); ++i)
                for (int w = 0; w < words; ++w) sums[warp] += word_at(seed, which(i, count) * words + w);
    });
    for (int64_t w = count * words; w < n; ++w) sums[0] += word_at(seed, w);
    return sums;
}

/// Sectors that a request of a warp touches, on average over the first requests.
template <typename Which>
double sectors_a_request(Which which, int words, int64_t n) {
    const int64_t count = n / words, requests = std::min<int64_t>(ceil_div(count, WARP_SIZE), 4096);
    int64_t sectors = 0;
    for (int64_t r = 0; r < requests; ++r) {
        std::set<int64_t> touched;
        for (int64_t i = r * WARP_SIZE; i < std::min(count, (r + 1) * WARP_SIZE); ++i)
            for (int w = 0; w < words; ++w) touched.insert((which(i, count) * words + w) * 4 / SECTOR_BYTES);
        sectors += static_cast<int64_t>(touched.size());
    }
    return requests ? static_cast<double>(sectors) / static_cast<double>(requests) : 0;
}

class Coalescing : public Memory {
 public:
    Coalescing(int argc, char** argv)
        : Memory("coalescing", "Reads words of global memory in patterns: what is asked for, and what moves.",
                 argc, argv) {
        family.set = "table";
        program.command_line.choice("--set", family.set, {"table", "strides", "offsets"}, "which patterns");
        program.command_line.size("--n", n, 1, int64_t{1} << 31, 5000,
                                  "words that are read (32 times as many are there)");
        program.sweep_sizes = {"--n 64Mi --set table", "--n 16Mi --set strides", "--n 16Mi --set offsets"};
        for (const char* set : {"table", "strides", "offsets"})
            for (const char* size : {"--n 1", "--n 3", "--n 31", "--n 2047", "--n 2049", "--n 6007"})
                program.test_sizes.push_back(std::string(size) + " --set " + set);
        program.large_sizes = {"--n 512Mi"};
        family.ceiling = "wide_16";
        family.columns = {{"sectors", "a request"}};
        family.layout = [this] {
            Layout layout;
            layout.headline = std::to_string(n) + " words, " + family.set;
            layout.in = MAX_STRIDE * n + 32;
            layout.out = warps_for(n, 1);
            layout.bytes = layout.working_set = 4.0 * static_cast<double>(n);
            layout.host_bytes = 4.0 * static_cast<double>(layout.out);
            return layout;
        };
    }

    template <typename Word, typename Which>
    Entry& reads(const std::string& name, const std::string& note, Which which) {
        constexpr int words = sizeof(Word) / 4;
        Entry& v = variant(name, note, [=](const Buffers& t) {
            const auto blocks = static_cast<unsigned>(warps_for(n, words) / (BLOCK_SIZE / WARP_SIZE));
            read_words<Word><<<blocks, BLOCK_SIZE>>>(which, t.in, n, t.out);
        });
        v.check = [=](const std::vector<uint32_t>& out) {
            const std::vector<uint32_t> sums = reference(which, words, n, program.options.seed);
            return compare(
                static_cast<int64_t>(sums.size()), 0, [&](int64_t i) { return out[i]; },
                [&](int64_t i) { return sums[i]; });
        };
        v.read = [=](const std::vector<long long>&) {
            return std::vector<Reading>{{sectors_a_request(which, words, n), 1}};
        };
        return v;
    }

 private:
    int64_t n = 1 << 24;
};

int main(int argc, char** argv) {
    Coalescing ladder(argc, argv);
    ladder.reads<uint4>("wide_16", "16 bytes a thread: the ceiling", Stride{1, 0}).role = Role::ceiling;
    ladder.reads<uint2>("wide_8", "8 bytes a thread", Stride{1, 0}).set = "table";
    ladder.reads<uint32_t>("wide_4", "4 bytes a thread", Stride{1, 0}).set = "table";
    ladder.reads<uint32_t>("random", "any word", Random{}).set = "table";
    ladder.reads<uint32_t>("array_of_structs", "one word of eight, the struct together", Stride{FIELDS, 3})
        .set = "table";
    ladder.reads<uint32_t>("struct_of_arrays", "the same, the field together", Field{3}).set = "table";
    for (int s = 1; s <= MAX_STRIDE; ++s) {
        const std::string words = std::to_string(s);
        ladder.reads<uint32_t>("stride_" + words, words + " words from lane to lane", Stride{s, 0}).set =
            "strides";
    }
    for (int k = 0; k < 32; ++k) {
        const std::string words = std::to_string(k);
        ladder.reads<uint32_t>("offset_" + words, "starts " + words + " words late", Stride{1, k}).set =
            "offsets";
    }
    return ladder.run();
}
