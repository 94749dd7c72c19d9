#include "report.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>

#include "revision.hpp"

namespace {

using json = nlohmann::ordered_json;

constexpr double NOT_KNOWN = std::numeric_limits<double>::quiet_NaN();
constexpr double L2_MULTIPLE = 4;  // a working set of less may be found in the cache again

json number(double value) {
    return std::isfinite(value) ? json(value) : json(nullptr);
}

bool has_times(const Measurement& m) {
    return !m.times_ms.empty();
}

const Measurement* find(const std::vector<Measurement>& all, const std::string& name) {
    for (const Measurement& m : all)
        if (m.variant->name == name && has_times(m)) return &m;
    return nullptr;
}

const Measurement* find(const std::vector<Measurement>& all, Role role) {
    for (const Measurement& m : all)
        if (m.variant->role == role && has_times(m)) return &m;
    return nullptr;
}

// The columns of text, each as wide as its widest cell.
std::string columns(const std::vector<std::vector<std::string>>& rows) {
    const auto width = [](const std::string& s) {  // code points: the dot of a mean and its ± counts once
        return static_cast<size_t>(
            std::count_if(s.begin(), s.end(), [](char c) { return (c & 0xC0) != 0x80; }));
    };
    std::vector<size_t> widths(rows[0].size(), 0);
    for (const auto& row : rows)
        for (size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], width(row[c]));
    std::string text;
    for (const auto& row : rows) {
        std::string line;
        for (size_t c = 0; c < row.size(); ++c) {
            const std::string pad(widths[c] - width(row[c]), ' ');
            line += (c ? "  " : "") + row[c] + pad;
        }
        text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
    }
    return text;
}

std::string check_cell(const Measurement& m) {
    if (m.status == Status::wrong) return "WRONG";
    return name_of(m.status);
}

std::string per_request(double count, double ideal) {
    return std::isfinite(count) ? fmt::format("{:.2f} ({:.2f})", count, ideal) : "-";
}

OwnFigure own_figure(const Measurement& m, const Column& kind, size_t column) {
    OwnFigure figure{{NOT_KNOWN, NOT_KNOWN, NOT_KNOWN}, false};
    std::vector<double> values;
    for (const std::vector<Reading>& round : m.readings) {
        const Reading& r = round.at(column);
        if (std::isnan(r.value)) continue;
        values.push_back(r.value);
        figure.beyond_limit |= !(r.value >= r.least && r.value <= r.most);
    }
    if (values.empty()) return figure;
    if (kind.adds_up)
        figure.value.value = std::accumulate(values.begin(), values.end(), 0.0);
    else
        figure.value = estimate_median(values);
    return figure;
}

// Whole numbers that never change are counts, and shown as such.
std::string own_cell(const OwnFigure& figure) {
    const Estimate& e = figure.value;
    if (!std::isfinite(e.value)) return "-";
    const bool count = e.value == std::floor(e.value) && !(e.low < e.high);
    std::string cell = fmt::format("{:.{}f}", e.value, count || e.value >= 1000 ? 0 : 2);
    if (e.low < e.high) cell += fmt::format(" ± {:.2f}", (e.high - e.low) / 2);
    return figure.beyond_limit ? cell + " >limit" : cell;
}

}  // namespace

RunInfo describe_run(const DeviceInfo& device, const Options& options) {
    RunInfo run;
    run.device = device;
    run.compiler = LADDER_COMPILER;
    run.revision = LADDER_REVISION;
    run.date = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
    run.seed = options.seed;
    run.cold = options.cold;
    run.simulated = simulated();
    return run;
}

std::vector<Figures> figures_of(const Problem& problem, const std::vector<Measurement>& measurements,
                                const RunInfo& run) {
    const Measurement* ceiling = find(measurements, problem.ceiling);
    const Measurement* peer = find(measurements, Role::peer);
    std::vector<Figures> all;
    for (const Measurement& m : measurements) {
        Figures f{summarize(m.times_ms),
                  NOT_KNOWN,
                  NOT_KNOWN,
                  NOT_KNOWN,
                  {NOT_KNOWN, NOT_KNOWN, NOT_KNOWN},
                  {NOT_KNOWN, NOT_KNOWN, NOT_KNOWN},
                  false,
                  false,
                  {}};
        for (size_t c = 0; c < problem.columns.size(); ++c)
            f.own.push_back(own_figure(m, problem.columns[c], c));
        if (has_times(m)) {
            const double seconds = f.time_ms.median / 1e3;
            if (problem.bytes > 0) f.gbps = problem.bytes / seconds / 1e9;
            if (problem.flops > 0) f.tflops = problem.flops / seconds / 1e12;
            const double steps = static_cast<double>(m.variant->steps);
            if (problem.updates > 0) f.gpts = steps * problem.updates / seconds / 1e9;
            if (ceiling) {
                std::vector<double> ceiling_ms = ceiling->times_ms;
                for (double& ms : ceiling_ms) ms *= steps / static_cast<double>(ceiling->variant->steps);
                f.fraction_of_ceiling = estimate_ratio(ceiling_ms, m.times_ms);
            }
            if (peer && m.variant->role == Role::rung)
                f.speedup_over_peer = estimate_ratio(peer->times_ms, m.times_ms);
            const double working_set =
                m.variant->working_set > 0 ? m.variant->working_set : problem.working_set;
            f.l2_resident = !run.cold && working_set < L2_MULTIPLE * static_cast<double>(run.device.l2_bytes);
            f.above_peak = run.device.peak_bandwidth && f.gbps * 1e9 > *run.device.peak_bandwidth;
        }
        all.push_back(f);
    }
    return all;
}

std::string table(const Problem& problem, const std::vector<Measurement>& measurements,
                  const std::vector<Figures>& figures, const RunInfo& run) {
    const DeviceInfo& d = run.device;
    std::string text = fmt::format("{}/{}   {}   ", problem.family, problem.program, problem.headline);
    text += run.simulated ? "simulated on the CPU: counts, no times\n"
                          : fmt::format("{}, sm_{}{}, {} SMs, CUDA {}\n", d.name, d.major, d.minor,
                                        d.multiprocessors, d.runtime);

    std::vector<std::vector<std::string>> rows;
    const bool flops = problem.flops > 0, updates = problem.updates > 0, rates = flops || problem.bytes > 0;
    const bool steps = std::any_of(measurements.begin(), measurements.end(),
                                   [](const Measurement& m) { return m.variant->steps > 1; });
    if (run.simulated)
        rows.push_back({"variant", "what it shows", "shared load", "shared store", "global load",
                        "global store", "divergent", "check"});
    else {
        rows.push_back({"variant", "what it shows", "time (ms)", "median"});
        if (rates) rows[0].push_back(flops ? "TFLOP/s" : "GB/s");
        if (updates) rows[0].push_back("GPt/s");
        if (steps) rows[0].push_back("steps");
        if (!problem.ceiling.empty()) rows[0].push_back("of " + problem.ceiling);
        for (const Column& c : problem.columns)
            rows[0].push_back(c.unit.empty() ? c.name : fmt::format("{} ({})", c.name, c.unit));
        rows[0].push_back("check");
    }
    std::string notes;
    bool any_l2 = false, any_above = false, any_beyond = false;
    for (size_t i = 0; i < measurements.size(); ++i) {
        const Measurement& m = measurements[i];
        const Figures& f = figures[i];
        std::vector<std::string> row = {m.variant->name, m.variant->note};
        if (run.simulated) {
            if (m.counts && m.status != Status::wrong)
                for (const std::string& cell :
                     {per_request(m.counts->shared_load_wavefronts, m.counts->shared_load_ideal),
                      per_request(m.counts->shared_store_wavefronts, m.counts->shared_store_ideal),
                      per_request(m.counts->global_load_sectors, m.counts->global_load_ideal),
                      per_request(m.counts->global_store_sectors, m.counts->global_store_ideal),
                      fmt::format("{} of {}", m.counts->divergent_branches, m.counts->branches)})
                    row.push_back(cell);
            else
                row.insert(row.end(), 5, "-");
        } else if (has_times(m)) {
            row.push_back(fmt::format("{:.4f} ± {:.4f}", f.time_ms.mean, f.time_ms.stddev));
            row.push_back(fmt::format("{:.4f}", f.time_ms.median));
            std::string rate = flops ? fmt::format("{:.2f}", f.tflops) : fmt::format("{:.0f}", f.gbps);
            if (f.l2_resident) rate += " L2";
            if (f.above_peak) rate += " >peak";
            if (rates) {
                any_l2 |= f.l2_resident;
                any_above |= f.above_peak;
                row.push_back(rate);
            }
            if (updates) row.push_back(fmt::format("{:.1f}", f.gpts));
            if (steps) row.push_back(fmt::format("{}", m.variant->steps));
            const Estimate& e = f.fraction_of_ceiling;
            if (!problem.ceiling.empty())
                row.push_back(!std::isfinite(e.value) ? "-"
                              : !std::isfinite(e.high)
                                  ? fmt::format("{:.1f} %", 100 * e.value)
                                  : fmt::format("{:.1f} ± {:.1f} %", 100 * e.value, 50 * (e.high - e.low)));
            for (const OwnFigure& own : f.own) {
                any_beyond |= own.beyond_limit;
                row.push_back(own_cell(own));
            }
        } else {
            row.push_back(m.status == Status::wrong ? "WRONG" : "-");
            row.resize(rows[0].size() - 1, "-");
        }
        row.push_back(check_cell(m));
        rows.push_back(row);
        if (!m.reason.empty()) notes += fmt::format("{}: {}: {}\n", m.variant->name, check_cell(m), m.reason);
        const Estimate& s = f.speedup_over_peer;
        if (std::isfinite(s.low)) {
            const char* verdict = s.low > 1    ? "faster than"
                                  : s.high < 1 ? "slower than"
                                               : "no different from";
            notes +=
                fmt::format("{} is {} {}: {:.3f} times its speed (95 %: {:.3f} to {:.3f})\n", m.variant->name,
                            verdict, find(measurements, Role::peer)->variant->name, s.value, s.low, s.high);
        }
    }
    text += columns(rows);
    if (run.simulated)
        text +=
            "shared: wavefronts a request, global: 32-byte sectors a request (ideal in parentheses); "
            "divergent: branches\n";
    if (any_l2) text += "L2: the data may be found in the cache again (--cold flushes it)\n";
    if (any_above) text += ">peak: above the theoretical bandwidth of the memory, so not from memory\n";
    if (any_beyond) text += ">limit: beyond what the hardware can do, so not what it is meant to be\n";
    if (!run.simulated && steps)
        text += fmt::format(
            "steps: in one launch; each is held against a {} of its own, the bound of what does one at a "
            "time\n",
            problem.ceiling);
    if (!run.simulated && rates && !flops && d.peak_bandwidth)
        text += fmt::format("theoretical peak of the memory: {:.0f} GB/s\n", *d.peak_bandwidth / 1e9);
    return text + notes;
}

std::string json_lines(const Problem& problem, const std::vector<Measurement>& measurements,
                       const std::vector<Figures>& figures, const RunInfo& run) {
    std::string text;
    for (size_t i = 0; i < measurements.size(); ++i) {
        const Measurement& m = measurements[i];
        const Figures& f = figures[i];
        const bool compared =
            m.status == Status::ok || (m.status == Status::wrong && m.comparison.compared > 0);
        json sizes = json::object();
        for (const auto& [name, value] : problem.sizes) sizes[name] = value;
        for (const auto& [name, value] : problem.choices) sizes[name] = value;
        json counts;
        if (m.counts && m.status != Status::wrong) {
            const Counts& c = *m.counts;
            counts = {{"shared_load_wavefronts", number(c.shared_load_wavefronts)},
                      {"shared_load_ideal", number(c.shared_load_ideal)},
                      {"shared_store_wavefronts", number(c.shared_store_wavefronts)},
                      {"shared_store_ideal", number(c.shared_store_ideal)},
                      {"global_load_sectors", number(c.global_load_sectors)},
                      {"global_load_ideal", number(c.global_load_ideal)},
                      {"global_store_sectors", number(c.global_store_sectors)},
                      {"global_store_ideal", number(c.global_store_ideal)},
                      {"branches", c.branches},
                      {"divergent_branches", c.divergent_branches}};
        }
        json own = nullptr;
        for (size_t c = 0; c < problem.columns.size(); ++c) {
            const OwnFigure& figure = f.own[c];
            own[problem.columns[c].name] = {
                {"unit", problem.columns[c].unit},
                {"value", number(figure.value.value)},
                {"low", number(figure.value.low)},
                {"high", number(figure.value.high)},
                {"beyond_limit", has_times(m) ? json(figure.beyond_limit) : json(nullptr)}};
        }
        const json record = {
            {"family", problem.family},
            {"program", problem.program},
            {"variant", m.variant->name},
            {"role", name_of(m.variant->role)},
            {"note", m.variant->note},
            {"problem", sizes},
            {"headline", problem.headline},
            {"type", problem.type},
            {"status", name_of(m.status)},
            {"reason", m.reason.empty() ? json(nullptr) : json(m.reason)},
            {"worst_error", compared ? number(m.comparison.worst_error) : json(nullptr)},
            {"tolerance", compared ? number(m.comparison.tolerance) : json(nullptr)},
            {"time_ms_mean", number(f.time_ms.mean)},
            {"time_ms_stddev", number(f.time_ms.stddev)},
            {"time_ms_median", number(f.time_ms.median)},
            {"time_ms_min", number(f.time_ms.min)},
            {"time_ms_max", number(f.time_ms.max)},
            {"samples", has_times(m) ? json(f.time_ms.samples) : json(nullptr)},
            {"batch", has_times(m) ? json(m.batch) : json(nullptr)},
            {"bytes", problem.bytes > 0 ? json(problem.bytes) : json(nullptr)},
            {"flops", problem.flops > 0 ? json(problem.flops) : json(nullptr)},
            {"gbps", number(f.gbps)},
            {"tflops", number(f.tflops)},
            {"updates", problem.updates > 0 ? json(problem.updates) : json(nullptr)},
            {"steps", m.variant->steps},
            {"gpts", number(f.gpts)},
            {"ceiling", problem.ceiling.empty() ? json(nullptr) : json(problem.ceiling)},
            {"fraction_of_ceiling", number(f.fraction_of_ceiling.value)},
            {"fraction_low", number(f.fraction_of_ceiling.low)},
            {"fraction_high", number(f.fraction_of_ceiling.high)},
            {"speedup_over_peer", number(f.speedup_over_peer.value)},
            {"speedup_low", number(f.speedup_over_peer.low)},
            {"speedup_high", number(f.speedup_over_peer.high)},
            {"l2_resident", has_times(m) ? json(f.l2_resident) : json(nullptr)},
            {"above_peak", has_times(m) ? json(f.above_peak) : json(nullptr)},
            {"cold", run.cold},
            {"counts", counts},
            {"figures", own},
            {"gpu", run.device.name},
            {"compute_capability", fmt::format("{}.{}", run.device.major, run.device.minor)},
            {"peak_gbps", number(run.device.peak_bandwidth.value_or(NOT_KNOWN) / 1e9)},
            {"driver", run.device.driver},
            {"runtime", run.device.runtime},
            {"compiler", run.compiler},
            {"seed", run.seed},
            {"date", run.date},
            {"revision", run.revision},
            {"simulated", run.simulated},
        };
        text += record.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
    }
    return text;
}

std::string csv(const std::string& lines) {
    const auto quoted = [](const std::string& s) {
        if (s.find_first_of(",\"\n\r") == std::string::npos) return s;
        std::string q = "\"";
        for (char c : s) q += c == '"' ? std::string("\"\"") : std::string(1, c);
        return q + "\"";
    };
    std::string header, text;
    std::istringstream in(lines);
    for (std::string line; std::getline(in, line);) {
        const json record = json::parse(line);
        std::string names, cells;
        for (const auto& [key, value] : record.items()) {
            names += (names.empty() ? "" : ",") + quoted(key);
            const std::string cell = value.is_null()     ? ""
                                     : value.is_string() ? value.get<std::string>()
                                                         : value.dump();
            cells += (cells.empty() ? "" : ",") + quoted(cell);
        }
        header = names;
        text += cells + "\n";
    }
    return header.empty() ? "" : header + "\n" + text;
}

OutputFile::OutputFile(const std::string& option, const std::string& wanted) : path(wanted) {
    // Only a regular file is replaced whole; a pipe or /dev/stdout is written as it is.
    namespace fs = std::filesystem;
    const bool special = fs::exists(path) && !fs::is_regular_file(path);
    temporary = special ? path : path + ".part";
    if (fs::is_directory(path) || !std::ofstream(temporary))
        throw UsageError(fmt::format("{}: cannot write {}", option, path));
}

OutputFile::~OutputFile() {
    if (temporary != path) std::remove(temporary.c_str());
}

void OutputFile::write(const std::string& text) {
    std::ofstream out(temporary);
    out << text << std::flush;
    if (!out) throw std::runtime_error("cannot write " + temporary);
    out.close();
    if (temporary != path) std::filesystem::rename(temporary, path);
}
