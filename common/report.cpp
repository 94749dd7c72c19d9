#include "report.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>

#if __has_include("revision.hpp")
#include "revision.hpp"
#else  // built by a line of nvcc, without CMake
#define LADDER_REVISION "unknown"
#define LADDER_COMPILER "unknown"
#endif

namespace {

using json = nlohmann::ordered_json;

constexpr double L2_MULTIPLE = 4;  // a working set of less may be found in the cache again

json number(double value) {
    return std::isfinite(value) ? json(value) : json(nullptr);
}

bool has_times(const Measurement& m) {
    return !m.times_ms.empty();
}

double bytes_of(const Problem& problem, const Measurement& m) {
    return m.variant->bytes > 0 ? m.variant->bytes : problem.bytes;
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

// The ceiling's time in each round: that of one variant, or of the slowest of several; empty where one is missing.
std::vector<double> ceiling_times(const Problem& problem, const std::vector<Measurement>& all) {
    std::vector<std::string> names = problem.bound;
    if (names.empty()) names = {problem.ceiling};
    std::vector<double> times;
    for (const std::string& name : names) {
        const Measurement* m = find(all, name);
        if (!m) return {};
        if (times.empty()) times = m->times_ms;
        for (size_t i = 0; i < times.size(); ++i) times[i] = std::max(times[i], m->times_ms[i]);
    }
    return times;
}

Medians medians_of(const std::vector<Measurement>& all) {
    return [&all](const std::string& name) {
        const Measurement* m = find(all, name);
        return m ? summarize(m->times_ms).median : NOT_KNOWN;
    };
}

// The columns of text, each as wide as its widest cell.
std::string in_columns(const std::vector<std::vector<std::string>>& rows) {
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

template <typename Test>
bool any(const std::vector<Figures>& figures, const Test& test) {
    return std::any_of(figures.begin(), figures.end(), test);
}

bool has_rate(const Problem& problem) {
    return problem.flops > 0 || problem.items > 0 || problem.bytes > 0;
}

bool beyond_limit(const Figures& f) {
    return std::any_of(f.own.begin(), f.own.end(), [](const OwnFigure& own) { return own.beyond_limit; });
}

bool any_steps(const std::vector<Measurement>& measurements) {
    return std::any_of(measurements.begin(), measurements.end(),
                       [](const Measurement& m) { return m.variant->steps > 1; });
}

OwnFigure own_figure(const Measurement& m, const Column& kind, size_t column) {
    OwnFigure figure{};
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
    const std::vector<double> ceiling = ceiling_times(problem, measurements);
    const Measurement* peer = find(measurements, Role::peer);
    std::vector<Figures> all;
    for (const Measurement& m : measurements) {
        Figures f;
        f.time_ms = summarize(m.times_ms);
        for (size_t c = 0; c < problem.columns.size(); ++c)
            f.own.push_back(own_figure(m, problem.columns[c], c));
        if (has_times(m)) {
            const double seconds = f.time_ms.median / 1e3, bytes = bytes_of(problem, m);
            const double steps = static_cast<double>(m.variant->steps);
            f.host_ms = summarize(m.host_ms).median;
            if (bytes > 0) f.gbps = bytes / seconds / 1e9;
            if (problem.flops > 0) f.tflops = problem.flops / seconds / 1e12;
            if (problem.updates > 0) f.gpts = steps * problem.updates / seconds / 1e9;
            if (problem.items > 0) f.us_per_item = seconds * 1e6 / problem.items;
            if (problem.model_ms) f.model_ms = problem.model_ms(*m.variant, medians_of(measurements));
            if (!ceiling.empty()) {
                std::vector<double> ceiling_of_steps = ceiling;
                for (double& ms : ceiling_of_steps) ms *= steps;
                f.fraction_of_ceiling = estimate_ratio(ceiling_of_steps, m.times_ms);
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

namespace {

// A column between a variant's note and its check, for those that have figures.
struct TableColumn {
    std::string title;
    std::function<std::string(const Measurement&, const Figures&)> cell;
};

std::vector<TableColumn> columns_of_times(const Problem& problem,
                                          const std::vector<Measurement>& measurements,
                                          const std::vector<Figures>& figures) {
    const auto mean = [](auto&, const Figures& f) {
        return fmt::format("{:.4f} ± {:.4f}", f.time_ms.mean, f.time_ms.stddev);
    };
    const auto median = [](auto&, const Figures& f) { return fmt::format("{:.4f}", f.time_ms.median); };
    const auto host = [](auto&, const Figures& f) { return fmt::format("{:.4f}", f.host_ms); };
    const auto rate = [&problem](auto&, const Figures& f) {
        return (problem.flops > 0   ? fmt::format("{:.2f}", f.tflops)
                : problem.items > 0 ? fmt::format("{:.3f}", f.us_per_item)
                                    : fmt::format("{:.{}f}", f.gbps, f.gbps < 100 ? 1 : 0)) +
               (f.l2_resident ? " L2" : "") + (f.above_peak ? " >peak" : "");
    };
    const auto updates = [](auto&, const Figures& f) { return fmt::format("{:.1f}", f.gpts); };
    const auto steps = [](const Measurement& m, auto&) { return std::to_string(m.variant->steps); };
    const auto fraction = [](auto&, const Figures& f) {
        const Estimate& e = f.fraction_of_ceiling;
        if (!std::isfinite(e.value)) return std::string("-");
        if (!std::isfinite(e.high)) return fmt::format("{:.1f} %", 100 * e.value);
        return fmt::format("{:.1f} ± {:.1f} %", 100 * e.value, 50 * (e.high - e.low));
    };
    const auto model = [](auto&, const Figures& f) {
        return std::isfinite(f.model_ms) ? fmt::format("{:.1f} %", 100 * f.model_ms / f.time_ms.median)
                                         : std::string("-");
    };

    std::vector<TableColumn> columns = {{"time (ms)", mean}, {"median", median}};
    if (problem.host_clock) columns.push_back({"by host", host});
    if (has_rate(problem))
        columns.push_back({problem.flops > 0   ? "TFLOP/s"
                           : problem.items > 0 ? "us/" + problem.item
                                               : "GB/s",
                           rate});
    if (problem.updates > 0) columns.push_back({"GPt/s", updates});
    if (any_steps(measurements)) columns.push_back({"steps", steps});
    if (!problem.ceiling.empty()) columns.push_back({"of " + problem.ceiling, fraction});
    if (any(figures, [](const Figures& f) { return std::isfinite(f.model_ms); }))
        columns.push_back({"of model", model});
    for (size_t c = 0; c < problem.columns.size(); ++c) {
        const Column& own = problem.columns[c];
        columns.push_back({own.unit.empty() ? own.name : fmt::format("{} ({})", own.name, own.unit),
                           [c](auto&, const Figures& f) { return own_cell(f.own[c]); }});
    }
    return columns;
}

std::vector<TableColumn> columns_of_counts() {
    std::vector<TableColumn> columns;
    for (int k = 0; k < 4; ++k) {
        std::string title = LADDER_SIMULATOR_TRAFFIC[k].name;
        std::replace(title.begin(), title.end(), '_', ' ');
        columns.push_back({title, [k](const Measurement& m, auto&) {
                               const LadderSimulatorTraffic& t = m.counts->traffic[k];
                               return t.requests
                                          ? fmt::format("{:.2f} ({:.2f})", per_request(t.units, t.requests),
                                                        per_request(t.ideal, t.requests))
                                          : "-";
                           }});
    }
    columns.push_back({"divergent", [](const Measurement& m, auto&) {
                           return fmt::format("{} of {}", m.counts->divergent_branches, m.counts->branches);
                       }});
    return columns;
}

}  // namespace

std::string table(const Problem& problem, const std::vector<Measurement>& measurements,
                  const std::vector<Figures>& figures, const RunInfo& run) {
    const DeviceInfo& d = run.device;
    std::string text = fmt::format("{}/{}   {}   ", problem.family, problem.program, problem.headline);
    text += run.simulated ? "simulated on the CPU: counts, no times\n"
                          : fmt::format("{}, sm_{}{}, {} SMs, CUDA {}\n", d.name, d.major, d.minor,
                                        d.multiprocessors, d.runtime);

    const std::vector<TableColumn> columns =
        run.simulated ? columns_of_counts() : columns_of_times(problem, measurements, figures);
    std::vector<std::vector<std::string>> rows = {{"variant", "what it shows"}};
    for (const TableColumn& column : columns) rows[0].push_back(column.title);
    rows[0].push_back("check");
    std::string notes;
    for (size_t i = 0; i < measurements.size(); ++i) {
        const Measurement& m = measurements[i];
        const Figures& f = figures[i];
        std::vector<std::string> row = {m.variant->name, m.variant->note};
        if (run.simulated ? m.counts && m.status != Status::wrong : has_times(m))
            for (const TableColumn& column : columns) row.push_back(column.cell(m, f));
        else if (!run.simulated)
            row.push_back(m.status == Status::wrong ? "WRONG" : "-");
        row.resize(rows[0].size() - 1, "-");
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
    text += in_columns(rows);
    if (run.simulated)
        return text +
               "shared: wavefronts a request, global: 32-byte sectors a request (ideal in parentheses); "
               "divergent: branches\n" +
               notes;
    if (has_rate(problem) && any(figures, [](const Figures& f) { return f.l2_resident; }))
        text += "L2: the data may be found in the cache again (--cold flushes it)\n";
    if (any(figures, [](const Figures& f) { return f.above_peak; }))
        text += ">peak: above the theoretical bandwidth of the memory, so not from memory\n";
    if (any(figures, [](const Figures& f) { return beyond_limit(f); }))
        text += ">limit: beyond what the hardware can do, so not what it is meant to be\n";
    if (any_steps(measurements))
        text += fmt::format(
            "steps: in one launch; 100 % is as many times a {}, the bound of one step at a time\n",
            problem.ceiling);
    if (d.peak_bandwidth && has_rate(problem) && problem.flops == 0 && std::isfinite(problem.working_set))
        text += fmt::format("theoretical peak of the memory: {:.0f} GB/s\n", *d.peak_bandwidth / 1e9);
    if (problem.remark) notes += problem.remark(medians_of(measurements));
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
        for (const auto& [name, value] : problem.reals) sizes[name] = value;
        for (const auto& [name, value] : problem.choices) sizes[name] = value;
        json counts;
        if (m.counts && m.status != Status::wrong) {
            for (int k = 0; k < 4; ++k) {
                const LadderSimulatorTraffic& t = m.counts->traffic[k];
                const std::string name = LADDER_SIMULATOR_TRAFFIC[k].name;
                counts[name + "_" + LADDER_SIMULATOR_TRAFFIC[k].unit] =
                    number(per_request(t.units, t.requests));
                counts[name + "_ideal"] = number(per_request(t.ideal, t.requests));
            }
            counts["branches"] = m.counts->branches;
            counts["divergent_branches"] = m.counts->divergent_branches;
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
            {"host_time_ms_median", number(f.host_ms)},
            {"bytes", bytes_of(problem, m) > 0 ? json(bytes_of(problem, m)) : json(nullptr)},
            {"flops", problem.flops > 0 ? json(problem.flops) : json(nullptr)},
            {"gbps", number(f.gbps)},
            {"tflops", number(f.tflops)},
            {"updates", problem.updates > 0 ? json(problem.updates) : json(nullptr)},
            {"steps", m.variant->steps},
            {"gpts", number(f.gpts)},
            {"items", problem.items > 0 ? json(problem.items) : json(nullptr)},
            {"item", problem.items > 0 ? json(problem.item) : json(nullptr)},
            {"us_per_item", number(f.us_per_item)},
            {"model_ms", number(f.model_ms)},
            {"fraction_of_model", number(f.model_ms / f.time_ms.median)},
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
