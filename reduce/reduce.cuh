// reduce.cuh: the problem of this family. n numbers become one: their sum, max, min, or argmax.
#pragma once
#include <cinttypes>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "collective.cuh"
#include "device_memory.cuh"
#include "program.hpp"
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
    Value* array;      ///< for in_place rungs: the elements' values, fresh before each launch
    Value* partials;   ///< room for a value for each block() threads of the grid, and 4096 more
    Value* scratch;    ///< room for the values that finish() leaves
    unsigned* ticket;  ///< 0; a kernel that counts with it leaves it at 0
    Value* result;
    int block, multiprocessors;

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

/// The ceiling of this family: every byte is read, 16 at a time with eight such loads under way in each
/// thread, and goes into one XOR a warp, so that the host can see that none was left out.
constexpr int READ_THREADS = 512, READS_UNDER_WAY = 8, READ_BLOCKS_PER_MULTIPROCESSOR = 2;
__global__ void __launch_bounds__(READ_THREADS)
    read_words(const uint4* in, int64_t packs, uint32_t* of_warp) {
    const int64_t stride = static_cast<int64_t>(gridDim.x) * READ_THREADS;
    const int64_t thread = blockIdx.x * static_cast<int64_t>(READ_THREADS) + threadIdx.x;
    uint32_t all = 0;
    for (int64_t first = thread; first < packs; first += READS_UNDER_WAY * stride) {
        uint4 pack[READS_UNDER_WAY] = {};
#pragma unroll
        for (int k = 0; k < READS_UNDER_WAY; ++k)
            if (first + k * stride < packs) pack[k] = __ldcs(&in[first + k * stride]);
#pragma unroll
        for (int k = 0; k < READS_UNDER_WAY; ++k) all ^= pack[k].x ^ pack[k].y ^ pack[k].z ^ pack[k].w;
    }
#pragma unroll
    for (int delta = WARP_SIZE / 2; delta > 0; delta /= 2) all ^= shuffle_down(all, delta);
    if (threadIdx.x % WARP_SIZE == 0) of_warp[thread / WARP_SIZE] = all;
}

/// The row of the ceiling. `in` holds `input`, whole packs of 16 bytes.
template <typename T>
class ReadCeiling {
 public:
    ReadCeiling(const std::vector<T>& input, const DeviceBuffer<T>& in, int multiprocessors)
        : input(input),
          in(in),
          blocks(READ_BLOCKS_PER_MULTIPROCESSOR * multiprocessors),
          of_warp(int64_t{blocks} * (READ_THREADS / WARP_SIZE)) {}

    static Label label() { return {"read", "16 bytes a load: the ceiling", Role::ceiling}; }
    void poison() { of_warp.poison(); }
    Variant variant() {
        const auto launch = [this] {
            read_words<<<blocks, READ_THREADS>>>(reinterpret_cast<const uint4*>(in.data()), in.bytes() / 16,
                                                 of_warp.data());
        };
        return {label(), launch, [this] { return check(); }};
    }

 private:
    /// Does what was read amount to the XOR of the input?
    Comparison check() const {
        std::vector<uint32_t> parts(of_warp.count());
        of_warp.download(parts.data());
        uint32_t got = 0, want = 0;
        for (const uint32_t part : parts) got ^= part;
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

    const std::vector<T>& input;
    const DeviceBuffer<T>& in;
    const int blocks;
    DeviceBuffer<uint32_t> of_warp;
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

/// A program of this family, with the operators that it offers: it names its variants and runs.
template <template <typename> class... Ops>
class ReduceBy {
 public:
    /// Why a variant cannot run, or "".
    struct Job {
        const DeviceInfo& device;
        const std::string &op, &type, &data;
        int64_t n;
        int block;
    };
    using Obstacle = std::function<std::string(const Job&)>;

    ReduceBy(const char* name, const char* about, int argc, char** argv);

    /// Adds --block.
    void takes_block(BlockSizes sizes, int64_t default_size = BLOCK_SIZE);

    /// A rung: launch(task) for each operator and type. It must give the same bits each time.
    template <typename L>
    void variant(const char* name, const char* note, L launch, Obstacle obstacle = {}) {
        add({{name, note, Role::rung}, Kind::plain, {}, obstacle}, launch);
    }
    /// A rung that uses task.array, whatever is in it, with room for a last block of 1024.
    template <typename L>
    void with_array(const char* name, const char* note, L launch) {
        add({{name, note, Role::rung}, Kind::with_array, {}, {}}, launch);
    }
    /// A rung that reduces task.array instead of task.in, in place.
    template <typename L>
    void in_place(const char* name, const char* note, L launch) {
        add({{name, note, Role::rung}, Kind::in_place, {}, {}}, launch);
    }
    /// A rung whose additions come in no fixed order.
    template <typename L>
    void unordered(const char* name, const char* note, L launch) {
        add({{name, note, Role::rung}, Kind::unordered, {}, {}}, launch);
    }
    /// The vendor's library.
    template <typename L>
    void baseline(const char* name, const char* note, L launch, Obstacle obstacle) {
        add({{name, note, Role::baseline}, Kind::unordered, {}, obstacle}, launch);
    }
    /// Shows, below the table, how many different results this many launches of each rung give.
    void show_repeats(int launches) { repeats_shown = launches; }

    int run();

 private:
    template <typename Op>
    using Launch = std::function<void(const Task<Op>&)>;
    template <template <typename> class Op>
    struct ByType {
        Launch<Op<float>> f32;
        Launch<Op<double>> f64;
        Launch<Op<int>> i32;
    };
    enum class Kind { plain, with_array, in_place, unordered };
    struct Rung : Label {
        Kind kind;
        std::tuple<ByType<Ops>...> launches;
        Obstacle obstacle;
    };

    template <typename L>
    void add(Rung rung, L launch) {
        rung.launches = {ByType<Ops>{launch, launch, launch}...};
        rungs.push_back(rung);
    }
    template <template <typename> class Op>
    int measure_type();
    template <typename Op, typename Get>
    int measure(const Get& launch_of);
    template <typename Op>
    void print_repeats(const std::vector<Variant>& variants, const DeviceBuffer<typename Op::Value>& result);
    void check_block() const;

    static constexpr int64_t LONGEST_PRINTED = 64;

    Program program;
    std::vector<Rung> rungs;
    std::string op, data = DATA.front();
    int64_t n = 100000000, block = BLOCK_SIZE, default_block = BLOCK_SIZE, offset = 0;
    BlockSizes block_sizes = BlockSizes::any;
    int repeats_shown = 0;
};

/// A program with all operators.
using Reduce = ReduceBy<Sum, Max, Min, ArgMax>;

template <template <typename> class... Ops>
ReduceBy<Ops...>::ReduceBy(const char* name, const char* about, int argc, char** argv)
    : program("reduce", name, about, argc, argv) {
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
void ReduceBy<Ops...>::takes_block(BlockSizes sizes, int64_t default_size) {
    block_sizes = sizes;
    block = default_block = default_size;
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
void ReduceBy<Ops...>::check_block() const {
    const auto refuse = [this](const char* rule) {
        throw UsageError("--block: " + std::to_string(block) + " is not " + rule);
    };
    if (block_sizes == BlockSizes::whole_warps && block % WARP_SIZE) refuse("a multiple of 32");
    if (block_sizes == BlockSizes::powers_of_two && (block & (block - 1))) refuse("a power of two");
}

template <template <typename> class... Ops>
int ReduceBy<Ops...>::run() {
    std::vector<Label> labels = {ReadCeiling<float>::label()};
    labels.insert(labels.end(), rungs.begin(), rungs.end());
    return program.run(labels, [this] {
        check_block();
        if (program.options.print && n > LONGEST_PRINTED)
            throw UsageError("--print: shows at most 64 elements");
        if (n == 0 && op == "argmax") throw UsageError("--n: the argmax of nothing is nowhere");
        program.open_device();
        int code = EXIT_USAGE;
        (void)((op == Ops<int>::NAME ? (code = measure_type<Ops>(), true) : false) || ...);
        return code;
    });
}

template <template <typename> class... Ops>
template <template <typename> class Op>
int ReduceBy<Ops...>::measure_type() {
    const auto of = [](const Rung& r) -> const ByType<Op>& { return std::get<ByType<Op>>(r.launches); };
    if (program.options.type == "float") return measure<Op<float>>([&](const Rung& r) { return of(r).f32; });
    if (program.options.type == "int") return measure<Op<int>>([&](const Rung& r) { return of(r).i32; });
    return measure<Op<double>>([&](const Rung& r) { return of(r).f64; });
}

template <template <typename> class... Ops>
template <typename Op, typename Get>
int ReduceBy<Ops...>::measure(const Get& launch_of) {
    using Element = typename Op::Element;
    using Value = typename Op::Value;
    const int multiprocessors = program.device.multiprocessors;
    bool any_array = false;
    for (const Rung& r : rungs) any_array |= r.kind == Kind::with_array || r.kind == Kind::in_place;

    // The buffer ends with a whole pack of 16 bytes, for the ceiling; kernels see only the elements.
    const int64_t packs = ceil_div(checked_bytes(offset + n, sizeof(Element)), 16);
    std::vector<Element> input(packs * (16 / sizeof(Element)));
    fill_input(input.data() + offset, n, data, program.options.seed);
    DeviceBuffer<Element> in(static_cast<int64_t>(input.size()));
    in.upload(input.data());

    const int64_t most_blocks = ceil_div(n, block) + 4096;
    DeviceBuffer<Value> result(1), array(any_array ? n + MAX_BLOCK_SIZE : 0), partials(most_blocks),
        scratch(4096);
    DeviceBuffer<unsigned> ticket(1);
    CHECK_CUDA_CALL(cudaMemset(ticket.data(), 0, ticket.bytes()));
    ReadCeiling<Element> read(input, in, multiprocessors);

    const Task<Op> task{Op(),           in.data() + offset, n,
                        array.data(),   partials.data(),    scratch.data(),
                        ticket.data(),  result.data(),      static_cast<int>(block),
                        multiprocessors};
    const Expected<Op> expected =
        reference(Op(), input.data() + offset, n, int64_t{MAX_BLOCK_SIZE} * multiprocessors);

    Problem problem = program.problem();
    problem.headline = op + " of " + std::to_string(n) + " " + program.options.type;
    problem.working_set = static_cast<double>(n) * sizeof(Element);
    problem.rates = {{"GB/s", problem.working_set}};
    problem.ceiling = "read";
    problem.poison = [&] {
        result.poison();
        read.poison();
    };
    problem.show = [&](const std::string& name) {
        if (name == problem.ceiling) return;
        for (int64_t i = 0; i < n; ++i) std::printf("%.9g ", static_cast<double>(input[offset + i]));
        Value got;
        result.download(&got);
        std::printf("\n%s by %s: %.9g\n", op.c_str(), name.c_str(), plain(got));
    };

    std::vector<Variant> variants = {read.variant()};
    for (const Rung& r : rungs) {
        Variant v{r};
        v.launch = [&task, launch = launch_of(r)] { launch(task); };
        v.check = [&] {
            Value got;
            result.download(&got);
            return judge(Op(), expected, got);
        };
        if (r.kind != Kind::unordered)
            v.fingerprint = [&] {
                Value got;
                result.download(&got);
                return bits_of(got);
            };
        if (r.kind == Kind::in_place)
            v.restore = [&task] {
                lift_kernel<<<task.multiprocessors * 2, 1024>>>(task.op, task.in, task.n, task.array);
            };
        if (r.obstacle)
            v.cannot_run =
                r.obstacle({program.device, op, program.options.type, data, n, static_cast<int>(block)});
        variants.push_back(v);
    }
    const int code = program.measure(problem, variants);
    if (repeats_shown && !program.options.quiet && !program.options.profile)
        print_repeats<Op>(variants, result);
    return code;
}

template <template <typename> class... Ops>
template <typename Op>
void ReduceBy<Ops...>::print_repeats(const std::vector<Variant>& variants,
                                     const DeviceBuffer<typename Op::Value>& result) {
    for (const Variant& v : variants) {
        const std::vector<std::string>& chosen = program.options.variants;
        const bool wanted = chosen.empty() || std::count(chosen.begin(), chosen.end(), v.name);
        if (v.role != Role::rung || !wanted || !v.cannot_run.empty()) continue;
        std::set<double> results;
        for (int i = 0; i < repeats_shown; ++i) {
            if (v.restore) v.restore();
            v.launch();
            CHECK_KERNEL();
            typename Op::Value got;
            result.download(&got);
            results.insert(plain(got));
        }
        if (results.size() == 1)
            std::printf("%s: %d launches all gave %.17g\n", v.name.c_str(), repeats_shown, *results.begin());
        else
            std::printf("%s: %d launches gave %zu different results, from %.17g to %.17g\n", v.name.c_str(),
                        repeats_shown, results.size(), *results.begin(), *results.rbegin());
    }
}
