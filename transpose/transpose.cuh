// transpose.cuh: the problem of this family. B = transpose of A, for rows x cols floats or doubles of any
// shape.
#pragma once
#include <cstdio>
#include <string>
#include <vector>

#include "copy.cuh"
#include "fill.hpp"
#include "ladder.hpp"

/// Side of a tile in elements, as in the tutorial texts: a warp reads one row of it.
constexpr int TILE_DIM = 32;

/// The shape of A, in elements: A[row][col] is in[row * cols + col], and B[col][row] is out[col * rows +
/// row].
/// Each side fits an int, so that a kernel counts rows and columns in 32 bits; their product does not, so
/// offsets are widened before they are multiplied.
struct Extent {
    int rows, cols;
    int64_t count() const { return int64_t{rows} * cols; }
};
constexpr int64_t MAX_SIDE = 2000000000;  // leaves room for the last tile to reach past the edge

/// One block for each tile of A, whole or in part.
inline dim3 tiles(Extent e, int tile_rows = TILE_DIM, int tile_cols = TILE_DIM) {
    return grid_of_tiles(ceil_div(e.cols, tile_cols), ceil_div(e.rows, tile_rows));
}

struct TransposeFamily {
    static constexpr const char* NAME = "transpose";
    using Types = TypeList<float, double>;
    struct Traits {
        bool copies = false;  ///< A itself, not its transpose
    };
    template <typename T>
    struct Task {
        const T* in;
        T* out;
        Extent extent;
    };

    explicit TransposeFamily(Program& the_program) : program(the_program) {
        // In a simulated run 8 x 6 tiles of 32 x 32.
        program.command_line.size("--rows", rows, 0, MAX_SIDE, 256, "rows of A");
        program.command_line.size("--cols", cols, 0, MAX_SIDE, 192, "columns of A");
        program.command_line.size_of_all("--n", {"--rows", "--cols"},
                                         "rows and columns; the tutorial's case is --n 128");
        program.sweep_sizes = {"--n 128",
                               "--n 1024",
                               "--n 4096",
                               "--n 8192",
                               "--n 16384",
                               "--rows 12345 --cols 23456",
                               "--n 8192 --type double"};
        // No cell, one, a row, a column, less and more than a tile, odd and even; the last are ragged for
        // every tile, with and without rows that are multiples of 16 bytes.
        for (const char* type : {"float", "double"})
            for (const char* shape : {"--n 0", "--n 1", "--rows 1 --cols 97", "--rows 97 --cols 1",
                                      "--rows 31 --cols 33", "--n 32", "--rows 33 --cols 63",
                                      "--rows 65 --cols 129", "--rows 100 --cols 77", "--rows 100 --cols 76"})
                program.test_sizes.push_back(std::string(shape) + " --type " + type);
        // A side of more than 65535 tiles; more than 2^31 elements, and bytes past 4 GiB.
        program.large_sizes = {"--rows 1000 --cols 777",
                               "--rows 2097121 --cols 1",
                               "--rows 1 --cols 2097121",
                               "--rows 2097121 --cols 33",
                               "--rows 33 --cols 2097121",
                               "--rows 46349 --cols 46351",
                               "--rows 46352 --cols 46356",
                               "--rows 2 --cols 1073741827",
                               "--rows 32801 --cols 32803 --type double"};
    }
    std::string nothing_to_do() const {
        if (program.options.print && (rows > 16 || cols > 16))
            throw UsageError("--print: shows at most 16 rows and 16 columns");
        checked_bytes(rows, checked_bytes(cols, sizeof(double)));
        return rows && cols ? "" : "the matrix has no cells";
    }
    /// A transpose can at best move its bytes as fast as a copy does.
    template <typename L>
    static void add_ceiling(L& ladder) {
        ladder.ceiling("copy", "16 bytes a thread: the ceiling", copy_with<uint4>).copies = true;
    }
    /// A copy of A, one Word a thread.
    template <typename Word>
    static constexpr auto copy_with = [](const auto& t) {
        launch_copy<Word>(t.in, t.out, t.extent.count() * static_cast<int64_t>(sizeof(*t.in)));
    };

    Program& program;
    int64_t rows = 8192, cols = 8192;

    template <typename T>
    struct Work {
        static double host_bytes(const TransposeFamily& family) {
            return 3.0 * sizeof(T) * static_cast<double>(family.rows) * static_cast<double>(family.cols);
        }

        Work(const TransposeFamily& family, const Program& program)
            : rows(family.rows),
              cols(family.cols),
              in(rows * cols),
              out(in.count()),
              task{in.data(), out.data(), {static_cast<int>(rows), static_cast<int>(cols)}},
              type(program.options.type),
              input(in.count()),
              output(in.count()),
              transposed(in.count()) {
            fill_distinct(input.data(), in.count(), program.options.seed);
            in.upload(input.data());
            // The specification of this family. No arithmetic happens, so every cell must be equal, bit for bit.
            parallel_ranges(in.count(), [&](int64_t begin, int64_t end) {
                for (int64_t i = begin; i < end; ++i) transposed[i] = input[i % rows * cols + i / rows];
            });
        }
        void describe(Problem& problem) const {
            problem.headline = std::to_string(rows) + " x " + std::to_string(cols) + " " + type;
            const double bytes = 2.0 * static_cast<double>(in.bytes());
            problem.rates = {{"GB/s", bytes}};
            problem.working_set = bytes;
            problem.ceiling = "copy";
        }
        void poison() { out.poison(); }
        Comparison check(const Traits& variant) {
            out.download(output.data());
            const std::vector<T>& expected = variant.copies ? input : transposed;
            return compare(
                in.count(), 0, [&](int64_t i) { return output[i]; }, [&](int64_t i) { return expected[i]; });
        }
        void show(const std::string& variant) {
            const auto print = [](const std::string& title, const std::vector<T>& values, int64_t width) {
                std::printf("%s\n", title.c_str());
                for (size_t i = 0; i < values.size(); ++i)
                    std::printf("%5g%s", static_cast<double>(values[i]), (i + 1) % width ? " " : "\n");
            };
            print("A", input, cols);
            out.download(output.data());
            print("B by " + variant, output, rows);
        }

        const int64_t rows, cols;
        DeviceBuffer<T> in, out;
        const Task<T> task;

     private:
        const std::string type;
        std::vector<T> input, output, transposed;
    };
};

using Transpose = Ladder<TransposeFamily>;
