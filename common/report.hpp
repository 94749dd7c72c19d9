// report.hpp: the table on the terminal, and the records as JSON Lines or CSV.
#pragma once
#include <string>
#include <vector>

#include "benchmark.hpp"
#include "device_info.hpp"

/// What is the same for all records of a run.
struct RunInfo {
    DeviceInfo device;
    std::string compiler, date, revision;
    uint64_t seed = 0;
    bool cold = false, simulated = false, times = false;
};

/// Compiler and revision of this build, the date now (UTC, ISO 8601).
RunInfo describe_run(const DeviceInfo& device, const Options& options);

/// A figure that the work measured itself: the median (or the sum) of its readings, and whether any of them
/// lies beyond what the hardware allows.
struct OwnFigure {
    Estimate value;
    bool beyond_limit;
};

/// What is published of one measurement. Figures that do not exist are NaN and become null, never 0.
struct Figures {
    Summary time_ms;
    double host_ms = NOT_KNOWN;  ///< median by the host's clock
    std::vector<double> rates;  ///< by the median time: one for each of Results::units, NaN where it has none
    double model_ms = NOT_KNOWN;     ///< what the family's model expects
    Estimate fraction_of_ceiling;    ///< paired by round; the ceiling's time is taken for each step
    Estimate speedup_over_baseline;  ///< paired by round
    bool l2_resident = false, above_peak = false;
    std::vector<OwnFigure> own;  ///< one for each of Problem::columns
};

/// A run and what it says. It refers to the problem and the measurements, and does not keep them.
struct Results {
    Results(const Problem& problem, const std::vector<Measurement>& measurements, const RunInfo& run);

    const Problem& problem;
    const std::vector<Measurement>& measurements;
    RunInfo run;
    std::vector<std::string> units;  ///< of the rates, those of the problem first
    std::vector<Figures> figures;    ///< one for each measurement; without times it has none
};

/// The table that a person reads, with what needs saying below it.
std::string table(const Results& results);

/// One JSON object per measurement and line (README.md, "Records").
std::string json_lines(const Results& results);

/// The same columns as CSV (RFC 4180), options of the problem and counts as JSON in their cells.
std::string csv(const std::string& json_lines);

/// A file to be written once, whole: what was there before stays until then, and no half of it is ever left. A link is
/// followed; an existing file keeps its mode. A pipe or a device is written as it is. A path that cannot be written is a
/// UsageError that names the option, at once, before any work is lost.
class OutputFile {
 public:
    OutputFile(const std::string& option, const std::string& path);
    ~OutputFile();
    OutputFile(const OutputFile&) = delete;
    OutputFile& operator=(const OutputFile&) = delete;

    void write(const std::string& text);
    /// The file itself, links followed.
    const std::string& name() const { return path; }

 private:
    std::string path, temporary;
};
