#include "program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "cuda_error.cuh"
#include "device_memory.cuh"
#include "report.hpp"
#include "simulation.hpp"

Program::Program(std::string family_name, std::string program_name, std::string about, int count,
                 char** arguments)
    : family(std::move(family_name)),
      name(std::move(program_name)),
      command_line(family + "/" + name, about),
      argc(count),
      argv(arguments) {}

int Program::run(const std::vector<Label>& labels, const std::function<int()>& body) {
    const auto fail = [this](const std::string& message, int code) {
        std::fflush(stdout);
        fmt::print(stderr, "{}/{}: {}\n", family, name, message);
        return code;
    };
    try {
        std::vector<std::string> names;
        for (const Label& e : labels) names.push_back(e.name);
        options = command_line.parse(argc, argv, names, simulated());
        if (options.help) {
            fmt::print("{}\n", command_line.help_text());
            return EXIT_RIGHT;
        }
        if (options.list) {
            for (const Label& e : labels) fmt::print("{:<24} {:<8} {}\n", e.name, name_of(e.role), e.note);
            return EXIT_RIGHT;
        }
        if (!options.sizes.empty()) {
            const auto& lines = options.sizes == "sweep"  ? sweep_sizes
                                : options.sizes == "test" ? test_sizes
                                                          : large_sizes;
            for (const std::string& line : lines) fmt::print("{}\n", line);
            return EXIT_RIGHT;
        }
        if (options.explain && !options.simulate && !simulated())
            throw UsageError("--explain: needs --simulate (on a GPU: Nsight Compute, with --profile)");
        if (options.simulate && !simulated()) return fail(simulation::start(argv), EXIT_NOTHING_RAN);
        return body();
    } catch (const UsageError& error) {
        return fail(error.what(), EXIT_USAGE);
    } catch (const std::length_error& error) {
        return fail(error.what(), EXIT_USAGE);
    } catch (const OutOfMemory& error) {
        return fail(fmt::format("{}; ask for less with {}", error.what(), command_line.size_names()),
                    EXIT_NOTHING_RAN);
    } catch (const std::bad_alloc&) {
        return fail(
            fmt::format("not enough memory on the host; ask for less with {}", command_line.size_names()),
            EXIT_NOTHING_RAN);
    } catch (const std::exception& error) {
        return fail(error.what(), EXIT_WRONG);
    }
}

int Program::nothing_to_do(const std::string& why) const {
    if (!options.quiet) fmt::print("{}/{}: nothing to do: {}\n", family, name, why);
    return EXIT_RIGHT;
}

void Program::open_device() {
    device = ::open_device(options.device);
}

Problem Program::problem(const std::string& headline) const {
    Problem p;
    p.family = family;
    p.program = name;
    p.type = options.type;
    p.sizes = command_line.numbers();
    p.reals = command_line.reals();
    p.choices = command_line.choices();
    p.headline = headline;
    return p;
}

int Program::measure(const Problem& problem, std::vector<Variant> variants) {
    if (!options.variants.empty()) {
        const auto wanted = [&](const Variant& v) {
            return std::count(options.variants.begin(), options.variants.end(), v.name) ||
                   ((v.role == Role::ceiling || v.name == problem.ceiling) && !options.profile);
        };
        variants.erase(
            std::remove_if(variants.begin(), variants.end(), [&](const Variant& v) { return !wanted(v); }),
            variants.end());
    }
    std::unique_ptr<OutputFile> json_file, csv_file;
    if (!options.json_file.empty()) json_file = std::make_unique<OutputFile>("--json", options.json_file);
    if (!options.csv_file.empty()) csv_file = std::make_unique<OutputFile>("--csv", options.csv_file);

    const std::vector<Measurement> measurements = run_ladder(
        problem, variants, options, *gpu_runner(options.cold, device.l2_bytes, problem.host_clock));
    const RunInfo run = describe_run(device, options);
    const std::vector<Figures> figures = figures_of(problem, measurements, run);
    if (!options.quiet) {
        fmt::print("{}", table(problem, measurements, figures, run));
        for (const Measurement& m : measurements)
            if (!m.explanation.empty()) fmt::print("{}\n{}", m.variant->name, m.explanation);
    }
    const std::string records = json_lines(problem, measurements, figures, run);
    if (json_file) json_file->write(records);
    if (csv_file) csv_file->write(csv(records));

    const auto any = [&](const auto& is) {
        return std::any_of(measurements.begin(), measurements.end(), is);
    };
    if (any([](const Measurement& m) { return m.status == Status::wrong; })) return EXIT_WRONG;
    // The ceiling that comes along with every run is no success of its own, unless it was asked for.
    if (any([&](const Measurement& m) {
            return m.status != Status::skipped &&
                   (m.variant->role != Role::ceiling ||
                    std::count(options.variants.begin(), options.variants.end(), m.variant->name));
        }))
        return EXIT_RIGHT;
    const auto rung = std::find_if(measurements.begin(), measurements.end(),
                                   [](const Measurement& m) { return m.variant->role == Role::rung; });
    fmt::print(stderr, "{}/{}: nothing could run here: {}\n", family, name,
               rung == measurements.end() ? "no rung was asked for" : rung->reason);
    return EXIT_NOTHING_RAN;
}
