// reduce.cuh: the problem of this family. n numbers become one: their sum, max, min, or argmax.
#pragma once
#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <set>
#include <string>
#include <vector>

#include "collective.cuh"
#include "cuda_timer.cuh"
#include "ladder.hpp"
#include "reference.hpp"

/// Threads a block where a program does not say otherwise, as in the tutorial texts.
constexpr int BLOCK_SIZE = 128;
constexpr int64_t MAX_N = int64_t{1} << 35;  // 32 elements a block fill the largest grid at 2^36

/// What a rung has to do, and with what: op over in[0], ..., in[n - 1] into *result, all in device memory.
template <typename Operator>
struct Task {
    using Op = Operator;
    using Element = typename Op::Element;
    using Value = typename Op::Value;

    Op op;
    const Element* in;
    int64_t n;
    Value*
        array;  ///< with needs_array(); for variants in_place the elements' values, fresh before each launch
    Value* partials;   ///< room for a value for each block() threads of the grid, and 4096 more
    Value* scratch;    ///< room for the values that finish() leaves
    unsigned* ticket;  ///< 0; a kernel that counts with it leaves it at 0
    Value* result;
    int block, multiprocessors;
    bool may_be_nan;  ///< the input holds NaN, where its type has it

    /// Blocks that cover the elements with `per_thread` each; one where there is no element.
    int blocks(int per_thread = 1) const {
        return static_cast<int>(std::max<int64_t>(1, ceil_div(n, int64_t{block} * per_thread)));
    }
};

/// The second launch of a rung that leaves `count` values in task.partials: reduces them to task.result.
template <typename Op>
void finish(const Task<Op>& task, int64_t count) {
    const int64_t wanted = ceil_div(count, FINISH_THREADS * FINISH_PER_THREAD);
    const int blocks = static_cast<int>(std::min<int64_t>(wanted, 2 * task.multiprocessors));
    finish_kernel<<<blocks, FINISH_THREADS>>>(task.op, task.partials, count, task.scratch, task.ticket,
                                              task.result);
}

/// The ceiling of this family: every byte is read, 16 at a time with IN_FLIGHT such loads in flight in each thread, and
/// goes into one XOR a warp, so that the host can see that none was left out.
constexpr int READ_THREADS = 512;
template <int IN_FLIGHT>
__global__ void __launch_bounds__(READ_THREADS)
    read_words(const uint4* in, int64_t packs, uint32_t* of_warp) {
    const int64_t stride = static_cast<int64_t>(gridDim.x) * READ_THREADS;
    const int64_t thread = blockIdx.x * static_cast<int64_t>(READ_THREADS) + threadIdx.x;
    uint32_t all = 0;
    for (int64_t first = thread; first < packs; first += IN_FLIGHT * stride) {
        uint4 pack[IN_FLIGHT] = {};
#pragma unroll
        for (int k = 0; k < IN_FLIGHT; ++k)
            if (first + k * stride < packs) pack[k] = __ldcs(&in[first + k * stride]);
#pragma unroll
        for (int k = 0; k < IN_FLIGHT; ++k) all ^= pack[k].x ^ pack[k].y ^ pack[k].z ^ pack[k].w;
    }
#pragma unroll
    for (int delta = WARP_SIZE / 2; delta > 0; delta /= 2) all ^= shuffle_down(all, delta);
    if (threadIdx.x % WARP_SIZE == 0) of_warp[thread / WARP_SIZE] = all;
}

/// Reads `in`, which holds `input`, whole packs of 16 bytes, in the fastest of a few ways: no rung should stand above it.
template <typename T>
class ReadCeiling {
 public:
    static constexpr const char *NAME = "read", *NOTE = "16 bytes a load: the ceiling";

    ReadCeiling(const std::vector<T>& input, const DeviceBuffer<T>& in, int multiprocessors)
        : input(input),
          in(in),
          multiprocessors(multiprocessors),
          of_warp(int64_t{MOST_BLOCKS} * multiprocessors * (READ_THREADS / WARP_SIZE)) {}

    /// Times each way a few times, where there is a clock, and stays with the fastest.
    void choose() {
        if (simulated() || in.count() == 0) return;
        CudaTimer timer;
        double fastest = 0, slowest = 0;
        for (const Way& candidate : WAYS) {
            double best = 0;
            for (int i = 0; i < TRIES; ++i) {
                timer.start();
                launch(candidate);
                CHECK_KERNEL();
                timer.stop();
                const double elapsed = timer.elapsed();
                if (i == 0 || elapsed < best) best = elapsed;
            }
            if (fastest == 0 || best < fastest) {
                fastest = best;
                way = candidate;
            }
            slowest = std::max(slowest, best);
        }
        spread = slowest / fastest;
    }
    void launch() { launch(way); }
    /// For below the table.
    std::string text() const {
        char line[200];
        std::snprintf(line, sizeof line,
                      "read: %d loads in flight, %d blocks of %d a multiprocessor, the fastest of %zu ways "
                      "(the slowest takes "
                      "%.2f times as long)\n",
                      way.in_flight, way.blocks, READ_THREADS, std::size(WAYS), spread);
        return line;
    }
    /// An even number of equal words would cancel out: one of them is another, and no XOR of small integers.
    void poison() {
        of_warp.poison();
        CHECK_CUDA_CALL(cudaMemset(of_warp.data(), 0x5A, sizeof(uint32_t)));
    }
    /// Does what was read amount to the XOR of the input?
    Comparison check() const {
        std::vector<uint32_t> parts(of_warp.count());
        of_warp.download(parts.data());
        uint32_t got = 0, want = 0;
        for (int64_t w = 0; w < warps; ++w) got ^= parts[w];
        std::mutex merging;
        parallel_ranges(in.bytes() / 4, [&](int64_t begin, int64_t end) {
            uint32_t part = 0, word;
            for (int64_t i = begin; i < end; ++i) {
                std::memcpy(&word, reinterpret_cast<const char*>(input.data()) + 4 * i, sizeof word);
                part ^= word;
            }
            const std::lock_guard<std::mutex> lock(merging);
            want ^= part;
        });
        return compare(
            1, 0, [&](int64_t) { return got; }, [&](int64_t) { return want; });
    }

 private:
    struct Way {
        int in_flight, blocks;  ///< loads of a thread; blocks a multiprocessor
    };
    static constexpr int MOST_BLOCKS = 4, TRIES = 5;
    static constexpr Way WAYS[] = {{8, 2}, {8, 1}, {8, 3}, {8, 4}, {4, 2}, {4, 4}, {2, 4}, {16, 1}, {16, 2}};

    void launch(const Way& how) {
        const auto kernel = how.in_flight == 2   ? read_words<2>
                            : how.in_flight == 4 ? read_words<4>
                            : how.in_flight == 8 ? read_words<8>
                                                 : read_words<16>;
        const int blocks = how.blocks * multiprocessors;
        warps = int64_t{blocks} * (READ_THREADS / WARP_SIZE);
        kernel<<<blocks, READ_THREADS>>>(reinterpret_cast<const uint4*>(in.data()), in.bytes() / 16,
                                         of_warp.data());
    }

    const std::vector<T>& input;
    const DeviceBuffer<T>& in;
    const int multiprocessors;
    DeviceBuffer<uint32_t> of_warp;
    Way way = WAYS[0];
    int64_t warps = 0;
    double spread = 1;
};

/// The elements as values: the fresh input of rungs that work in place.
template <typename Op>
__global__ void lift_kernel(Op op, const typename Op::Element* in, int64_t n, typename Op::Value* values) {
    const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
    for (int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x; i < n; i += step)
        values[i] = op.lift(in[i], i);
}

/// Block sizes that a program's kernels can take.
enum class BlockSizes { any, whole_warps, powers_of_two };

/// This family, with the operators that a program offers.
template <template <typename> class... Ops>
struct ReduceFamily {
    static constexpr const char* NAME = "reduce";
    using Types = TypeList<Ops<double>..., Ops<float>..., Ops<int>...>;
    struct Traits {
        bool reads_only = false;  ///< the ceiling
        bool ordered = true;      ///< gives the same bits each time
        bool in_place = false;    ///< reduces task.array instead of task.in
        int launches_shown =
            0;  ///< how many different results this many launches give is shown below the table
    };
    template <typename Op>
    using Task = ::Task<Op>;

    explicit ReduceFamily(Program&);

    /// Adds --block.
    void takes_block(BlockSizes sizes, int64_t default_size = BLOCK_SIZE);
    /// The task has an array with room for a last block of 1024. It holds anything but for variants in_place.
    void needs_array() { has_array = true; }

    template <typename Op>
    bool chosen() const {
        return op == Op::NAME && program.options.type == TYPE_NAME<typename Op::Element>;
    }
    std::string nothing_to_do() const;
    template <typename L>
    static void add_ceiling(L& ladder) {
        using Read = ReadCeiling<float>;
        ladder.ceiling_of_work(Read::NAME, Read::NOTE, [](auto& work) { work.read.launch(); }).reads_only =
            true;
    }

    Program& program;
    std::string op, data = DATA.front();
    int64_t n = 100000000, block = BLOCK_SIZE, offset = 0;
    BlockSizes block_sizes = BlockSizes::any;
    bool has_array = false;

    template <typename Op>
    struct Work;

 private:
    static constexpr int64_t LONGEST_PRINTED = 64;
};

/// A program of this family: it names its variants and runs.
template <template <typename> class... Ops>
using ReduceBy = Ladder<ReduceFamily<Ops...>>;
/// With all operators.
using Reduce = ReduceBy<Sum, Max, Min, ArgMax>;

template <template <typename> class... Ops>
ReduceFamily<Ops...>::ReduceFamily(Program& the_program) : program(the_program) {
    const std::vector<std::string> ops = {Ops<int>::NAME...};
    op = ops.front();
    program.command_line.types({"double", "float", "int"});
    program.command_line.choice("--op", op, ops, "what the elements are reduced to");
    program.command_line.choice("--data", data, DATA, "kind of input");
    program.command_line.size("--n", n, 0, MAX_N, 20000, "elements");
    program.command_line.number("--offset", offset, 0, 1023,
                                "elements that the input starts past an aligned address");

    const std::string first = " --op " + ops.front();
    for (const char* size :
         {"--n 1024 --type float", "--n 65536 --type float", "--n 1048576 --type float",
          "--n 16777216 --type float", "--n 268435456 --type float", "--n 100000000 --type double",
          "--n 268435456 --type int", "--n 1073741824 --type float"})
        program.sweep_sizes.push_back(size + first);
    // No element, one, less and more than a warp, a block, eight blocks; inputs where the rules decide.
    for (const std::string& o : ops)
        for (const char* type : {"float", "double", "int"}) {
            const std::string what = " --op " + o + " --type " + type;
            if (o != "argmax") program.test_sizes.push_back("--n 0" + what);
            for (const char* size :
                 {"1", "2", "31", "33", "127", "129 --offset 1", "1000 --data negative", "1025 --data ties",
                  "777 --data nan", "3001 --data inf", "20011 --offset 3"})
                program.test_sizes.push_back("--n " + (size + what));
            for (const char* size : {"1000003", "16777215", "16777217 --offset 1"})
                program.large_sizes.push_back("--n " + (size + what));
        }
    // More than 2^31 bytes, than 2^31 elements, and than a key of argmax has room for.
    for (const char* size : {"536870914", "2147483653", "4294967301"})
        for (const std::string& o : ops)
            program.large_sizes.push_back("--n " + (size + (" --type float --op " + o)));
}

template <template <typename> class... Ops>
void ReduceFamily<Ops...>::takes_block(BlockSizes sizes, int64_t default_size) {
    block_sizes = sizes;
    block = default_size;
    const char* which = sizes == BlockSizes::any           ? "threads a block"
                        : sizes == BlockSizes::whole_warps ? "threads a block, a multiple of 32"
                                                           : "threads a block, a power of two";
    program.command_line.number("--block", block, WARP_SIZE, MAX_BLOCK_SIZE, which);
    for (const int size : {32, 48, 64, 96, 129, 180, 256, 512, 1024}) {
        if (sizes == BlockSizes::whole_warps && size % WARP_SIZE) continue;
        if (sizes == BlockSizes::powers_of_two && (size & (size - 1))) continue;
        const std::string with = " --block " + std::to_string(size);
        for (const char* rest :
             {"--n 1000 --type float", "--n 20011 --type int", "--n 20011 --type double --data negative"})
            program.test_sizes.push_back(rest + with + " --op " + op);
        program.large_sizes.push_back("--n 16777217 --type float" + with);
    }
}

template <template <typename> class... Ops>
std::string ReduceFamily<Ops...>::nothing_to_do() const {
    const auto refuse = [this](const char* rule) {
        throw UsageError("--block: " + std::to_string(block) + " is not " + rule);
    };
    if (block_sizes == BlockSizes::whole_warps && block % WARP_SIZE) refuse("a multiple of 32");
    if (block_sizes == BlockSizes::powers_of_two && (block & (block - 1))) refuse("a power of two");
    if (program.options.print && n > LONGEST_PRINTED) throw UsageError("--print: shows at most 64 elements");
    if (n == 0 && op == "argmax") throw UsageError("--n: the argmax of nothing is nowhere");
    return "";  // the sum, the max and the min of nothing are the neutral element
}

template <template <typename> class... Ops>
template <typename Op>
struct ReduceFamily<Ops...>::Work {
    using Element = typename Op::Element;
    using Value = typename Op::Value;

    static double host_bytes(const ReduceFamily& family) {
        return static_cast<double>(sizeof(Element)) * static_cast<double>(family.offset + family.n);
    }

    // The buffer ends with a whole pack of 16 bytes, for the ceiling; kernels see only the elements.
    Work(const ReduceFamily& the_family, const Program& program)
        : family(the_family),
          input(ceil_div(checked_bytes(family.offset + family.n, sizeof(Element)), 16) *
                (16 / sizeof(Element))),
          in(static_cast<int64_t>(input.size())),
          result(1),
          array(family.has_array ? family.n + MAX_BLOCK_SIZE : 0),
          partials(ceil_div(family.n, family.block) + 4096),
          scratch(4096),
          ticket(1),
          read(input, in, program.device.multiprocessors),
          task{Op(),
               in.data() + family.offset,
               family.n,
               array.data(),
               partials.data(),
               scratch.data(),
               ticket.data(),
               result.data(),
               static_cast<int>(family.block),
               program.device.multiprocessors,
               family.data == "nan"} {
        fill_input(input.data() + family.offset, family.n, family.data, program.options.seed);
        in.upload(input.data());
        CHECK_CUDA_CALL(cudaMemset(ticket.data(), 0, ticket.bytes()));
        read.choose();
        expected = reference(Op(), input.data() + family.offset, family.n,
                             int64_t{MAX_BLOCK_SIZE} * program.device.multiprocessors);
    }
    void describe(Problem& problem) const {
        problem.headline = family.op + " of " + std::to_string(family.n) + " " + problem.type;
        problem.working_set = static_cast<double>(family.n) * sizeof(Element);
        problem.rates = {{"GB/s", problem.working_set}};
        problem.ceiling = ReadCeiling<Element>::NAME;
        problem.remark = [this](const Medians& medians) { return read.text() + different_results(medians); };
    }
    void describe(Variant& variant, const Traits& traits) {
        if (traits.reads_only) return;
        if (traits.ordered) variant.fingerprint = [this] { return bits_of(downloaded()); };
        if (traits.in_place)
            variant.restore = [this] {
                lift_kernel<<<task.multiprocessors * 2, 1024>>>(task.op, task.in, task.n, task.array);
            };
        if (traits.launches_shown && variant.cannot_run.empty())
            repeated.push_back({variant, traits.launches_shown});
    }
    void poison() {
        result.poison();
        read.poison();
    }
    Comparison check(const Traits& variant) const {
        return variant.reads_only ? read.check() : judge(Op(), expected, downloaded());
    }
    void show(const std::string& variant) const {
        if (variant == ReadCeiling<Element>::NAME) return;
        for (int64_t i = 0; i < family.n; ++i)
            std::printf("%.9g ", static_cast<double>(input[family.offset + i]));
        std::printf("\n%s by %s: %.9g\n", family.op.c_str(), variant.c_str(), plain(downloaded()));
    }

 private:
    struct Repeated {
        Variant variant;
        int launches;
    };

    Value downloaded() const {
        Value value;
        result.download(&value);
        return value;
    }
    /// A line for each variant with launches_shown that has a time.
    std::string different_results(const Medians& medians) const {
        std::string text;
        for (const auto& [variant, launches] : repeated) {
            if (!(medians(variant.name) > 0)) continue;
            std::set<double> results;
            for (int i = 0; i < launches; ++i) {
                if (variant.restore) variant.restore();
                variant.launch();
                CHECK_KERNEL();
                results.insert(plain(downloaded()));
            }
            char line[200];
            if (results.size() == 1)
                std::snprintf(line, sizeof line, "%s: %d launches all gave %.17g\n", variant.name.c_str(),
                              launches, *results.begin());
            else
                std::snprintf(
                    line, sizeof line, "%s: %d launches gave %zu different results, from %.17g to %.17g\n",
                    variant.name.c_str(), launches, results.size(), *results.begin(), *results.rbegin());
            text += line;
        }
        return text;
    }

    const ReduceFamily& family;
    std::vector<Element> input;
    DeviceBuffer<Element> in;
    DeviceBuffer<Value> result, array, partials, scratch;
    DeviceBuffer<unsigned> ticket;
    Expected<Op> expected;
    std::vector<Repeated> repeated;

 public:
    ReadCeiling<Element> read;
    const Task<Op> task;
};
