// matmul.cuh: the problem of this family. C = alpha A B + beta C for row-major matrices of any shape, one or a batch.
#pragma once
#include <algorithm>
#include <cstdio>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "device_memory.cuh"
#include "fma_ceiling.cuh"
#include "grid.cuh"
#include "ladder.hpp"
#include "reference.hpp"

constexpr int64_t MAX_SIDE = 2000000000;  // leaves room for the last tile to reach past the edge
constexpr int64_t MAX_LD = int64_t{1} << 40, MAX_BATCH = 1 << 24;

/// What a variant has to do, and with what; it goes to kernels by value. A is m x k, B is k x n, C is m x n, row-major:
/// A's element (row, col) is a[row * lda + col]. Sides fit an int; offsets do not, so they are widened before they are
/// multiplied. What lies between the rows is not to be read or written.
template <typename T>
struct Task {
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
    using OnTask = std::function<void(const Task<T>&)>;
    struct Traits {
        bool is_fma = false;  ///< the ceiling, which computes no C
        /// Of a variant that works on copies of its own: take(task) copies C there (and, once, A and B) before each
        /// launch, and bring(task) brings C back after it, for the check. Neither is timed.
        PerType<OnTask, Types> take = {}, bring = {};
    };

    /// `side`: m, n and k where the command line says nothing.
    explicit MatmulFamily(Program& the_program, int64_t side = 4096)
        : program(the_program), m(side), n(side), k(side) {
        CommandLine& line = program.command_line;
        line.size("--m", m, 0, MAX_SIDE, 128, "rows of A and C");
        line.size("--n", n, 0, MAX_SIDE, 128, "columns of B and C");
        line.size("--k", k, 0, MAX_SIDE, 64, "columns of A, rows of B");
        line.size_of_all("--mnk", {"--m", "--n", "--k"}, "all three");
        line.real("--alpha", alpha, -1e6, 1e6, "factor of A B");
        line.real("--beta", beta, -1e6, 1e6, "factor of the old C; 0: it is not read");
        line.number("--lda", lda, 0, MAX_LD, "elements from a row of A to the next; 0: its width");
        line.number("--ldb", ldb, 0, MAX_LD, "the same of B");
        line.number("--ldc", ldc, 0, MAX_LD, "the same of C");
        line.number("--offset", offset, 0, 1023, "elements that A, B and C start past an aligned address");
        line.choice("--data", data, DATA, "kind of input; sums of integers are exact");
        declare_sizes();
    }

    /// Adds --batch-count and --broadcast.
    void takes_batch(int64_t default_count) {
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
    /// The task has this many elements of workspace. It holds anything.
    void needs_workspace(std::function<int64_t(const Shape&, const DeviceInfo&)> elements) {
        workspace_elements = std::move(elements);
    }

    std::string nothing_to_do() const {
        if (program.options.print && std::max({m, n, k}) > LONGEST_PRINTED)
            throw UsageError("--print: shows sides of at most 12");
        shape();
        return m == 0 || n == 0 || batch_count == 0 ? "C has no cells" : "";
    }
    template <typename L>
    static void add_ceiling(L& ladder) {
        ladder
            .ceiling_of_work("fma", "multiply-adds in registers: the ceiling",
                             [](auto& work) { work.fma.launch(); })
            .is_fma = true;
    }

    template <typename T>
    struct Work {
        static double host_bytes(const MatmulFamily& family) {
            const Shape s = family.shape();
            const int64_t c = s.c.count(), old_c = s.beta == 0 ? 0 : c;
            return static_cast<double>(sizeof(T)) *
                       static_cast<double>(s.a.count() + s.b.count() + old_c + family.offset + c) +
                   Reference<T>::host_bytes(s);
        }

        // What the device cannot hold is refused before the host works at it.
        Work(const MatmulFamily& family, const Program& program)
            : shape(in_type(family.shape())),
              offset(family.offset),
              headline(family.size_text() + " " + program.options.type),
              seed(program.options.seed),
              exact(family.data == "integers" && sums_are_exact<T>(shape)),
              a(offset + shape.a.count()),
              b(offset + shape.b.count()),
              c(offset + shape.c.count()),
              fresh_c(shape.beta == 0 ? 0 : shape.c.count()),
              workspace(family.workspace_elements ? family.workspace_elements(shape, program.device) : 0),
              task{static_cast<int>(shape.m),
                   static_cast<int>(shape.n),
                   static_cast<int>(shape.k),
                   static_cast<T>(shape.alpha),
                   static_cast<T>(shape.beta),
                   a.data() + offset,
                   b.data() + offset,
                   c.data() + offset,
                   shape.a.ld,
                   shape.b.ld,
                   shape.c.ld,
                   static_cast<int>(shape.batch),
                   shape.a.stride(),
                   shape.b.stride(),
                   shape.c.stride(),
                   workspace.data(),
                   program.device.multiprocessors},
              fma(shape.multiplications(), program.device.multiprocessors),
              input_a(shape.a.count()),
              input_b(shape.b.count()),
              old_c(fresh_c.count()),
              output(c.count()) {
            fill_rows(input_a.data(), shape.a, family.data, 3 * seed);
            fill_rows(input_b.data(), shape.b, family.data, 3 * seed + 1);
            if (shape.beta != 0) fill_rows(old_c.data(), shape.c, family.data, 3 * seed + 2);
            a.poison();
            b.poison();
            upload(a.data() + offset, input_a);
            upload(b.data() + offset, input_b);
            upload(fresh_c.data(), old_c);
        }
        void describe(Problem& problem) const {
            problem.headline = headline;
            const double elements = 1.0 * shape.a.items * shape.m * shape.k +
                                    1.0 * shape.b.items * shape.k * shape.n +
                                    (shape.beta == 0 ? 1.0 : 2.0) * shape.cells();
            problem.working_set = sizeof(T) * elements;
            problem.rates = {{"TFLOP/s", 2 * shape.multiplications()}, {"GB/s", problem.working_set}};
            problem.ceiling = "fma";
        }
        /// A rung gives the same bits each time; the baseline need not.
        void describe(Variant& v, const Traits& variant) {
            if (variant.is_fma) return;
            if (v.role == Role::rung) v.fingerprint = [this] { return fingerprint(output); };
            const OnTask<T>& take = variant.take.template of<T>();
            if (shape.beta == 0 && !take) return;
            v.restore = [this, &take] {
                if (shape.beta != 0)
                    CHECK_CUDA_CALL(cudaMemcpyAsync(c.data() + offset, fresh_c.data(), fresh_c.bytes(),
                                                    cudaMemcpyDeviceToDevice));
                if (take) take(task);
            };
        }
        void poison() {
            c.poison();
            workspace.poison();
            fma.poison();
        }
        Comparison check(const Traits& variant) {
            if (variant.is_fma) return fma.check();
            // Made when it is first needed: profilers need none.
            if (!reference)
                reference.emplace(shape, input_a.data(), input_b.data(), old_c.data(), exact, seed);
            if (const OnTask<T>& bring = variant.bring.template of<T>()) bring(task);
            c.download(output.data());
            return reference->check(output.data() + offset);
        }
        void show(const std::string& variant) {
            if (variant == "fma") return;
            const auto print = [](const std::string& title, const T* values, const Layout& layout) {
                for (int64_t i = 0; i < layout.items; ++i) {
                    std::printf("%s\n", title.c_str());
                    for (int64_t r = 0; r < layout.rows; ++r)
                        for (int64_t col = 0; col < layout.cols; ++col)
                            std::printf("%9.4g%s", static_cast<double>(values[layout.row(i, r) + col]),
                                        col + 1 < layout.cols ? " " : "\n");
                }
            };
            print("A", input_a.data(), shape.a);
            print("B", input_b.data(), shape.b);
            c.download(output.data());
            print("C by " + variant, output.data() + offset, shape.c);
        }

        const Shape shape;

     private:
        /// The factors as the kernels have them.
        static Shape in_type(Shape s) {
            s.alpha = static_cast<T>(s.alpha);
            s.beta = static_cast<T>(s.beta);
            return s;
        }
        static void upload(T* to, const std::vector<T>& from) {
            if (!from.empty())
                CHECK_CUDA_CALL(cudaMemcpy(to, from.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice));
        }
        const int64_t offset;
        const std::string headline;
        const uint64_t seed;
        const bool exact;
        DeviceBuffer<T> a, b, c, fresh_c, workspace;

     public:
        const Task<T> task;
        FmaCeiling<T> fma;

     private:
        std::vector<T> input_a, input_b, old_c, output;
        std::optional<Reference<T>> reference;
    };

 private:
    void declare_sizes() {
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
    Shape shape() const {
        const auto layout = [](const char* option, int64_t rows, int64_t cols, int64_t ld, int64_t items) {
            if (ld != 0 && ld < cols)
                throw UsageError(std::string(option) + ": " + std::to_string(ld) +
                                 " is less than the width, " + std::to_string(cols));
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
    std::string size_text() const {
        std::string text = std::to_string(m) + " x " + std::to_string(n) + " x " + std::to_string(k);
        if (batch_count != 1) text = std::to_string(batch_count) + " times " + text;
        if (broadcast != "none") text += broadcast == "a" ? ", one A" : ", one B";
        return text;
    }

    static constexpr int64_t LONGEST_PRINTED = 12;

    Program& program;
    int64_t m, n, k, batch_count = 1, lda = 0, ldb = 0, ldc = 0, offset = 0;
    double alpha = 1, beta = 0;
    std::string broadcast = "none", data = DATA.front();
    std::function<int64_t(const Shape&, const DeviceInfo&)> workspace_elements;
};

using Matmul = Ladder<MatmulFamily>;
