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
    bool cold = false, simulated = false;
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
    double host_ms = NOT_KNOWN;      ///< median by the host's clock
    double gbps = NOT_KNOWN;         ///< 1e9 bytes per second, by the median time
    double tflops = NOT_KNOWN;       ///< 1e12 operations per second
    double gpts = NOT_KNOWN;         ///< 1e9 updates per second, those of all steps
    double us_per_item = NOT_KNOWN;  ///< of the problem's items
    double model_ms = NOT_KNOWN;     ///< what the family's model expects
    Estimate fraction_of_ceiling;    ///< paired by round; the ceiling's time is taken for each step
    Estimate speedup_over_peer;      ///< paired by round
    bool l2_resident = false, above_peak = false;
    std::vector<OwnFigure> own;  ///< one for each of Problem::columns
};

/// The figures of all measurements of a run. A measurement without times has none.
std::vector<Figures> figures_of(const Problem& problem, const std::vector<Measurement>& measurements,
                                const RunInfo& run);

/// The table that a person reads, with what needs saying below it.
std::string table(const Problem& problem, const std::vector<Measurement>& measurements,
                  const std::vector<Figures>& figures, const RunInfo& run);

/// One JSON object per measurement and line.
std::string json_lines(const Problem& problem, const std::vector<Measurement>& measurements,
                       const std::vector<Figures>& figures, const RunInfo& run);

/// The same columns as CSV (RFC 4180), sizes of the problem and counts as JSON in their cells.
std::string csv(const std::string& json_lines);

/// A file to be written once, whole: what was there before stays until then. A path that cannot be written is
/// a UsageError at once, before any work is lost.
class OutputFile {
 public:
    OutputFile(const std::string& option, const std::string& path);
    ~OutputFile();
    OutputFile(const OutputFile&) = delete;
    OutputFile& operator=(const OutputFile&) = delete;

    void write(const std::string& text);

 private:
    std::string path, temporary;
};
