// accuracy.cu: how wrong is a sum of floats?
//
// Idea:   each addition rounds, by up to u = 2^-24 of what it yields; so what counts is how large the partial
//         sums are, and through how many additions an element goes.
//         one_by_one:  n additions, in the end to a sum that is n times an element: bounded by n u. When the
//                      sum is 2^24 times the element, adding it changes nothing: 1.23 sticks at 2^25.
//         float:       a running sum a thread and a tree, as in the other programs: n / threads additions.
//         pairwise:    a tree from the first addition: log2(n).
//         compensated: TwoSum (Knuth; Kahan's and Neumaier's sums are of this kind) yields what an addition
//                      lost, which is a float itself, and adds it up apart: as good as twice the digits.
//         double:      floats are added in double and rounded once. Where double is fast, the simplest.
// Cost:   compensation is six additions for one, all in the shadow of the memory; double is twice the
//         registers.
// The bounds (relative to the sum of |x|) are proved ones, and a sum that passes its bound is reported as
//         wrong.
// Text 1 sums 1e8 times 1.23 in double (122999999.998770) and says that float is worse: the last row.
#include "reduce.cuh"

/// A sum and what its additions have lost so far.
struct TwoFloats {
    float sum, lost;
};
__device__ TwoFloats shuffle_down(TwoFloats value, int delta) {
    return {shuffle_down(value.sum, delta), shuffle_down(value.lost, delta)};
}

struct CompensatedSum {
    using Element = float;
    using Value = TwoFloats;
    __device__ Value neutral() const { return {0, 0}; }
    __device__ Value lift(float x, int64_t) const { return {x, 0}; }
    __device__ Value operator()(Value a, Value b) const {
        const float sum = a.sum + b.sum, part = sum - a.sum;
        return {sum, a.lost + b.lost + ((a.sum - (sum - part)) + (b.sum - part))};
    }
    __device__ static float rounded(Value v) { return v.sum + v.lost; }
    static double bound(double u, double depth) { return u + depth * depth * u * u; }
};

struct FloatSum : Sum<float> {
    __device__ static float rounded(float v) { return v; }
    static double bound(double u, double depth) { return u * depth; }
};

struct DoubleSum {
    using Element = float;
    using Value = double;
    __device__ Value neutral() const { return 0; }
    __device__ Value lift(float x, int64_t) const { return x; }
    __device__ Value operator()(Value a, Value b) const { return a + b; }
    __device__ static float rounded(double v) { return static_cast<float>(v); }
    static double bound(double u, double depth) { return u + depth * u * u; }
};

constexpr int THREADS = 512;

template <typename Op>
__global__ void sum_by_threads(Op op, const float* in, int64_t n, typename Op::Value* partials,
                               unsigned* ticket, float* result) {
    const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
    typename Op::Value value = op.neutral();
    for (int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x; i < n; i += step)
        value = op(value, op.lift(in[i], i));
    value = block_reduce(op, value);
    if (grid_reduce(op, value, partials, ticket)) *result = Op::rounded(value);
}

/// One value for each 1024 of `in`, by halving.
__global__ void sum_by_pairs(const float* in, int64_t n, float* out) {
    __shared__ float x[2 * THREADS];
    const int64_t first = blockIdx.x * int64_t{2 * THREADS};
    for (int k = threadIdx.x; k < 2 * THREADS; k += THREADS) x[k] = first + k < n ? in[first + k] : 0;
    for (int half = THREADS; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) x[threadIdx.x] += x[threadIdx.x + half];
    }
    if (threadIdx.x == 0) out[blockIdx.x] = x[0];
}

/// A way to sum: launch(in, n, result), and the most that it errs by, relative to the sum of |x|.
struct Scheme {
    const char* name;
    std::function<void(const float* in, int64_t n, float* result)> launch;
    std::function<double(int64_t n)> bound;
};
constexpr double U = unit_roundoff<float>();

template <typename Op>
Scheme by_threads(const char* name, Op op, int blocks) {
    const auto partials = std::make_shared<DeviceBuffer<typename Op::Value>>(blocks);
    const auto ticket = std::make_shared<DeviceBuffer<unsigned>>(1);
    CHECK_CUDA_CALL(cudaMemset(ticket->data(), 0, ticket->bytes()));
    return {name,
            [=](const float* in, int64_t n, float* result) {
                sum_by_threads<<<blocks, THREADS>>>(op, in, n, partials->data(), ticket->data(), result);
            },
            [=](int64_t n) { return Op::bound(U, static_cast<double>(n / (blocks * THREADS) + blocks)); }};
}

Scheme by_pairs(const char* name, int64_t longest) {
    const auto sums = std::make_shared<DeviceBuffer<float>>(2 * ceil_div(longest, 2 * THREADS) + 2);
    return {name,
            [=](const float* in, int64_t n, float* result) {
                float* out = sums->data();
                for (; n > 2 * THREADS; n = ceil_div(n, 2 * THREADS)) {
                    const int blocks = static_cast<int>(ceil_div(n, 2 * THREADS));
                    sum_by_pairs<<<blocks, THREADS>>>(in, n, out);
                    in = out;
                    out += blocks;
                }
                sum_by_pairs<<<1, THREADS>>>(in, n, result);
            },
            [](int64_t n) { return U * std::ceil(std::log2(static_cast<double>(n)) + 1); }};
}

/// The problem of this program alone: sums of floats between 0 and 1, by several schemes.
struct AccuracyFamily {
    static constexpr const char* NAME = "reduce";
    using Types = TypeList<float>;
    struct Traits {
        int scheme = -1;  ///< -1: the ceiling
    };
    template <typename>
    struct Task {
        const float* in;
        int64_t n;
        float* result;
        const std::vector<Scheme>& schemes;

        void run(int scheme, int64_t length) const { schemes[scheme].launch(in, length, result); }
    };

    explicit AccuracyFamily(Program& program) {
        program.command_line.size("--n", n, 1, MAX_N, 20000, "the most elements");
        program.sweep_sizes = {"--n 1000000", "--n 100000000"};
        program.test_sizes = {"--n 1", "--n 33", "--n 1000", "--n 1025", "--n 20011"};
        program.large_sizes = {"--n 16777217"};
    }
    std::string nothing_to_do() const { return ""; }
    template <typename L>
    static void add_ceiling(L& ladder) {
        using Read = ReadCeiling<float>;
        ladder.ceiling_of_work(Read::NAME, Read::NOTE, [](auto& work) { work.read.launch(); });
    }
    int64_t n = 100000000;

    template <typename T>
    class Work {
     public:
        static double host_bytes(const AccuracyFamily& family) { return 4.0 * static_cast<double>(family.n); }

        Work(const AccuracyFamily& family, const Program& program)
            : schemes(all_schemes(program.device.multiprocessors, family.n)),
              input(4 * ceil_div(family.n, 4), 1.23f),
              in(static_cast<int64_t>(input.size())),
              result(1),
              within(schemes.size(), true),
              read(input, in, program.device.multiprocessors),
              task{in.data(), family.n, result.data(), schemes} {
            const bool quiet = program.options.quiet;
            in.upload(input.data());
            if (!quiet) std::printf("relative error of the sum of n times 1.23\n");
            print_errors(quiet);
            fill_uniform(input.data(), family.n, program.options.seed);
            for (float& x : input) x = std::fabs(x);
            in.upload(input.data());
            if (!quiet) std::printf("relative error of the sum of n numbers uniform in [0, 1]\n");
            exact = print_errors(quiet);
            read.choose();
        }
        void describe(Problem& problem) const {
            problem.headline = "sum of " + std::to_string(task.n) + " float";
            problem.working_set = 4.0 * static_cast<double>(task.n);
            problem.rates = {{"GB/s", problem.working_set}};
            problem.ceiling = ReadCeiling<float>::NAME;
            problem.remark = [this](const Medians&) { return read.text(); };
        }
        void poison() {
            result.poison();
            read.poison();
        }
        /// The sum, and what the tables above say of this scheme.
        Comparison check(const Traits& variant) {
            if (variant.scheme < 0) return read.check();
            if (!within[variant.scheme])
                throw std::runtime_error("an error in the tables is larger than can be");
            float got;
            result.download(&got);
            return compare(
                1, exact * schemes[variant.scheme].bound(task.n), [&](int64_t) { return got; },
                [&](int64_t) { return exact; });
        }

     private:
        static std::vector<Scheme> all_schemes(int multiprocessors, int64_t n) {
            const int blocks = 4 * multiprocessors;
            return {by_threads("float", FloatSum(), blocks), by_pairs("pairwise", n),
                    by_threads("compensated", CompensatedSum(), blocks),
                    by_threads("double", DoubleSum(), blocks)};
        }
        /// The error of each scheme at n = 100, 1000, ..., of the text's way too, which is done on the CPU. Returns the
        /// exact sum of all.
        double print_errors(bool quiet);

        const std::vector<Scheme> schemes;
        std::vector<float> input;
        DeviceBuffer<float> in, result;
        std::vector<bool> within;
        double exact = 0;

     public:
        ReadCeiling<float> read;
        const Task<T> task;
    };
};

template <typename T>
double AccuracyFamily::Work<T>::print_errors(bool quiet) {
    if (!quiet) std::printf("%-12s %12s %16s", "n", "one_by_one", "(its sum)");
    for (const Scheme& s : schemes)
        if (!quiet) std::printf(" %12s", s.name);
    float one_by_one = 0;
    double sum = 0;
    int64_t summed = 0;
    for (int64_t length = std::min<int64_t>(task.n, 100); summed < task.n;
         length = std::min(task.n, 10 * length)) {
        const auto expected = reference(Sum<float>(), input.data(), length, 1);
        sum = static_cast<double>(expected.value) + expected.rest;
        const auto error = [&](float got) { return std::fabs(static_cast<double>(got) - sum) / sum; };
        for (; summed < length; ++summed) one_by_one += input[summed];
        if (!quiet) std::printf("\n%-12" PRId64 " %12.1e %16.2f", length, error(one_by_one), one_by_one);
        for (size_t s = 0; s < schemes.size(); ++s) {
            float got = NAN;
            task.run(static_cast<int>(s), length);
            CHECK_KERNEL();
            result.download(&got);
            if (!(error(got) <= schemes[s].bound(length))) within[s] = false;
            if (!quiet) std::printf(" %12.1e", error(got));
        }
    }
    if (!quiet) std::printf("\n\n");
    return sum;
}

int main(int argc, char** argv) {
    Ladder<AccuracyFamily> ladder("accuracy", "How wrong sums of floats are, by the way they are made.", argc,
                                  argv);
    const char* const notes[][2] = {{"float", "running sums, 1 launch"},
                                    {"pairwise", "a tree from the start, a launch for each factor of 1024"},
                                    {"compensated", "running sums and what they lost, 1 launch"},
                                    {"double", "running sums in double, 1 launch"}};
    for (int scheme = 0; scheme < 4; ++scheme)
        ladder.variant(notes[scheme][0], notes[scheme][1], [scheme](const auto& t) { t.run(scheme, t.n); })
            .scheme = scheme;
    return ladder.run();
}
