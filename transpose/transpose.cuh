// transpose.cuh: the problem of this family. B = transpose of A, for rows x cols floats or doubles of any
// shape.
#pragma once
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "copy.cuh"
#include "device_memory.cuh"
#include "fill.hpp"
#include "program.hpp"

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

/// A copy of A, one Word a thread. The ceiling of this family is that with 16 bytes: a transpose can at
/// best move its bytes as fast as a copy does.
template <typename Word, typename T>
void copy_matrix(const T* in, T* out, Extent e) {
    launch_copy<Word>(in, out, e.count() * static_cast<int64_t>(sizeof(T)));
}

/// A program of this family: it names its variants and runs.
class Transpose {
 public:
    template <typename T>
    using Launch = std::function<void(const T* in, T* out, Extent extent)>;
    /// Why a variant cannot run for this device, shape and size of an element; or "".
    using Obstacle = std::function<std::string(const DeviceInfo&, Extent, int element_bytes)>;

    Transpose(const char* name, const char* about, int argc, char** argv);

    /// A rung: launch(in, out, extent) for float and double.
    template <typename L>
    void variant(const char* variant_name, const char* note, L launch, Obstacle obstacle = {}) {
        rungs.push_back({{variant_name, note, Role::rung}, true, launch, launch, obstacle});
    }
    /// A way to copy A, shown beside the transposes; checked against A itself.
    template <typename L>
    void copy(const char* variant_name, const char* note, L launch) {
        rungs.push_back({{variant_name, note, Role::rung}, false, launch, launch, {}});
    }
    /// The vendor's library.
    void peer(const char* variant_name, const char* note, Launch<float> f32, Launch<double> f64,
              Obstacle obstacle) {
        rungs.push_back({{variant_name, note, Role::peer}, true, f32, f64, obstacle});
    }

    int run();

 private:
    struct Rung : Label {
        bool transposes;
        Launch<float> f32;
        Launch<double> f64;
        Obstacle obstacle;
    };
    template <typename T>
    int measure();

    Program program;
    std::vector<Rung> rungs;
    int64_t rows = 8192, cols = 8192;
};

inline Transpose::Transpose(const char* name, const char* about, int argc, char** argv)
    : program("transpose", name, about, argc, argv) {
    program.command_line.types({"float", "double"});
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
        for (const char* shape :
             {"--n 0", "--n 1", "--rows 1 --cols 97", "--rows 97 --cols 1", "--rows 31 --cols 33", "--n 32",
              "--rows 33 --cols 63", "--rows 65 --cols 129", "--rows 100 --cols 77", "--rows 100 --cols 76"})
            program.test_sizes.push_back(std::string(shape) + " --type " + type);
    // A side of more than 65535 tiles; more than 2^31 elements, and bytes past 4 GiB.
    program.large_sizes = {
        "--rows 1000 --cols 777",    "--rows 2097121 --cols 1",    "--rows 1 --cols 2097121",
        "--rows 2097121 --cols 33",  "--rows 33 --cols 2097121",   "--rows 46349 --cols 46351",
        "--rows 46352 --cols 46356", "--rows 2 --cols 1073741827", "--rows 32801 --cols 32803 --type double"};
    rungs.push_back({{"copy", "16 bytes a thread: the ceiling", Role::ceiling},
                     false,
                     copy_matrix<uint4, float>,
                     copy_matrix<uint4, double>,
                     {}});
}

inline int Transpose::run() {
    return program.run({rungs.begin(), rungs.end()}, [this] {
        if (program.options.print && (rows > 16 || cols > 16))
            throw UsageError("--print: shows at most 16 rows and 16 columns");
        if (rows == 0 || cols == 0) return program.nothing_to_do("the matrix has no cells");
        checked_bytes(rows, checked_bytes(cols, sizeof(double)));
        program.open_device();
        return program.options.type == "double" ? measure<double>() : measure<float>();
    });
}

template <typename T>
int Transpose::measure() {
    const Extent e{static_cast<int>(rows), static_cast<int>(cols)};
    DeviceBuffer<T> in(e.count()), out(e.count());
    std::vector<T> input(e.count()), output(e.count()), transposed(e.count());
    fill_distinct(input.data(), e.count(), program.options.seed);
    in.upload(input.data());

    // The specification of this family. No arithmetic happens, so every cell must be equal, bit for bit.
    parallel_ranges(e.count(), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) transposed[i] = input[i % rows * cols + i / rows];
    });
    const auto check_against = [&](const std::vector<T>& expected) {
        return [&] {
            out.download(output.data());
            return compare(
                e.count(), 0, [&](int64_t i) { return output[i]; }, [&](int64_t i) { return expected[i]; });
        };
    };
    const auto print = [](const char* title, const std::vector<T>& values, int64_t height, int64_t width) {
        std::printf("%s\n", title);
        for (int64_t r = 0; r < height; ++r)
            for (int64_t c = 0; c < width; ++c)
                std::printf("%5g%s", static_cast<double>(values[r * width + c]), c + 1 < width ? " " : "\n");
    };

    Problem problem =
        program.problem(std::to_string(rows) + " x " + std::to_string(cols) + " " + program.options.type);
    problem.bytes = 2.0 * static_cast<double>(in.bytes());
    problem.working_set = problem.bytes;
    problem.ceiling = "copy";
    problem.poison = [&] { out.poison(); };
    problem.show = [&](const std::string& name) {
        print("A", input, rows, cols);
        out.download(output.data());
        print(("B by " + name).c_str(), output, cols, rows);
    };

    std::vector<Variant> variants;
    for (const Rung& r : rungs) {
        Variant v{r};
        v.check = check_against(r.transposes ? transposed : input);
        if constexpr (std::is_same_v<T, float>)
            v.launch = [&, launch = r.f32] { launch(in.data(), out.data(), e); };
        else
            v.launch = [&, launch = r.f64] { launch(in.data(), out.data(), e); };
        if (r.obstacle) v.cannot_run = r.obstacle(program.device, e, sizeof(T));
        variants.push_back(v);
    }
    return program.measure(problem, variants);
}
