#include "report.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstring>
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

const std::vector<Rate>& rates_of(const Problem& problem, const Measurement& m) {
    return m.variant->rates.empty() ? problem.rates : m.variant->rates;
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
    if (m.status == Status::failed) return "FAILED";
    return name_of(m.status);
}

template <typename Test>
bool any(const std::vector<Figures>& figures, const Test& test) {
    return std::any_of(figures.begin(), figures.end(), test);
}

bool beyond_limit(const Figures& f) {
    return std::any_of(f.own.begin(), f.own.end(), [](const OwnFigure& own) { return own.beyond_limit; });
}

bool any_steps(const std::vector<Measurement>& measurements) {
    return std::any_of(measurements.begin(), measurements.end(),
                       [](const Measurement& m) { return m.variant->steps > 1; });
}

// Four digits that count: 3708, 50.94, 0.9812.
std::string rate_cell(double value) {
    if (!std::isfinite(value)) return "-";
    const int before = value < 1 ? 1 : static_cast<int>(std::log10(value)) + 1;
    return fmt::format("{:.{}f}", value, std::max(0, 4 - before));
}

bool is_bandwidth(const std::string& unit) {
    return unit == "GB/s";
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
    run.times = options.times;
    return run;
}

Results::Results(const Problem& the_problem, const std::vector<Measurement>& all, const RunInfo& the_run)
    : problem(the_problem), measurements(all), run(the_run) {
    for (const Rate& rate : problem.rates) units.push_back(rate.unit);
    for (const Measurement& m : measurements)
        for (const Rate& rate : m.variant->rates)
            if (std::find(units.begin(), units.end(), rate.unit) == units.end()) units.push_back(rate.unit);

    const std::vector<double> ceiling = ceiling_times(problem, measurements);
    const Measurement* baseline = find(measurements, Role::baseline);
    for (const Measurement& m : measurements) {
        Figures f;
        f.time_ms = summarize(m.times_ms);
        f.rates.assign(units.size(), NOT_KNOWN);
        for (size_t c = 0; c < problem.columns.size(); ++c)
            f.own.push_back(own_figure(m, problem.columns[c], c));
        if (has_times(m)) {
            f.host_ms = summarize(m.host_ms).median;
            for (const Rate& rate : rates_of(problem, m)) {
                const double value = rate.amount > 0 ? rate.in(f.time_ms.median) : NOT_KNOWN;
                f.rates[std::find(units.begin(), units.end(), rate.unit) - units.begin()] = value;
                if (is_bandwidth(rate.unit))
                    f.above_peak = run.device.peak_bandwidth && value * 1e9 > *run.device.peak_bandwidth;
            }
            if (problem.model_ms) f.model_ms = problem.model_ms(*m.variant, medians_of(measurements));
            if (!ceiling.empty()) {
                std::vector<double> ceiling_of_steps = ceiling;
                for (double& ms : ceiling_of_steps) ms *= static_cast<double>(m.variant->steps);
                f.fraction_of_ceiling = estimate_ratio(ceiling_of_steps, m.times_ms);
            }
            if (baseline && m.variant->role == Role::rung)
                f.speedup_over_baseline = estimate_ratio(baseline->times_ms, m.times_ms);
            const double working_set =
                m.variant->working_set > 0 ? m.variant->working_set : problem.working_set;
            f.l2_resident = !run.cold && working_set < L2_MULTIPLE * static_cast<double>(run.device.l2_bytes);
        }
        figures.push_back(f);
    }
}

namespace {

// A column between a variant's note and its check, for those that have figures.
struct TableColumn {
    std::string title;
    std::function<std::string(const Measurement&, const Figures&)> cell;
};

std::vector<TableColumn> columns_of_times(const Results& results) {
    const Problem& problem = results.problem;
    const auto mean = [](auto&, const Figures& f) {
        return std::isfinite(f.time_ms.stddev)
                   ? fmt::format("{:.4f} ± {:.4f}", f.time_ms.mean, f.time_ms.stddev)
                   : fmt::format("{:.4f}", f.time_ms.mean);
    };
    const auto median = [](auto&, const Figures& f) { return fmt::format("{:.4f}", f.time_ms.median); };
    const auto host = [](auto&, const Figures& f) { return fmt::format("{:.4f}", f.host_ms); };
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
    for (size_t u = 0; u < results.units.size(); ++u)
        columns.push_back(
            {results.units[u], [u, bandwidth = is_bandwidth(results.units[u])](auto&, const Figures& f) {
                 return rate_cell(f.rates[u]) + (u == 0 && f.l2_resident ? " L2" : "") +
                        (bandwidth && f.above_peak ? " >peak" : "");
             }});
    if (any_steps(results.measurements)) columns.push_back({"steps", steps});
    if (!problem.ceiling.empty()) columns.push_back({"of " + problem.ceiling, fraction});
    if (any(results.figures, [](const Figures& f) { return std::isfinite(f.model_ms); }))
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

std::string table(const Results& results) {
    const auto& [problem, measurements, run, units, figures] = results;
    const DeviceInfo& d = run.device;
    std::string text = fmt::format("{}/{}   {}   ", problem.family, problem.program, problem.headline);
    text += run.simulated ? "simulated on the CPU: counts, no times\n"
                          : fmt::format("{}, sm_{}{}, {} SMs, CUDA {}\n", d.name, d.major, d.minor,
                                        d.multiprocessors, d.runtime);

    const std::vector<TableColumn> columns = run.simulated ? columns_of_counts() : columns_of_times(results);
    std::vector<std::vector<std::string>> rows = {{"variant", "what it shows"}};
    for (const TableColumn& column : columns) rows[0].push_back(column.title);
    rows[0].push_back("check");
    std::string notes;
    for (size_t i = 0; i < measurements.size(); ++i) {
        const Measurement& m = measurements[i];
        const Figures& f = figures[i];
        std::vector<std::string> row = {m.variant->name, m.variant->note};
        if (run.simulated ? m.counts.has_value() : has_times(m))
            for (const TableColumn& column : columns) row.push_back(column.cell(m, f));
        else if (!run.simulated)
            row.push_back(m.status == Status::skipped || m.status == Status::not_run ? "-" : check_cell(m));
        row.resize(rows[0].size() - 1, "-");
        row.push_back(check_cell(m));
        rows.push_back(row);
        if (!m.reason.empty()) notes += fmt::format("{}: {}: {}\n", m.variant->name, check_cell(m), m.reason);
        const Estimate& s = f.speedup_over_baseline;
        if (std::isfinite(s.low)) {
            const char* verdict = s.low > 1    ? "faster than"
                                  : s.high < 1 ? "slower than"
                                               : "no different from";
            notes += fmt::format("{} is {} {}: {:.3f} times its speed (95 %: {:.3f} to {:.3f})\n",
                                 m.variant->name, verdict, find(measurements, Role::baseline)->variant->name,
                                 s.value, s.low, s.high);
        }
    }
    text += in_columns(rows);
    if (run.simulated)
        return text +
               "shared: wavefronts a request, global: 32-byte sectors a request (ideal in parentheses); "
               "divergent: branches\n" +
               notes;
    if (!units.empty() && any(figures, [](const Figures& f) { return f.l2_resident; }))
        text += "L2: the data may be found in the cache again (--cold flushes it)\n";
    if (any(figures, [](const Figures& f) { return f.above_peak; }))
        text += ">peak: above the theoretical bandwidth of the memory, so not from memory\n";
    if (any(figures, [](const Figures& f) { return beyond_limit(f); }))
        text += ">limit: beyond what the hardware can do, so not what it is meant to be\n";
    if (any_steps(measurements))
        text += fmt::format(
            "steps: in one launch; 100 % is as many times a {}, the bound of one step at a time\n",
            problem.ceiling);
    if (d.peak_bandwidth && !units.empty() && is_bandwidth(units[0]) && std::isfinite(problem.working_set))
        text += fmt::format("theoretical peak of the memory: {:.0f} GB/s\n", *d.peak_bandwidth / 1e9);
    if (run.times)
        for (const Measurement& m : measurements)
            if (has_times(m))
                text += fmt::format("{} (ms): {:.4f}\n", m.variant->name, fmt::join(m.times_ms, " "));
    if (problem.remark) notes += problem.remark(medians_of(measurements));
    return text + notes;
}

std::string json_lines(const Results& results) {
    const auto& [problem, measurements, run, units, figures] = results;
    std::string text;
    for (size_t i = 0; i < measurements.size(); ++i) {
        const Measurement& m = measurements[i];
        const Figures& f = figures[i];
        const bool compared =
            m.status == Status::ok || (m.status == Status::wrong && m.comparison.compared > 0);
        json sizes = json::object();
        for (const auto& option : problem.options)
            std::visit([&](const auto& value) { sizes[option.first] = value; }, option.second);
        json rates = json::object();
        for (size_t u = 0; u < units.size(); ++u) rates[units[u]] = number(f.rates[u]);
        json counts;
        if (m.counts) {
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
            {"times_ms", run.times && has_times(m) ? json(m.times_ms) : json(nullptr)},
            {"host_time_ms_median", number(f.host_ms)},
            {"rates", rates},
            {"steps", m.variant->steps},
            {"model_ms", number(f.model_ms)},
            {"fraction_of_model", number(f.model_ms / f.time_ms.median)},
            {"ceiling", problem.ceiling.empty() ? json(nullptr) : json(problem.ceiling)},
            {"fraction_of_ceiling", number(f.fraction_of_ceiling.value)},
            {"fraction_low", number(f.fraction_of_ceiling.low)},
            {"fraction_high", number(f.fraction_of_ceiling.high)},
            {"speedup_over_baseline", number(f.speedup_over_baseline.value)},
            {"speedup_low", number(f.speedup_over_baseline.low)},
            {"speedup_high", number(f.speedup_over_baseline.high)},
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

namespace {

/// The temporary files that exist now: an end by a signal takes them along. A handler may do no more than unlink().
constexpr int MAX_TEMPORARIES = 2;
char temporaries[MAX_TEMPORARIES][PATH_MAX];

void remove_temporaries(int signal) {
    for (auto& name : temporaries)
        if (name[0]) unlink(name);
    std::signal(signal, SIG_DFL);
    std::raise(signal);
}

void remember(const std::string& name) {
    for (auto& place : temporaries)
        if (!place[0] && name.size() < sizeof place) {
            std::strcpy(place, name.c_str());
            break;
        }
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) std::signal(signal, remove_temporaries);
}

void forget(const std::string& name) {
    for (auto& place : temporaries)
        if (name == place) place[0] = 0;
}

}  // namespace

OutputFile::OutputFile(const std::string& option, const std::string& wanted) {
    namespace fs = std::filesystem;
    const auto refuse = [&](const std::string& why) {
        return UsageError(fmt::format("{}: cannot write '{}': {}", option, wanted, why));
    };
    if (wanted.empty()) throw UsageError(option + ": the name of a file is missing");
    std::error_code error;
    const fs::file_status status = fs::status(wanted, error);
    if (status.type() == fs::file_type::none) throw refuse(error.message());
    if (fs::is_directory(status)) throw refuse("it is a folder");
    path = wanted;
    // A pipe or a terminal; and /dev/stdout, sent to a file, is written where it stands.
    const bool special = fs::exists(status) && !fs::is_regular_file(status);
    if (special || wanted.rfind("/dev/", 0) == 0 || wanted.rfind("/proc/", 0) == 0) {
        if (access(path.c_str(), W_OK)) throw refuse(std::strerror(errno));
        return;
    }
    fs::path target = wanted;
    for (int links = 0; fs::is_symlink(target); ++links) {
        if (links == 40) throw refuse(std::strerror(ELOOP));
        target = target.parent_path() /
                 fs::read_symlink(target);  // an absolute one replaces what stands before it
    }
    target = fs::absolute(target).lexically_normal();
    path = target.string();
    if (fs::exists(status) && access(path.c_str(), W_OK)) throw refuse(std::strerror(errno));
    temporary = (target.parent_path() / ".ladder-XXXXXX").string();
    const int file = mkstemp(temporary.data());
    if (file < 0) {
        temporary.clear();
        throw refuse(std::strerror(errno));
    }
    remember(temporary);
    const mode_t mask = umask(0);
    umask(mask);
    const bool kept =
        fchmod(file, fs::exists(status) ? static_cast<mode_t>(status.permissions()) : 0666 & ~mask) == 0;
    close(file);
    if (!kept) throw refuse(std::strerror(errno));
}

OutputFile::~OutputFile() {
    if (temporary.empty()) return;
    unlink(temporary.c_str());
    forget(temporary);
}

void OutputFile::write(const std::string& text) {
    const bool in_place = temporary.empty();
    std::ofstream out(in_place ? path : temporary, in_place ? std::ios::app : std::ios::trunc);
    out << text << std::flush;
    if (!out) throw std::runtime_error(fmt::format("cannot write {}: {}", path, std::strerror(errno)));
    out.close();
    if (!in_place) std::filesystem::rename(temporary, path);
}
