// benchmark.hpp: runs a ladder. First the proof, then the time: a variant that computes a wrong result has
// none.
#pragma once
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "../simulator/simulator_api.h"
#include "options.hpp"
#include "statistics.hpp"
#include "verify.hpp"

/// rung: a step of the ladder. ceiling: what the rungs are measured against. peer: the vendor's library.
enum class Role { rung, ceiling, peer };
const char* name_of(Role role);

/// What a variant is called, and what it shows.
struct Label {
    std::string name, note;
    Role role = Role::rung;
};

/// A figure that the work measures itself, by the multiprocessor's clock say: "latency" in "cycles". A column of the
/// table.
struct Column {
    std::string name, unit;
    bool adds_up = false;  ///< events that are counted: the sum of all samples, not their median
};

/// What one sample says of such a figure, and what the hardware allows; NaN: nothing.
struct Reading {
    double value;
    double least = 0, most = std::numeric_limits<double>::infinity();
};

/// One way to do the work: a row of the table.
struct Variant : Label {
    std::function<void()> launch =
        {};  ///< enqueues all of the work on the default stream, in one launch or several
    std::function<Comparison()> check = {};  ///< compares what it last computed with the CPU reference
    std::function<void()> restore = {};      ///< for in-place work: fresh input, outside of the timed region
    std::string cannot_run = {};             ///< why it is skipped here, or empty
    int64_t steps = 1;                       ///< how many times over it does the problem's work in one launch
    double bytes = 0;                        ///< what it moves, where that is not the problem's `bytes`
    /// What the last launch measured itself: one reading for each of Problem::columns, taken after each sample.
    std::function<std::vector<Reading>()> read = {};
    double working_set = 0;  ///< bytes that its repeated launches touch; 0: those of the problem
};

/// The median time of a variant in milliseconds, NaN where it has none.
using Medians = std::function<double(const std::string& variant)>;

/// What the variants of one run have in common. Program::problem() fills in the first lines.
struct Problem {
    std::string family, program, type;
    std::vector<std::pair<std::string, int64_t>> sizes;        ///< options in numbers: rows, n, block
    std::vector<std::pair<std::string, double>> reals;         ///< options in real numbers: alpha
    std::vector<std::pair<std::string, std::string>> choices;  ///< options in words: op
    std::string headline;          ///< the problem for a person, "8192 x 8192 float"
    double bytes = 0;              ///< what the algorithm must move, not what a kernel happens to move
    double flops = 0;              ///< 0: not a figure of this family
    double updates = 0;            ///< cells that one step updates; 0: not a figure of this family
    double working_set = 0;        ///< bytes that repeated launches touch; below 4 x L2 a result is marked
    std::string ceiling;           ///< the variant that stands for 100 %; "": none does
    std::vector<Column> columns;   ///< the figures that the variants measure themselves
    std::function<void()> poison;  ///< fills the output with 0xFF
    std::function<void(const std::string& name)> show = {};  ///< --print: the data after a variant ran

    // Where the GPU's memory is not the limit (an infinite working_set says so).
    /// Several variants, of which the slowest stands for 100 %; `ceiling` is its name then.
    std::vector<std::string> bound = {};
    bool host_clock = false;  ///< show the time by the host's clock too, beside that by the events
    double items = 0;         ///< what a launch does this many times: the table shows the time of one, in us
    std::string item;         ///< what that is called: "kernel"
    /// The time that a variant should take by the family's model; NaN where the model does not speak of it.
    std::function<double(const Variant&, const Medians&)> model_ms = {};
    std::function<std::string(const Medians&)> remark = {};  ///< a line for below the table
};

/// wrong: its result or, under the simulator, a fault. unchecked: --check none.
enum class Status { ok, wrong, skipped, unchecked };
const char* name_of(Status status);

/// What the simulator counted in one launch of a variant.
using Counts = LadderSimulatorCounts;
inline double per_request(uint64_t count, uint64_t requests) {
    return requests ? static_cast<double>(count) / static_cast<double>(requests) : NOT_KNOWN;
}

/// What became of a variant. Without a time, `times_ms` is empty.
struct Measurement {
    const Variant* variant = nullptr;
    Status status = Status::unchecked;
    std::string reason;
    Comparison comparison;
    std::vector<double> times_ms;  ///< for one launch, by round
    std::vector<double> host_ms;   ///< the same by the host's clock, where the problem asks for it
    std::vector<std::vector<Reading>> readings;  ///< by round, then by column
    int batch = 0;                               ///< launches per sample
    std::optional<Counts> counts;
    std::string explanation;  ///< --explain: the counts of each source line
};

/// How a variant is run: on the GPU (gpu_runner), or in a test by a clock that ticks as told.
class Runner {
 public:
    virtual ~Runner() = default;
    /// One launch, waited for.
    virtual void run(const Variant& variant) = 0;
    /// The milliseconds that `batch` launches take together.
    virtual double time(const Variant& variant, int batch) = 0;
    /// What the last time() took by the host's clock, from the first launch until the host knew that all was over.
    virtual double host_ms() const { return 0; }
};

/// CUDA events on the default stream; with `cold`, the L2 cache is flushed before each sample. With `host_clock`
/// a sample starts on an idle GPU, so that the host's clock sees the launches and nothing from before.
std::unique_ptr<Runner> gpu_runner(bool cold, int64_t l2_bytes, bool host_clock = false);

/// Proves, warms up and times all variants as the rules of measuring say (README.md, "How it measures"):
/// batches for short launches, round-robin rounds so that ratios are paired, and a second proof after the
/// timing.
std::vector<Measurement> run_ladder(const Problem& problem, const std::vector<Variant>& variants,
                                    const Options& options, Runner& runner);
