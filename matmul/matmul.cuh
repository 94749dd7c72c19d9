// matmul.cuh: the problem of this family. C = alpha A B + beta C for row-major matrices of any shape, one or a batch.
#pragma once
#include <cstdio>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fma_ceiling.cuh"
#include "grid.cuh"
#include "ladder.hpp"
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

struct MatmulFamily {
    static constexpr const char* NAME = "matmul";
    using Types = TypeList<float, double>;
    template <typename T>
    using Task = ::Task<T>;
    template <typename T>
    using Copy = std::function<void(const Task<T>&)>;
    struct Traits {
        bool multiplies = true;  ///< or is the ceiling
        bool ordered = true;     ///< gives the same bits each time
        /// For a variant that works on copies of its own: `take` copies C there (and, once, A and B) before each launch,
        /// `bring` copies C back after it, for the check. Neither is timed.
        PerType<Copy, Types> take = {}, bring = {};
    };

    /// `side`: m, n and k where the command line says nothing.
    explicit MatmulFamily(Program& program, int64_t side = 4096);

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

    std::string nothing_to_do() const;
    template <typename L>
    static void add_ceiling(L& ladder) {
        using Fma = FmaCeiling<float>;
        ladder.ceiling_of_work(Fma::NAME, Fma::NOTE, [](auto& work) { work.fma.launch(); }).multiplies =
            false;
    }
    /// With the factors as the kernels have them, in T.
    template <typename T>
    Shape shape() const;

    Program& program;
    int64_t m, n, k, batch_count = 1, lda = 0, ldb = 0, ldc = 0, offset = 0;
    double alpha = 1, beta = 0;
    std::string broadcast = "none", data = DATA.front();
    std::function<int64_t(const Shape&, const DeviceInfo&)> workspace_elements;

    template <typename T>
    class Work;

 private:
    static constexpr int64_t LONGEST_PRINTED = 12;
};

/// A program of this family: it names its variants and runs.
using Matmul = Ladder<MatmulFamily>;

inline MatmulFamily::MatmulFamily(Program& the_program, int64_t side)
    : program(the_program), m(side), n(side), k(side) {
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

inline void MatmulFamily::takes_batch(int64_t default_count) {
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

template <typename T>
Shape MatmulFamily::shape() const {
    const auto layout = [](const char* option, int64_t rows, int64_t cols, int64_t ld, int64_t items) {
        if (ld != 0 && ld < cols)
            throw UsageError(std::string(option) + ": " + std::to_string(ld) + " is less than the width, " +
                             std::to_string(cols));
        if (ld == 0) ld = std::max<int64_t>(cols, 1);
        checked_bytes(items, checked_bytes(rows, checked_bytes(ld, sizeof(double))));
        return Layout{rows, cols, ld, items};
    };
    Shape s{m, n, k, batch_count, {}, {}, {}, static_cast<T>(alpha), static_cast<T>(beta)};
    s.a = layout("--lda", m, k, lda, broadcast == "a" ? 1 : batch_count);
    s.b = layout("--ldb", k, n, ldb, broadcast == "b" ? 1 : batch_count);
    s.c = layout("--ldc", m, n, ldc, batch_count);
    return s;
}

inline std::string MatmulFamily::nothing_to_do() const {
    if (program.options.print && std::max({m, n, k}) > LONGEST_PRINTED)
        throw UsageError("--print: shows sides of at most 12");
    shape<double>();
    return m && n && batch_count ? "" : "C has no cells";
}

template <typename T>
class MatmulFamily::Work {
 public:
    static double host_bytes(const MatmulFamily& family) {
        const Shape s = family.shape<T>();
        return 1.0 * sizeof(T) *
               (1.0 * s.a.count() + 1.0 * s.b.count() + (s.beta == 0 ? 1.0 : 2.0) * s.c.count());
    }

    // What the device cannot hold is refused before the host works at it.
    Work(const MatmulFamily& the_family, const Program& program)
        : family(the_family),
          s(family.shape<T>()),
          a(family.offset + s.a.count()),
          b(family.offset + s.b.count()),
          c(family.offset + s.c.count()),
          fresh(s.beta == 0 ? 0 : s.c.count()),
          workspace(family.workspace_elements ? family.workspace_elements(s, program.device) : 0),
          host_a(input(s.a, 0)),
          host_b(input(s.b, 1)),
          old_c(s.beta == 0 ? std::vector<T>() : input(s.c, 2)),
          after(c.count()),
          fma(s.multiplications(), program.device.multiprocessors),
          task{static_cast<int>(s.m),
               static_cast<int>(s.n),
               static_cast<int>(s.k),
               static_cast<T>(s.alpha),
               static_cast<T>(s.beta),
               a.data() + family.offset,
               b.data() + family.offset,
               c.data() + family.offset,
               s.a.ld,
               s.b.ld,
               s.c.ld,
               static_cast<int>(s.batch),
               s.a.stride(),
               s.b.stride(),
               s.c.stride(),
               workspace.data(),
               program.device.multiprocessors} {
        a.poison();
        b.poison();
        upload(a.data() + family.offset, host_a);
        upload(b.data() + family.offset, host_b);
        upload(fresh.data(), old_c);
    }
    void describe(Problem& problem) const {
        problem.headline = std::to_string(s.m) + " x " + std::to_string(s.n) + " x " + std::to_string(s.k);
        if (s.batch != 1) problem.headline = std::to_string(s.batch) + " times " + problem.headline;
        if (family.broadcast != "none")
            problem.headline += ", one " + std::string(family.broadcast == "a" ? "A" : "B");
        problem.headline += " " + problem.type;
        problem.working_set =
            static_cast<double>(sizeof(T)) * (1.0 * s.a.items * s.m * s.k + 1.0 * s.b.items * s.k * s.n +
                                              (s.beta == 0 ? 1.0 : 2.0) * s.cells());
        problem.rates = {{"TFLOP/s", 2 * s.multiplications()}, {"GB/s", problem.working_set}};
        problem.ceiling = FmaCeiling<T>::NAME;
    }
    void describe(Variant& variant, const Traits& traits) {
        if (!traits.multiplies) {
            // Its operations are those of the product, its bytes are not.
            variant.rates = {{"TFLOP/s", 2 * s.multiplications()}};
            return;
        }
        if (traits.ordered) variant.fingerprint = [this] { return fingerprint(after); };
        const auto& take = traits.take.template of<T>();
        if (s.beta != 0 || take)
            variant.restore = [this, take] {
                if (s.beta != 0)
                    CHECK_CUDA_CALL(
                        cudaMemcpyAsync(task.c, fresh.data(), fresh.bytes(), cudaMemcpyDeviceToDevice));
                if (take) take(task);
            };
    }
    void poison() {
        c.poison();
        fma.poison();
    }
    Comparison check(const Traits& traits) {
        if (!traits.multiplies) return fma.check();
        const bool exact = family.data == "integers" && sums_are_exact<T>(s);
        // Made when it is first needed: profilers need none.
        if (!reference)
            reference.emplace(s, host_a.data(), host_b.data(), old_c.data(), exact,
                              family.program.options.seed);
        if (const auto& bring = traits.bring.template of<T>()) bring(task);
        c.download(after.data());
        return reference->check(after.data() + family.offset);
    }
    void show(const std::string& variant) {
        if (variant == FmaCeiling<T>::NAME) return;
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
        print("C by " + variant, after.data() + family.offset, s.c);
    }

 private:
    std::vector<T> input(const Layout& layout, uint64_t which) const {
        std::vector<T> values(layout.count());
        fill_rows(values.data(), layout, family.data, 3 * family.program.options.seed + which);
        return values;
    }
    static void upload(T* to, const std::vector<T>& from) {
        if (!from.empty())
            CHECK_CUDA_CALL(cudaMemcpy(to, from.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice));
    }

    const MatmulFamily& family;
    const Shape s;
    DeviceBuffer<T> a, b, c, fresh, workspace;
    const std::vector<T> host_a, host_b, old_c;
    std::vector<T> after;
    std::optional<Reference<T>> reference;

 public:
    FmaCeiling<T> fma;
    const Task<T> task;
};
