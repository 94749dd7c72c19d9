#include "program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

#include "cuda_error.cuh"
#include "device_memory.cuh"
#include "report.hpp"
#include "simulation.hpp"

namespace {

/// Those of --json and --csv, or null. Both are opened before anything runs.
std::array<std::unique_ptr<OutputFile>, 2> output_files(const Options& options) {
    std::array<std::unique_ptr<OutputFile>, 2> files;
    if (options.json_file) files[0] = std::make_unique<OutputFile>("--json", *options.json_file);
    if (options.csv_file) files[1] = std::make_unique<OutputFile>("--csv", *options.csv_file);
    if (files[0] && files[1] && files[0]->name() == files[1]->name())
        throw UsageError("--csv: the same file as --json");
    return files;
}

}  // namespace

Program::Program(std::string family_name, std::string program_name, std::string about, int count,
                 char** arguments)
    : family(std::move(family_name)),
      name(std::move(program_name)),
      command_line(family + "/" + name, about),
      argc(count),
      argv(arguments) {}

int Program::run(const std::vector<Label>& labels, const std::function<int()>& body) {
    const int code = run_unchecked(labels, body);
    // What was printed has not arrived before it is flushed: a full disk shows here.
    if (std::fflush(stdout) == 0 && !std::ferror(stdout)) return code;
    fmt::print(stderr, "{}/{}: cannot write to stdout: {}\n", family, name, std::strerror(errno));
    return EXIT_WRONG;
}

int Program::run_unchecked(const std::vector<Label>& labels, const std::function<int()>& body) {
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
    } catch (const CudaError& error) {
        return fail(error.what(), exit_code_of(error.code));
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
    for (const std::unique_ptr<OutputFile>& file : output_files(options))
        if (file) file->write("");
    return EXIT_RIGHT;
}

void Program::drop_sizes(const std::string& words) {
    for (auto* lines : {&sweep_sizes, &test_sizes, &large_sizes})
        lines->erase(std::remove_if(lines->begin(), lines->end(),
                                    [&](const std::string& line) {
                                        return (line + " ").find(words + " ") != std::string::npos;
                                    }),
                     lines->end());
}

void Program::open_device() {
    device = ::open_device(options.device);
}

Problem Program::problem() const {
    Problem p;
    p.family = family;
    p.program = name;
    p.type = options.type;
    p.options = command_line.values();
    return p;
}

int Program::measure(const Problem& problem, std::vector<Variant> variants) {
    const auto is_named = [&](const Variant& v) {
        return std::count(options.variants.begin(), options.variants.end(), v.name) > 0;
    };
    const auto is_wanted = [&](const Variant& v) {
        if (options.variants.empty()) return !v.hidden;
        return is_named(v) || ((v.role == Role::ceiling || v.name == problem.ceiling) && !options.profile);
    };
    variants.erase(
        std::remove_if(variants.begin(), variants.end(), [&](const Variant& v) { return !is_wanted(v); }),
        variants.end());
    const auto [json_file, csv_file] = output_files(options);

    const std::vector<Measurement> measurements = run_variants(
        problem, variants, options, *gpu_runner(options.cold, device.l2_bytes, problem.host_clock));
    const Results results(problem, measurements, describe_run(device, options));
    if (!options.quiet) fmt::print("{}", table(results));
    for (const Measurement& m : measurements)
        if (!m.explanation.empty()) fmt::print("{}\n{}", m.variant->name, m.explanation);
    const std::string records = json_lines(results);
    if (json_file) json_file->write(records);
    if (csv_file) csv_file->write(csv(records));
    return verdict(measurements);
}

int Program::verdict(const std::vector<Measurement>& measurements) const {
    const auto first = [&](const auto& is) -> const Measurement* {
        const auto found = std::find_if(measurements.begin(), measurements.end(), is);
        return found == measurements.end() ? nullptr : &*found;
    };
    // The worst verdict wins.
    if (const Measurement* bad = first([](const Measurement& m) {
            return m.status == Status::wrong || m.status == Status::failed || m.status == Status::not_run;
        })) {
        if (options.quiet)
            fmt::print(stderr, "{}/{}: {}: {}: {}\n", family, name, bad->variant->name, name_of(bad->status),
                       bad->reason);
        return EXIT_WRONG;
    }
    // Where no rung is among them, a ceiling or a baseline that was asked for is what should run.
    const Measurement* rung = first([](const Measurement& m) { return m.variant->role == Role::rung; });
    const auto is_wanted = [&](const Measurement& m) {
        return rung ? m.variant->role == Role::rung
                    : std::count(options.variants.begin(), options.variants.end(), m.variant->name) > 0;
    };
    if (first([&](const Measurement& m) { return is_wanted(m) && m.status != Status::skipped; }))
        return EXIT_RIGHT;
    const Measurement* skipped = first(is_wanted);
    fmt::print(stderr, "{}/{}: nothing could run here: {}\n", family, name,
               skipped ? skipped->reason : "no variant was asked for");
    return EXIT_NOTHING_RAN;
}
