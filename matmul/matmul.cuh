// matmul.cuh: the problem of this family. C = alpha A B + beta C for row-major matrices of any shape, one or a batch.
#pragma once
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "device_memory.cuh"
#include "fma_ceiling.cuh"
#include "grid.cuh"
#include "program.hpp"
#include "reference.hpp"

constexpr int64_t MAX_SIDE = 2000000000;  // leaves room for the last tile to reach past the edge
constexpr int64_t MAX_LD = int64_t{1} << 40, MAX_BATCH = 1 << 24;

/// What a rung has to do, and with what; it goes to kernels by value. A is m x k, B is k x n, C is m x n, row-major:
/// A's element (row, col) is a[row * lda + col]. Sides fit an int; offsets do not, so they are widened before they are
/// multiplied. What lies between the rows is not to be read or written.
template <typename T>
struct Task {
    using Element = T;

    int m, n, k;
    T alpha, beta;
    const T *a, *b;
    T* c;
    int64_t lda, ldb, ldc;
    int batch;                             ///< 1 but in programs with takes_batch()
    int64_t stride_a, stride_b, stride_c;  ///< from a matrix of the batch to the next; 0: all share one
    T* workspace;                          ///< what needs_workspace() asked for
    int multiprocessors;

#ifdef __CUDACC__
    /// C's new element from the sum over k and the old one, which does not count where beta = 0: it may be NaN.
    __device__ T combine(T sum, T old) const {
        return beta == 0 ? alpha * sum : alpha * sum + beta * old;
    }
    /// Writes C's new element. With beta = 0 the old one is not read.
    __device__ void store(int row, int col, T sum) const {
        T& cell = c[row * ldc + col];
        cell = combine(sum, beta == 0 ? T{0} : cell);
    }
#endif
    /// The task of one matrix of the batch.
    __host__ __device__ Task of_item(int item) const {
        Task one = *this;
        one.a += item * stride_a;
        one.b += item * stride_b;
        one.c += item * stride_c;
        one.batch = 1;
        return one;
    }
    /// One block for each tile of C, whole or in part: columns on x, rows on tile_y().
    dim3 tiles(int tile_rows, int tile_cols) const {
        return grid_of_tiles(ceil_div(n, tile_cols), ceil_div(m, tile_rows));
    }
    /// Do all rows of A (B, C) start at a multiple of 16 bytes?
    bool a_is_aligned() const {
        return aligned(a, lda, stride_a);
    }
    bool b_is_aligned() const {
        return aligned(b, ldb, stride_b);
    }
    bool c_is_aligned() const {
        return aligned(c, ldc, stride_c);
    }

 private:
    static bool aligned(const T* matrix, int64_t ld, int64_t stride) {
        constexpr int64_t V = 16 / sizeof(T);
        return reinterpret_cast<uintptr_t>(matrix) % 16 == 0 && ld % V == 0 && stride % V == 0;
    }
};

/// A program of this family: it names its variants and runs.
class Matmul {
 public:
    /// What a variant may be unable to run; an Obstacle says why, or "".
    struct Job {
        const DeviceInfo& device;
        const Shape& shape;
        const std::string& type;
        bool aligned;  ///< all rows of A, B and C start at multiples of 16 bytes
    };
    using Obstacle = std::function<std::string(const Job&)>;
    template <typename T>
    using Launch = std::function<void(const Task<T>&)>;

    /// `side`: m, n and k where the command line says nothing.
    Matmul(const char* name, const char* about, int argc, char** argv, int64_t side = 4096);

    /// A rung: launch(task) for float and double. It must give the same bits each time.
    template <typename L>
    void variant(const char* name, const char* note, L launch, Obstacle obstacle = {}) {
        rungs.push_back({{name, note, Role::rung}, true, {launch, launch}, obstacle});
    }
    /// A rung for float alone. A program that has no others takes no --type double.
    void float_variant(const char* name, const char* note, Launch<float> launch, Obstacle obstacle = {}) {
        rungs.push_back({{name, note, Role::rung}, true, {launch, {}}, obstacle});
    }
    /// A rung whose additions come in no fixed order.
    template <typename L>
    void unordered(const char* name, const char* note, L launch, Obstacle obstacle = {}) {
        rungs.push_back({{name, note, Role::rung}, false, {launch, launch}, obstacle});
    }
    /// A rung that works on copies of its own: take(task) copies C there (and, once, A and B) before each launch, and
    /// bring(task) brings C back after it, for the check. Neither is timed.
    template <typename Take, typename L, typename Bring>
    void with_copies(const char* name, const char* note, Take take, L launch, Bring bring) {
        rungs.push_back({{name, note, Role::rung}, true, {launch, launch}, {}, {take, take}, {bring, bring}});
    }
    /// The vendor's library.
    template <typename L>
    void baseline(const char* name, const char* note, L launch, Obstacle obstacle) {
        rungs.push_back({{name, note, Role::baseline}, false, {launch, launch}, obstacle});
    }

    /// Adds --batch-count and --broadcast.
    void takes_batch(int64_t default_count);
    /// The task has this many elements of workspace. It holds anything.
    void needs_workspace(std::function<int64_t(const Shape&, const DeviceInfo&)> elements) {
        workspace_elements = std::move(elements);
    }
    /// The program's own sizes: what it measures instead of the family's; what it is tested at besides.
    void sweep_sizes(std::vector<std::string> lines) { program.sweep_sizes = std::move(lines); }
    void test_sizes(const std::vector<std::string>& lines) {
        program.test_sizes.insert(program.test_sizes.end(), lines.begin(), lines.end());
    }
    void large_sizes(const std::vector<std::string>& lines) {
        program.large_sizes.insert(program.large_sizes.end(), lines.begin(), lines.end());
    }

    int run();

 private:
    struct Work {
        Launch<float> f32;
        Launch<double> f64;
        template <typename T>
        const Launch<T>& of() const {
            if constexpr (std::is_same_v<T, float>)
                return f32;
            else
                return f64;
        }
    };
    struct Rung : Label {
        bool ordered;
        Work launch;
        Obstacle obstacle;
        Work take = {}, bring = {};
    };
    Shape shape() const;
    template <typename T>
    int measure();

    static constexpr int64_t LONGEST_PRINTED = 12;

    Program program;
    std::vector<Rung> rungs;
    int64_t m, n, k, batch_count = 1, lda = 0, ldb = 0, ldc = 0, offset = 0;
    double alpha = 1, beta = 0;
    std::string broadcast = "none", data = DATA.front();
    std::function<int64_t(const Shape&, const DeviceInfo&)> workspace_elements;
};

inline Matmul::Matmul(const char* name, const char* about, int argc, char** argv, int64_t side)
    : program("matmul", name, about, argc, argv), m(side), n(side), k(side) {
    program.command_line.size("--m", m, 0, MAX_SIDE, 128, "rows of A and C");
    program.command_line.size("--n", n, 0, MAX_SIDE, 128, "columns of B and C");
    program.command_line.size("--k", k, 0, MAX_SIDE, 64, "columns of A, rows of B");
    program.command_line.size_of_all("--mnk", {"--m", "--n", "--k"}, "all three");
    program.command_line.real("--alpha", alpha, -1e6, 1e6, "factor of A B");
    program.command_line.real("--beta", beta, -1e6, 1e6, "factor of the old C; 0: it is not read");
    const auto leading_dimension = [&](const char* option, int64_t& value, const char* help) {
        program.command_line.number(option, value, 0, MAX_LD, help);
    };
    leading_dimension("--lda", lda, "elements from a row of A to the next; 0: its width");
    leading_dimension("--ldb", ldb, "the same of B");
    leading_dimension("--ldc", ldc, "the same of C");
    program.command_line.number("--offset", offset, 0, 1023,
                                "elements that A, B and C start past an aligned address");
    program.command_line.choice("--data", data, DATA, "kind of input; sums of integers are exact");

    program.sweep_sizes = {"--mnk 1024", "--mnk 2048", "--mnk 4096", "--m 4000 --n 3000 --k 2000"};
    // One cell, sides on and off every tile, each side the longest once, no cell, no product; rows apart, off and on the
    // 16 bytes; factors. The last two have several blocks of every tile, all of them ragged.
    program.test_sizes = {"--mnk 1",
                          "--m 3 --n 3 --k 431",
                          "--m 33 --n 65 --k 129",
                          "--mnk 100 --data integers",
                          "--m 1 --n 131 --k 7",
                          "--m 131 --n 1 --k 7",
                          "--mnk 0",
                          "--m 5 --n 6 --k 0 --beta 2",
                          "--m 5 --n 6 --k 0",
                          "--m 35 --n 79 --k 19 --alpha -0.5 --beta 2",
                          "--m 64 --n 64 --k 24 --lda 28 --ldb 68 --ldc 72 --beta 1",
                          "--m 17 --n 34 --k 33 --lda 37 --ldb 35 --ldc 41",
                          "--m 32 --n 36 --k 40 --offset 1",
                          "--m 65 --n 33 --k 34 --type double --beta -1 --lda 35",
                          "--m 68 --n 132 --k 20 --type double",
                          "--m 129 --n 133 --k 37 --lda 41 --ldb 137 --ldc 139 --beta 1",
                          "--m 132 --n 260 --k 20"};
    program.large_sizes = {"--mnk 1000",
                           "--m 1025 --n 1023 --k 1021 --beta 1",
                           "--m 30000 --n 64 --k 64",
                           "--m 2097121 --n 33 --k 5",
                           "--m 33 --n 2097121 --k 5",
                           "--m 3 --n 5 --k 4000037",
                           "--m 46349 --n 46351 --k 3",
                           "--m 40 --n 40 --k 70 --lda 54000001",
                           "--m 4099 --n 4097 --k 4101"};
}

inline void Matmul::takes_batch(int64_t default_count) {
    batch_count = default_count;
    program.command_line.size("--batch-count", batch_count, 0, MAX_BATCH, 3, "products in the batch");
    program.command_line.choice("--broadcast", broadcast, {"none", "a", "b"},
                                "the matrix that the whole batch shares");
    for (const char* shared : {"none", "a", "b"})
        for (const char* shape :
             {"--batch-count 0", "--batch-count 5 --m 1 --n 1 --k 1",
              "--batch-count 3 --m 33 --n 17 --k 20 --beta 1",
              "--batch-count 2 --m 3 --n 65 --k 130 --lda 131 --ldb 67 --ldc 69 --type double",
              "--batch-count 3 --m 36 --n 40 --k 0 --beta -2",
              "--batch-count 3 --m 36 --n 140 --k 44 --data integers --offset 3"})
            program.test_sizes.push_back(std::string(shape) + " --broadcast " + shared);
    for (const char* shared : {"none", "a", "b"})
        for (const char* shape :
             {"--batch-count 65537 --m 3 --n 5 --k 7", "--batch-count 65536 --m 32 --n 32 --k 32",
              "--batch-count 131073 --m 1 --n 130 --k 2 --beta 1",
              "--batch-count 40 --m 1000 --n 1001 --k 999", "--batch-count 2 --m 65 --n 2097121 --k 5",
              "--batch-count 2 --m 2097121 --n 65 --k 5"})
            program.large_sizes.push_back(std::string(shape) + " --broadcast " + shared);
}

inline Shape Matmul::shape() const {
    const auto layout = [](const char* option, int64_t rows, int64_t cols, int64_t ld, int64_t items) {
        if (ld != 0 && ld < cols)
            throw UsageError(std::string(option) + ": " + std::to_string(ld) + " is less than the width, " +
                             std::to_string(cols));
        if (ld == 0) ld = std::max<int64_t>(cols, 1);
        checked_bytes(items, checked_bytes(rows, checked_bytes(ld, sizeof(double))));
        return Layout{rows, cols, ld, items};
    };
    Shape s{m, n, k, batch_count, {}, {}, {}, alpha, beta};
    s.a = layout("--lda", m, k, lda, broadcast == "a" ? 1 : batch_count);
    s.b = layout("--ldb", k, n, ldb, broadcast == "b" ? 1 : batch_count);
    s.c = layout("--ldc", m, n, ldc, batch_count);
    return s;
}

inline int Matmul::run() {
    bool any_double = false;
    for (const Rung& r : rungs) any_double |= r.role == Role::rung && r.launch.f64;
    program.command_line.types(any_double ? std::vector<std::string>{"float", "double"}
                                          : std::vector<std::string>{"float"});
    if (!any_double)
        for (auto* lines : {&program.test_sizes, &program.sweep_sizes, &program.large_sizes})
            lines->erase(std::remove_if(lines->begin(), lines->end(),
                                        [](const std::string& line) {
                                            return line.find("--type double") != std::string::npos;
                                        }),
                         lines->end());
    std::vector<Label> labels = {FmaCeiling<float>::label()};
    labels.insert(labels.end(), rungs.begin(), rungs.end());
    return program.run(labels, [this] {
        if (program.options.print && std::max({m, n, k}) > LONGEST_PRINTED)
            throw UsageError("--print: shows sides of at most 12");
        shape();
        if (m == 0 || n == 0 || batch_count == 0) return program.nothing_to_do("C has no cells");
        program.open_device();
        return program.options.type == "double" ? measure<double>() : measure<float>();
    });
}

template <typename T>
int Matmul::measure() {
    Shape s = shape();
    s.alpha = static_cast<T>(alpha);  // as the kernels have them
    s.beta = static_cast<T>(beta);
    // What the device cannot hold is refused before the host works at it.
    DeviceBuffer<T> a(offset + s.a.count()), b(offset + s.b.count()), c(offset + s.c.count());
    DeviceBuffer<T> fresh(s.beta == 0 ? 0 : s.c.count());
    DeviceBuffer<T> workspace(workspace_elements ? workspace_elements(s, program.device) : 0);

    const uint64_t seed = program.options.seed;
    const auto input = [&](const Layout& layout, uint64_t which) {
        std::vector<T> values(layout.count());
        fill_rows(values.data(), layout, data, 3 * seed + which);
        return values;
    };
    const std::vector<T> host_a = input(s.a, 0), host_b = input(s.b, 1);
    const std::vector<T> old_c = s.beta == 0 ? std::vector<T>() : input(s.c, 2);
    std::vector<T> after(offset + s.c.count());
    const auto upload = [](T* to, const std::vector<T>& from) {
        if (!from.empty())
            CHECK_CUDA_CALL(cudaMemcpy(to, from.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice));
    };
    a.poison();
    b.poison();
    upload(a.data() + offset, host_a);
    upload(b.data() + offset, host_b);
    upload(fresh.data(), old_c);

    const Task<T> task{static_cast<int>(m),
                       static_cast<int>(n),
                       static_cast<int>(k),
                       static_cast<T>(alpha),
                       static_cast<T>(beta),
                       a.data() + offset,
                       b.data() + offset,
                       c.data() + offset,
                       s.a.ld,
                       s.b.ld,
                       s.c.ld,
                       static_cast<int>(batch_count),
                       s.a.stride(),
                       s.b.stride(),
                       s.c.stride(),
                       workspace.data(),
                       program.device.multiprocessors};
    const bool exact = data == "integers" && sums_are_exact<T>(s);
    std::optional<Reference<T>> reference;  // made when it is first needed: profilers need none

    std::string headline = std::to_string(m) + " x " + std::to_string(n) + " x " + std::to_string(k);
    if (batch_count != 1) headline = std::to_string(batch_count) + " times " + headline;
    if (broadcast != "none") headline += ", one " + std::string(broadcast == "a" ? "A" : "B");
    FmaCeiling<T> fma(s.multiplications(), program.device.multiprocessors);
    Problem problem = program.problem();
    problem.headline = headline + " " + program.options.type;
    problem.working_set =
        static_cast<double>(sizeof(T)) *
        (1.0 * s.a.items * m * k + 1.0 * s.b.items * k * n + (s.beta == 0 ? 1.0 : 2.0) * s.cells());
    problem.rates = {{"TFLOP/s", 2 * s.multiplications()}, {"GB/s", problem.working_set}};
    problem.ceiling = "fma";
    problem.poison = [&] {
        c.poison();
        fma.poison();
    };
    problem.show = [&](const std::string& name) {
        if (name == problem.ceiling) return;
        const auto print = [](const std::string& title, const T* values, const Layout& layout) {
            for (int64_t i = 0; i < layout.items; ++i) {
                std::printf("%s\n", title.c_str());
                for (int64_t r = 0; r < layout.rows; ++r)
                    for (int64_t col = 0; col < layout.cols; ++col)
                        std::printf("%9.4g%s", static_cast<double>(values[layout.row(i, r) + col]),
                                    col + 1 < layout.cols ? " " : "\n");
            }
        };
        print("A", host_a.data(), s.a);
        print("B", host_b.data(), s.b);
        c.download(after.data());
        print("C by " + name, after.data() + offset, s.c);
    };

    std::vector<Variant> variants = {fma.variant()};
    for (const Rung& r : rungs) {
        Variant v{r};
        v.launch = [&task, launch = r.launch.of<T>()] { launch(task); };
        v.check = [&, bring = r.bring.of<T>()] {
            if (!reference) reference.emplace(s, host_a.data(), host_b.data(), old_c.data(), exact, seed);
            if (bring) bring(task);
            c.download(after.data());
            return reference->check(after.data() + offset);
        };
        if (r.ordered) v.fingerprint = [&] { return fingerprint(after); };
        if (s.beta != 0 || r.take.of<T>())
            v.restore = [&, take = r.take.of<T>()] {
                if (s.beta != 0)
                    CHECK_CUDA_CALL(cudaMemcpyAsync(c.data() + offset, fresh.data(), fresh.bytes(),
                                                    cudaMemcpyDeviceToDevice));
                if (take) take(task);
            };
        const Job job{program.device, s, program.options.type,
                      task.a_is_aligned() && task.b_is_aligned() && task.c_is_aligned()};
        if (r.obstacle) v.cannot_run = r.obstacle(job);
        if (v.cannot_run.empty() && !r.launch.of<T>()) v.cannot_run = "is for float alone";
        variants.push_back(v);
    }
    return program.measure(problem, variants);
}
