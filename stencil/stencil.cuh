// stencil.cuh: the problem of this family. Each cell becomes a weighted sum of the cells around it, in one
// to three dimensions, under one of four rules for what stands beyond the edge.
#pragma once
#include <cstdio>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "copy.cuh"
#include "domain.cuh"
#include "ladder.hpp"
#include "reference.hpp"

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

/// What a variant has to do, and with what. in and out are two arrays of domain.count() cells each in device
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

struct StencilFamily {
    static constexpr const char* NAME = "stencil";
    using Types = TypeList<float, double>;
    struct Traits {
        bool copies = false;  ///< the cells as they were
    };
    template <typename T>
    using Task = ::Task<T>;
    template <typename T>
    using Preparation = std::function<void(const Task<T>&)>;

    /// shape_of(radius): the stencil, difference_1d, star_2d, ... Its dimensions decide the options for the size.
    StencilFamily(Program& the_program, Shape (*shape)(int radius), int default_radius)
        : program(the_program),
          shape_of(shape),
          dimensions(shape(default_radius).dimensions),
          radius(default_radius) {
        CommandLine& line = program.command_line;
        line.choice("--boundary", boundary, BOUNDARIES,
                    "what stands beyond the edge; keep: such cells stay as they were");
        if (dimensions == 1) {
            nx = 1 << 26;
            line.size("--n", nx, 0, MAX_N, 5000, "cells");
        } else {
            nx = ny = dimensions == 2 ? 8192 : 384;
            if (dimensions == 3) nz = 384;
            const bool plane = dimensions == 2;
            line.size("--nx", nx, 0, MAX_SIDE, plane ? 300 : 68,
                      "cells in x, where neighbours lie side by side");
            line.size("--ny", ny, 0, MAX_SIDE, plane ? 70 : 24, "cells in y");
            if (dimensions == 3) line.size("--nz", nz, 0, MAX_SIDE, 20, "cells in z");
            line.size_of_all("--n",
                             plane ? std::vector<std::string>{"--nx", "--ny"}
                                   : std::vector<std::string>{"--nx", "--ny", "--nz"},
                             "cells in every direction");
        }
        declare_sizes();
    }

    /// Adds --radius, 1..most.
    void takes_radius(int most = MAX_RADIUS) {
        program.command_line.number("--radius", radius, 1, most, "how far a stencil reaches");
        // A domain less than the radius, one that is little more, and one of several blocks.
        const std::vector<const char*> shapes[] = {
            {"--n 3 --boundary periodic", "--n 33 --boundary clamp", "--n 701 --boundary zero --type double",
             "--n 1400"},
            {"--n 3 --boundary periodic", "--nx 40 --ny 35 --boundary clamp",
             "--nx 70 --ny 45 --type double"},
            {"--n 3 --boundary periodic", "--nx 40 --ny 12 --nz 35 --boundary clamp",
             "--nx 35 --ny 37 --nz 34"}};
        const char* const swept[] = {"--n 268435456", "--n 16384", "--n 512"};
        for (const int64_t other : {int64_t{1}, int64_t{most}}) {
            if (other == radius) continue;
            const std::string with = " --radius " + std::to_string(other);
            for (const char* size : shapes[dimensions - 1]) program.test_sizes.push_back(size + with);
            program.sweep_sizes.push_back(swept[dimensions - 1] + with);
        }
    }
    /// Adds --steps, 1..most.
    void takes_steps(int64_t default_steps, int64_t most) {
        steps = default_steps;
        several_steps = true;
        program.command_line.number("--steps", steps, 1, most, "time steps in one launch of a variant");
    }
    /// Work to be done once before the variants run, outside of the timed region: prepare(task).
    void before(PerType<Preparation, Types> prepare) { preparation = std::move(prepare); }

    std::string nothing_to_do() const {
        if (nx == 0 || ny == 0 || nz == 0) return "the domain has no cells";
        checked_bytes(nx, checked_bytes(ny, checked_bytes(nz, sizeof(double))));
        if (program.options.print && nx * ny * nz > LONGEST_PRINTED)
            throw UsageError("--print: shows at most 256 cells");
        return "";
    }
    /// A step reads each cell and writes each: at best as fast as a copy does.
    template <typename L>
    static void add_ceiling(L& ladder) {
        ladder
            .ceiling("copy", "float4 copy: the ceiling",
                     [](const auto& t) {
                         launch_copy<uint4>(t.in, t.out,
                                            t.domain.count() * static_cast<int64_t>(sizeof(*t.in)));
                     })
            .copies = true;
    }

    template <typename T>
    struct Work {
        static double host_bytes(const StencilFamily& family) {
            // The input, a result, and the reference in double; of several steps it holds two at a time.
            const size_t a_cell = 2 * sizeof(T) + (family.steps > 1 ? 2 : 1) * sizeof(double);
            return static_cast<double>(a_cell) * static_cast<double>(family.domain().count());
        }

        Work(const StencilFamily& family, const Program& program)
            : shape(family.shape_of(static_cast<int>(family.radius))),
              in(family.domain().count()),
              out(in.count()),
              scratch(family.several_steps ? in.count() : 0),
              c_global(MAX_COEFFICIENTS),
              task{in.data(),
                   out.data(),
                   family.domain(),
                   shape.radius,
                   coefficients_of(shape),
                   c_global.data(),
                   family.steps,
                   scratch.data(),
                   program.device.multiprocessors},
              headline(shape.name + ", " + family.size_text() + " " + program.options.type + ", " +
                       family.boundary),
              input(in.count()),
              output(in.count()) {
            fill_cells(input.data(), in.count(), program.options.seed);
            in.upload(input.data());
            expected = reference(shape, task.domain, input, task.steps);
            c_global.upload(task.c.at);
            if (const auto& prepare = family.preparation.template of<T>()) prepare(task);
        }
        void describe(Problem& problem) const {
            problem.headline = headline;
            problem.rates = rates(1);
            problem.working_set = bytes();
            problem.ceiling = "copy";
        }
        void describe(Variant& v, const Traits& variant) const {
            if (variant.copies) return;
            v.steps = task.steps;
            v.rates = rates(task.steps);
        }
        void poison() {
            out.poison();
            if (scratch.count()) scratch.poison();
        }
        Comparison check(const Traits& variant) {
            out.download(output.data());
            const auto against = [&](const auto& right, double largest_error) {
                return compare(
                    in.count(), largest_error, [&](int64_t i) { return output[i]; },
                    [&](int64_t i) { return right[i]; });
            };
            return variant.copies ? against(input, 0) : against(expected, tolerance<T>(shape, task.steps));
        }
        void show(const std::string& variant) {
            if (variant == "copy") return;
            const auto print = [&](const std::string& title, const std::vector<T>& cells) {
                std::printf("%s\n", title.c_str());
                for (int64_t i = 0; i < in.count(); ++i)
                    std::printf("%8.4f%s", static_cast<double>(cells[i]),
                                (i + 1) % task.domain.nx ? " " : "\n");
            };
            print("in", input);
            out.download(output.data());
            print("out by " + variant, output);
        }

        const Shape shape;
        DeviceBuffer<T> in, out, scratch, c_global;
        const Task<T> task;

     private:
        static Coefficients<T> coefficients_of(const Shape& shape) {
            Coefficients<T> c{};
            std::copy(shape.coefficients.begin(), shape.coefficients.end(), c.at);
            return c;
        }
        /// However many steps a launch takes, it needs each cell once from memory and writes it there once.
        double bytes() const { return 2.0 * static_cast<double>(in.bytes()); }
        std::vector<Rate> rates(int64_t steps) const {
            return {{"GB/s", bytes()},
                    {"GPt/s", static_cast<double>(in.count()) * static_cast<double>(steps)}};
        }
        const std::string headline;
        std::vector<T> input, output;
        std::vector<double> expected;
    };

 private:
    void declare_sizes() {
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
    Domain domain() const {
        const auto rule = std::find(BOUNDARIES.begin(), BOUNDARIES.end(), boundary) - BOUNDARIES.begin();
        return {nx, ny, nz, static_cast<Boundary>(rule)};
    }
    std::string size_text() const {
        std::string text = std::to_string(nx);
        if (dimensions > 1) text += " x " + std::to_string(ny);
        if (dimensions > 2) text += " x " + std::to_string(nz);
        return text;
    }

    static constexpr int64_t LONGEST_PRINTED = 256;
    const std::vector<std::string> BOUNDARIES = {"keep", "zero", "clamp", "periodic"};  // as in Boundary

    Program& program;
    Shape (*const shape_of)(int radius);
    const int dimensions;
    std::string boundary = BOUNDARIES.front();
    int64_t nx = 1, ny = 1, nz = 1, radius, steps = 1;
    bool several_steps = false;
    PerType<Preparation, Types> preparation;
};

using Stencil = Ladder<StencilFamily>;
