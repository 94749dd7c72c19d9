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
    /// What the last launch measured itself: one reading for each of Problem::columns, taken after each sample.
    std::function<std::vector<Reading>()> read = {};
    double working_set = 0;  ///< bytes that its repeated launches touch; 0: those of the problem
};

/// What the variants of one run have in common. Program::problem() fills in the first lines.
struct Problem {
    std::string family, program, type;
    std::vector<std::pair<std::string, int64_t>> sizes;        ///< options in numbers: rows, n, block
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
};

/// wrong: its result or, under the simulator, a fault. unchecked: --check none.
enum class Status { ok, wrong, skipped, unchecked };
const char* name_of(Status status);

/// What the simulator counted in one launch of a variant; per request, NaN where there was none.
struct Counts {
    double shared_load_wavefronts, shared_load_ideal, shared_store_wavefronts, shared_store_ideal;
    double global_load_sectors, global_load_ideal, global_store_sectors, global_store_ideal;
    int64_t branches, divergent_branches;
};

/// What became of a variant. Without a time, `times_ms` is empty.
struct Measurement {
    const Variant* variant = nullptr;
    Status status = Status::unchecked;
    std::string reason;
    Comparison comparison;
    std::vector<double> times_ms;                ///< for one launch, by round
    int batch = 0;                               ///< launches per sample
    std::vector<std::vector<Reading>> readings;  ///< by round, then by column
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
};

/// CUDA events on the default stream; with `cold`, the L2 cache is flushed before each sample.
std::unique_ptr<Runner> gpu_runner(bool cold, int64_t l2_bytes);

/// Proves, warms up and times all variants as the rules of measuring say (README.md, "How it measures"):
/// batches for short launches, round-robin rounds so that ratios are paired, and a second proof after the
/// timing.
std::vector<Measurement> run_ladder(const Problem& problem, const std::vector<Variant>& variants,
                                    const Options& options, Runner& runner);
