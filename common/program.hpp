// program.hpp: from main's arguments to the exit code, the same way in every program.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "benchmark.hpp"
#include "device_info.hpp"
#include "options.hpp"

class Program {
 public:
    /// `about`: one sentence for --help.
    Program(std::string family, std::string name, std::string about, int argc, char** argv);

    const std::string family, name;
    CommandLine command_line;
    Options options;    ///< filled when `body` runs
    DeviceInfo device;  ///< filled by open_device()

    /// Lines of options, one run of the program each: what scripts/run_all.sh measures, the awkward sizes at
    /// which tests/run_sizes.sh checks every variant (small enough for the simulator), and those that only a
    /// GPU can hold.
    std::vector<std::string> sweep_sizes, test_sizes, large_sizes;

    /// Reads the command line and runs `body`, which does the work of the family and returns the exit code.
    /// --help, --list and usage errors are answered here, and errors end as the exit codes say
    /// (cuda_error.cuh).
    int run(const std::vector<Label>& labels, const std::function<int()>& body);

    /// For an empty problem: says so, and writes empty records. The exit code is that of success.
    int nothing_to_do(const std::string& why) const;

    /// Drops the sizes that name these words: a type that the program does not take.
    void drop_sizes(const std::string& words);

    /// Opens the GPU that --device names, or ends the program with a hint.
    void open_device();

    /// The problem as the command line gives it: family, program, type and options.
    Problem problem() const;

    /// Runs, reports and records the variants; the exit code says whether all were right.
    int measure(const Problem& problem, std::vector<Variant> variants);

 private:
    int run_unchecked(const std::vector<Label>& labels, const std::function<int()>& body);
    /// The exit code.
    int verdict(const std::vector<Measurement>& measurements) const;

    int argc;
    char** argv;
};
