// benchmark.hpp: runs variants. First the proof, then the time: a variant that computes a wrong result has none.
#pragma once
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "options.hpp"
#include "simulation.hpp"
#include "statistics.hpp"
#include "verify.hpp"

/// rung: a step of the ladder. ceiling: what the rungs are measured against. baseline: the vendor's library.
enum class Role { rung, ceiling, baseline };
const char* name_of(Role role);

/// What a variant is called, and what it shows.
struct Label {
    std::string name, note;
    Role role = Role::rung;
};

/// A figure by the time of a launch. The unit says how: "GB/s", "TFLOP/s", "GPt/s" (k, M, G, T: 1e3 to 1e12) is the
/// amount by second; "us/kernel" is the time of one, in microseconds, where a launch has `amount` of them.
struct Rate {
    std::string unit;
    double amount;  ///< bytes, operations, points, kernels in one launch

    double in(double milliseconds) const;
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
    /// Enqueues all of the work on the default stream, in one launch or several.
    std::function<void()> launch = {};
    std::function<Comparison()> check = {};  ///< compares what it last computed with the CPU reference
    std::function<void()> restore = {};      ///< for in-place work: fresh input, outside of the timed region
    std::function<uint64_t()> fingerprint =
        {};                        ///< the bits of the result, where they must be the same each time
    std::string cannot_run = {};   ///< why it is skipped here, or empty
    bool hidden = false;           ///< runs only where --variant names it
    int64_t steps = 1;             ///< how many times over it does the problem's work in one launch
    std::vector<Rate> rates = {};  ///< where they are not those of the problem
    /// What the last launch measured itself: one reading for each of Problem::columns, taken after each sample.
    std::function<std::vector<Reading>()> read = {};
    double working_set = 0;  ///< bytes that its repeated launches touch; 0: those of the problem
};

/// The median time of a variant in milliseconds, NaN where it has none.
using Medians = std::function<double(const std::string& variant)>;

/// What the variants of one run have in common. Program::problem() fills in the first line.
struct Problem {
    std::string family, program, type;
    OptionValues options;  ///< the problem's own options, in the order of --help
    std::string headline;  ///< the problem for a person, "8192 x 8192 float"
    std::vector<Rate>
        rates;               ///< what the algorithm must do, not what a kernel happens to do: {"GB/s", bytes}
    double working_set = 0;  ///< bytes that repeated launches touch; below 4 x L2 a result is marked
    std::string ceiling;     ///< the variant that stands for 100 %; "": none does
    std::vector<Column> columns;   ///< the figures that the variants measure themselves
    std::function<void()> poison;  ///< fills the output with 0xFF
    std::function<void(const std::string& name)> show = {};  ///< --print: the data after a variant ran

    // Where the GPU's memory is not the limit (an infinite working_set says so).
    /// Several variants, of which the slowest stands for 100 %; `ceiling` is its name then.
    std::vector<std::string> bound = {};
    bool host_clock = false;  ///< show the time by the host's clock too, beside that by the events
    /// The time that a variant should take by the family's model; NaN where the model does not speak of it.
    std::function<double(const Variant&, const Medians&)> model_ms = {};
    std::function<std::string(const Medians&)> remark = {};  ///< a line for below the table
};

/// wrong: its result or, under the simulator, a fault. failed: a CUDA error, an exception, a sample without a time.
/// not_run: an earlier variant left the GPU unusable. unchecked: --check none.
enum class Status { ok, wrong, failed, skipped, not_run, unchecked };
const char* name_of(Status status);

/// What became of a variant. Without a time, `times_ms` is empty.
struct Measurement {
    const Variant* variant = nullptr;
    Status status = Status::unchecked;
    std::string reason;
    Comparison comparison;
    std::optional<uint64_t> fingerprint;
    std::vector<double> times_ms;  ///< for one launch, by round
    std::vector<double> host_ms;   ///< the same by the host's clock, where the problem asks for it
    std::vector<std::vector<Reading>> readings;  ///< by round, then by column
    int batch = 0;                               ///< launches per sample
    std::optional<Counts> counts;
    std::string explanation;  ///< --explain: the counts of each source line

    bool is_timed() const { return status == Status::ok || status == Status::unchecked; }
    /// Takes all figures back.
    void fail(Status how, const std::string& why);
};

/// How a variant is run: on the GPU (gpu_runner), or in a test by a clock that ticks as told.
class Runner {
 public:
    virtual ~Runner() = default;
    /// One launch; waits for the default stream, and for that alone.
    virtual void run(const Variant& variant) = 0;
    /// The milliseconds that `batch` launches take together, from the default stream's start to its end.
    virtual double time(const Variant& variant, int batch) = 0;
    /// What the last time() took by the host's clock, from the first launch until the host knew that all was over.
    virtual double host_ms() const { return 0; }
    /// For how long the GPU went on working after the end of the last time(), in milliseconds: work that the events did
    /// not cover. A host that was slow to ask makes it longer, never shorter.
    virtual double uncovered_ms() const { return 0; }
    /// Can the GPU run anything more? Not after an illegal address, say.
    virtual bool is_usable() { return true; }
};

/// CUDA events on the default stream; with `cold`, the L2 cache is flushed before each sample. With `host_clock`
/// a sample starts on an idle GPU, so that the host's clock sees the launches and nothing from before.
std::unique_ptr<Runner> gpu_runner(bool cold, int64_t l2_bytes, bool host_clock = false);

/// Proves, warms up and times all variants as the rules of measuring say (README.md, "How it measures"): batches for
/// short launches, round-robin rounds so that ratios are paired; the samples of the last rounds are themselves checked.
/// A variant that fails ends alone.
std::vector<Measurement> run_variants(const Problem& problem, const std::vector<Variant>& variants,
                                      const Options& options, Runner& runner);
