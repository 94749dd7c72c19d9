// stencil.cuh: the problem of this family. Each cell becomes a weighted sum of the cells around it, in one
// to three dimensions, under one of four rules for what stands beyond the edge.
#pragma once
#include <cstdio>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "copy.cuh"
#include "device_memory.cuh"
#include "domain.cuh"
#include "program.hpp"
#include "reference.hpp"
#include "verify.hpp"

constexpr int MAX_RADIUS = 16;
constexpr int MAX_COEFFICIENTS = 6 * MAX_RADIUS + 1;  // of the widest star in 3-D
constexpr int64_t MAX_SIDE = 2000000000;  // 2-D and 3-D: leaves room for the last tile to reach past the edge
constexpr int64_t MAX_N = int64_t{1} << 35;  // 1-D

/// The weights in the order that the shape says (reference.hpp), as a kernel parameter.
template <typename T>
struct Coefficients {
    T at[MAX_COEFFICIENTS];
    __host__ __device__ const T& operator[](int k) const { return at[k]; }
};

/// What a rung has to do, and with what. in and out are two arrays of domain.count() cells each in device
/// memory, aligned to 256 bytes; `in` stays as it is.
template <typename T>
struct Task {
    const T* in;
    T* out;
    Domain domain;
    int radius;
    Coefficients<T> c;
    const T* c_global;  ///< the same in device memory
    int64_t steps;      ///< apply the stencil this many times; 1 without takes_steps()
    T* scratch;         ///< with takes_steps(): room for the cells once more
    int multiprocessors;
};

/// Calls f(std::integral_constant<int, R>) for the R in 1..MOST that is `radius`, for kernels that take it
/// as a template parameter.
template <int... LESS_ONE, typename F>
void with_radius_of(std::integer_sequence<int, LESS_ONE...>, int radius, const F& f) {
    (void)((radius == LESS_ONE + 1 ? (f(std::integral_constant<int, LESS_ONE + 1>()), true) : false) || ...);
}
template <int MOST = MAX_RADIUS, typename F>
void with_radius(int radius, const F& f) {
    with_radius_of(std::make_integer_sequence<int, MOST>(), radius, f);
}

/// A program of this family: it names its variants and runs.
class Stencil {
 public:
    template <typename T>
    using Launch = std::function<void(const Task<T>&)>;
    /// Why a variant cannot run, or "".
    struct Job {
        const DeviceInfo& device;
        const Domain& domain;
        int radius;
        int64_t steps;
        int element_bytes;
    };
    using Obstacle = std::function<std::string(const Job&)>;

    /// shape_of(radius): the stencil, difference_1d, star_2d, ... Its dimensions decide the options for
    /// the size.
    Stencil(const char* name, const char* about, int argc, char** argv, Shape (*shape_of)(int radius),
            int default_radius);

    /// Adds --radius, 1..most.
    void takes_radius(int most = MAX_RADIUS);
    /// Adds --steps, 1..most.
    void takes_steps(int64_t default_steps, int64_t most);

    /// A rung: launch(task) for float and double.
    template <typename L>
    void variant(const std::string& name, const std::string& note, L launch, Obstacle obstacle = {}) {
        rungs.push_back({{name, note, Role::rung}, launch, launch, obstacle});
    }
    /// Work to be done once before the rungs run, outside of the timed region: prepare(task).
    template <typename L>
    void before(L prepare) {
        preparations.push_back({prepare, prepare});
    }

    /// What --sizes prints. The constructor fills them in for its dimensions; a program may add to them.
    std::vector<std::string>& sweep_sizes() { return program.sweep_sizes; }
    std::vector<std::string>& test_sizes() { return program.test_sizes; }
    std::vector<std::string>& large_sizes() { return program.large_sizes; }

    int run();

 private:
    struct Rung : Label {
        Launch<float> f32;
        Launch<double> f64;
        Obstacle obstacle;
    };
    struct Preparation {
        Launch<float> f32;
        Launch<double> f64;
    };
    template <typename T, typename ByType>
    static const Launch<T>& launch_of(const ByType& r) {
        if constexpr (std::is_same_v<T, float>)
            return r.f32;
        else
            return r.f64;
    }
    void declare_sizes();
    template <typename T>
    int measure();
    std::string size_text() const;

    static constexpr int64_t LONGEST_PRINTED = 256;
    const std::vector<std::string> BOUNDARIES = {"keep", "zero", "clamp", "periodic"};  // as in Boundary

    Program program;
    Shape (*const shape_of)(int radius);
    const int dimensions;
    std::vector<Rung> rungs;
    std::vector<Preparation> preparations;
    std::string boundary = BOUNDARIES.front();
    int64_t nx = 1, ny = 1, nz = 1, radius, steps = 1;
    bool several_steps = false;
};

inline Stencil::Stencil(const char* name, const char* about, int argc, char** argv,
                        Shape (*shape)(int radius), int default_radius)
    : program("stencil", name, about, argc, argv),
      shape_of(shape),
      dimensions(shape(default_radius).dimensions),
      radius(default_radius) {
    CommandLine& line = program.command_line;
    line.types({"float", "double"});
    line.choice("--boundary", boundary, BOUNDARIES,
                "what stands beyond the edge; keep: such cells stay as they were");
    if (dimensions == 1) {
        nx = 1 << 26;
        line.size("--n", nx, 0, MAX_N, 5000, "cells");
    } else {
        nx = ny = dimensions == 2 ? 8192 : 384;
        if (dimensions == 3) nz = 384;
        const bool plane = dimensions == 2;
        line.size("--nx", nx, 0, MAX_SIDE, plane ? 300 : 68, "cells in x, where neighbours lie side by side");
        line.size("--ny", ny, 0, MAX_SIDE, plane ? 70 : 24, "cells in y");
        if (dimensions == 3) line.size("--nz", nz, 0, MAX_SIDE, 20, "cells in z");
        line.size_of_all("--n",
                         plane ? std::vector<std::string>{"--nx", "--ny"}
                               : std::vector<std::string>{"--nx", "--ny", "--nz"},
                         "cells in every direction");
    }
    declare_sizes();
    rungs.push_back({{"copy", "float4 copy: the ceiling", Role::ceiling}, {}, {}, {}});
}

inline void Stencil::takes_radius(int most) {
    program.command_line.number("--radius", radius, 1, most, "how far a stencil reaches");
    // A domain less than the radius, one that is little more, and one of several blocks.
    const std::vector<const char*> shapes[] = {
        {"--n 3 --boundary periodic", "--n 33 --boundary clamp", "--n 701 --boundary zero --type double",
         "--n 1400"},
        {"--n 3 --boundary periodic", "--nx 40 --ny 35 --boundary clamp", "--nx 70 --ny 45 --type double"},
        {"--n 3 --boundary periodic", "--nx 40 --ny 12 --nz 35 --boundary clamp", "--nx 35 --ny 37 --nz 34"}};
    const char* const swept[] = {"--n 268435456", "--n 16384", "--n 512"};
    for (const int64_t other : {int64_t{1}, int64_t{most}}) {
        if (other == radius) continue;
        const std::string with = " --radius " + std::to_string(other);
        for (const char* size : shapes[dimensions - 1]) program.test_sizes.push_back(size + with);
        program.sweep_sizes.push_back(swept[dimensions - 1] + with);
    }
}

inline void Stencil::takes_steps(int64_t default_steps, int64_t most) {
    steps = default_steps;
    several_steps = true;
    program.command_line.number("--steps", steps, 1, most, "time steps in one launch of a variant");
}

inline void Stencil::declare_sizes() {
    const std::string r = std::to_string(radius), r1 = std::to_string(radius + 1),
                      r2 = std::to_string(2 * radius + 1);
    std::vector<std::string> shapes;
    if (dimensions == 1) {
        program.sweep_sizes = {"--n 65536", "--n 16777216", "--n 268435456", "--n 536870912",
                               "--n 134217728 --type double"};
        // No cell, one, as many as the radius; less and more than a block; primes.
        shapes = {"--n 0",   "--n 1",   "--n " + r, "--n " + r1, "--n " + r2, "--n 127",
                  "--n 255", "--n 256", "--n 257",  "--n 1031",  "--n 4099"};
        program.large_sizes = {"--n 16777259", "--n 2147483659 --boundary periodic",
                               "--n 1073741827 --type double --boundary clamp"};
    } else if (dimensions == 2) {
        program.sweep_sizes = {"--n 1024", "--n 4096", "--n 8192", "--n 16384", "--n 8192 --type double"};
        shapes = {"--n 0",           "--n 1",           "--n " + r,        "--n " + r1,
                  "--nx 1 --ny 97",  "--nx 97 --ny 1",  "--nx 31 --ny 33", "--nx 129 --ny 17",
                  "--nx 64 --ny 32", "--nx 257 --ny 67"};
        // A side of more than 65535 blocks; more than 2^31 cells.
        program.large_sizes = {"--nx 777 --ny 1000",
                               "--nx 3 --ny 4194319",
                               "--nx 4194319 --ny 3 --boundary clamp",
                               "--nx 46349 --ny 46351 --boundary periodic",
                               "--nx 46352 --ny 46356 --boundary zero",
                               "--nx 32801 --ny 32803 --type double"};
    } else {
        program.sweep_sizes = {"--n 128", "--n 510", "--n 512", "--n 768", "--n 512 --type double"};
        shapes = {"--n 0",
                  "--n 1",
                  "--n " + r,
                  "--n " + r1,
                  "--nx 1 --ny 19 --nz 7",
                  "--nx 37 --ny 1 --nz 5",
                  "--nx 67 --ny 11 --nz 1",
                  "--nx 33 --ny 9 --nz 13",
                  "--nx 64 --ny 8 --nz 11",
                  "--nx 131 --ny 17 --nz 10",
                  "--nx 140 --ny 26 --nz 14"};
        program.large_sizes = {"--nx 301 --ny 203 --nz 107", "--nx 5 --ny 7 --nz 131101",
                               "--nx 5 --ny 1048583 --nz 7 --boundary clamp",
                               "--nx 1301 --ny 1297 --nz 1303 --boundary periodic",
                               "--nx 1024 --ny 1024 --nz 1027 --type double --boundary zero"};
    }
    // Every rule at every shape; the types take turns, so that each meets every shape and every rule.
    shapes.erase(std::unique(shapes.begin(), shapes.end()), shapes.end());  // radius 1
    for (size_t s = 0; s < shapes.size(); ++s)
        for (size_t b = 0; b < BOUNDARIES.size(); ++b)
            program.test_sizes.push_back(shapes[s] + " --boundary " + BOUNDARIES[b] +
                                         ((s + b) % 2 ? " --type double" : " --type float"));
}

inline std::string Stencil::size_text() const {
    std::string text = std::to_string(nx);
    if (dimensions > 1) text += " x " + std::to_string(ny);
    if (dimensions > 2) text += " x " + std::to_string(nz);
    return text;
}

inline int Stencil::run() {
    return program.run({rungs.begin(), rungs.end()}, [this] {
        if (nx == 0 || ny == 0 || nz == 0) return program.nothing_to_do("the domain has no cells");
        checked_bytes(nx, checked_bytes(ny, checked_bytes(nz, sizeof(double))));
        if (program.options.print && nx * ny * nz > LONGEST_PRINTED)
            throw UsageError("--print: shows at most 256 cells");
        program.open_device();
        return program.options.type == "double" ? measure<double>() : measure<float>();
    });
}

template <typename T>
int Stencil::measure() {
    const auto rule = std::find(BOUNDARIES.begin(), BOUNDARIES.end(), boundary) - BOUNDARIES.begin();
    const Domain domain{nx, ny, nz, static_cast<Boundary>(rule)};
    const Shape shape = shape_of(static_cast<int>(radius));
    const int64_t count = domain.count();

    DeviceBuffer<T> in(count), out(count), scratch(several_steps ? count : 0);
    std::vector<T> input(count), output(count);
    fill_cells(input.data(), count, program.options.seed);
    in.upload(input.data());
    const std::vector<double> expected = reference(shape, domain, input, steps);

    Coefficients<T> c{};
    std::copy(shape.coefficients.begin(), shape.coefficients.end(), c.at);
    DeviceBuffer<T> c_global(MAX_COEFFICIENTS);
    c_global.upload(c.at);
    const Task<T> task{in.data(),
                       out.data(),
                       domain,
                       shape.radius,
                       c,
                       c_global.data(),
                       steps,
                       scratch.data(),
                       program.device.multiprocessors};
    for (const Preparation& p : preparations) launch_of<T>(p)(task);

    Problem problem =
        program.problem(shape.name + ", " + size_text() + " " + program.options.type + ", " + boundary);
    problem.bytes = 2.0 * static_cast<double>(in.bytes());  // each cell is read once and written once
    problem.updates = static_cast<double>(count);
    problem.working_set = problem.bytes;
    problem.ceiling = "copy";
    problem.poison = [&] { out.poison(); };
    const auto print = [&](const std::string& title, const std::vector<T>& cells) {
        std::printf("%s\n", title.c_str());
        for (int64_t i = 0; i < count; ++i)
            std::printf("%8.4f%s", static_cast<double>(cells[i]), (i + 1) % nx ? " " : "\n");
    };
    problem.show = [&](const std::string& name) {
        if (name == problem.ceiling) return;
        print("in", input);
        out.download(output.data());
        print("out by " + name, output);
    };

    const auto check_against = [&](const auto& right, double largest_error) {
        return [&, largest_error] {
            out.download(output.data());
            return compare(
                count, largest_error, [&](int64_t i) { return output[i]; },
                [&](int64_t i) { return right[i]; });
        };
    };
    std::vector<Variant> variants;
    for (const Rung& r : rungs) {
        Variant v{r};
        if (r.role == Role::ceiling) {
            v.launch = [&] { launch_copy<uint4>(in.data(), out.data(), in.bytes()); };
            v.check = check_against(input, 0);
        } else {
            v.launch = [&task, &launch = launch_of<T>(r)] { launch(task); };
            v.check = check_against(expected, tolerance<T>(shape, steps));
            v.steps = steps;
        }
        if (r.obstacle) v.cannot_run = r.obstacle({program.device, domain, shape.radius, steps, sizeof(T)});
        variants.push_back(v);
    }
    return program.measure(problem, variants);
}
