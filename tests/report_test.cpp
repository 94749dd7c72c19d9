#include "report.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <limits>
#include <locale>
#include <nlohmann/json.hpp>
#include <sstream>

using nlohmann::json;

namespace {

// Three variants at 1 GB of traffic: a ceiling of 1 ms, a rung of 2 ms, a baseline of 3 ms, and a wrong one.
struct Report : testing::Test {
    std::vector<Variant> variants;
    std::vector<Measurement> measurements;
    Problem problem;
    RunInfo run;

    Report() {
        problem.family = "transpose";
        problem.program = "padded";
        problem.headline = "3 x 5 float";
        problem.type = "float";
        problem.options = {{"rows", int64_t{3}}, {"cols", int64_t{5}}};
        problem.rates = {{"GB/s", 1e9}};
        problem.working_set = 1e9;
        problem.ceiling = "copy";
        run.device.name = "A \"GPU\", with a comma";
        run.device.l2_bytes = 50 << 20;
        run.device.peak_bandwidth = 2e12;
        run.device.runtime = "13.0";
        run.seed = 42;
        const auto add = [this](const char* name, Role role, Status status, double ms) {
            Variant v;
            v.name = name;
            v.note = std::string("note of ") + name;
            v.role = role;
            variants.push_back(v);
            Measurement m;
            m.status = status;
            m.comparison.compared = 15;
            if (ms > 0) {
                m.times_ms.assign(6, ms);
                m.batch = 1;
            } else {
                m.reason = "7 of 15 wrong";
                m.comparison.wrong = 7;
                m.comparison.worst_error = std::numeric_limits<double>::infinity();
            }
            measurements.push_back(m);
        };
        add("copy", Role::ceiling, Status::ok, 1);
        add("padded", Role::rung, Status::ok, 2);
        add("geam", Role::baseline, Status::ok, 3);
        add("broken", Role::rung, Status::wrong, 0);
        for (size_t i = 0; i < variants.size(); ++i) measurements[i].variant = &variants[i];
    }

    std::vector<json> records() {
        std::istringstream in(json_lines(Results(problem, measurements, run)));
        std::vector<json> all;
        for (std::string line; std::getline(in, line);) all.push_back(json::parse(line));
        return all;
    }
    std::string text() { return table(Results(problem, measurements, run)); }
};

struct DecimalComma : std::numpunct<char> {
    char do_decimal_point() const override { return ','; }
    char do_thousands_sep() const override { return '.'; }
    std::string do_grouping() const override { return "\3"; }
};

}  // namespace

TEST_F(Report, FiguresOfARecord) {
    const json r = records()[1];
    EXPECT_EQ(r["family"], "transpose");
    EXPECT_EQ(r["variant"], "padded");
    EXPECT_EQ(r["role"], "rung");
    EXPECT_EQ(r["problem"], (json{{"rows", 3}, {"cols", 5}}));
    EXPECT_EQ(r["status"], "ok");
    EXPECT_EQ(r["time_ms_mean"], 2.0);
    EXPECT_EQ(r["time_ms_stddev"], 0.0);
    EXPECT_EQ(r["samples"], 6);
    EXPECT_EQ(r["rates"], (json{{"GB/s", 500.0}}));  // 1e9 bytes in 2 ms, decimal
    EXPECT_EQ(r["fraction_of_ceiling"], 0.5);
    EXPECT_EQ(r["fraction_low"], 0.5);
    EXPECT_EQ(r["speedup_over_baseline"], 1.5);
    EXPECT_EQ(r["gpu"], "A \"GPU\", with a comma");
    EXPECT_EQ(r["seed"], 42);
    EXPECT_EQ(r["simulated"], false);
}

TEST_F(Report, WhatIsMissingIsNull) {
    const auto all = records();
    for (const char* key : {"reason", "counts", "times_ms"}) EXPECT_TRUE(all[1][key].is_null()) << key;
    EXPECT_TRUE(all[2]["speedup_over_baseline"].is_null());  // the baseline over itself
    const json& broken = all[3];
    EXPECT_EQ(broken["status"], "wrong");
    EXPECT_EQ(broken["reason"], "7 of 15 wrong");
    for (const char* key : {"time_ms_mean", "time_ms_stddev", "time_ms_median", "time_ms_min", "time_ms_max",
                            "samples", "batch", "times_ms", "fraction_of_ceiling", "fraction_low",
                            "fraction_high", "l2_resident", "speedup_over_baseline", "worst_error"})
        EXPECT_TRUE(broken[key].is_null()) << key;
    EXPECT_TRUE(broken["rates"]["GB/s"].is_null());
}

TEST_F(Report, SamplesAreKeptWhereTheyAreAskedFor) {
    EXPECT_EQ(text().find("padded (ms):"), std::string::npos);
    run.times = true;
    measurements[1].times_ms = {2, 2.5, 2, 2, 2, 2};
    EXPECT_EQ(records()[1]["times_ms"], (json{2.0, 2.5, 2.0, 2.0, 2.0, 2.0}));
    EXPECT_NE(text().find("padded (ms): 2.0000 2.5000 2.0000"), std::string::npos) << text();
}

TEST_F(Report, AllRecordsHaveTheSameKeys) {
    std::vector<std::string> first;
    for (const json& r : records()) {
        std::vector<std::string> keys;
        for (const auto& [key, value] : r.items()) keys.push_back(key);
        if (first.empty()) first = keys;
        EXPECT_EQ(keys, first);
    }
}

TEST_F(Report, StepsAreHeldAgainstACeilingEach) {
    EXPECT_EQ(records()[1]["steps"], 1);
    EXPECT_EQ(text().find("steps"), std::string::npos);

    variants[1].steps = 8;
    variants[1].rates = {{"GB/s", 1e9}, {"GPt/s", 8e6}};
    const json fused = records()[1], copy = records()[0];
    EXPECT_EQ(fused["steps"], 8);
    EXPECT_EQ(fused["rates"], (json{{"GB/s", 500.0}, {"GPt/s", 4.0}}));  // 8 million in 2 ms
    EXPECT_EQ(fused["fraction_of_ceiling"], 4.0);
    EXPECT_EQ(copy["fraction_of_ceiling"], 1.0);
    EXPECT_TRUE(copy["rates"]["GPt/s"].is_null());
    EXPECT_NE(text().find("400.0 ± 0.0 %"), std::string::npos);
    EXPECT_NE(text().find("100 % is as many times a copy"), std::string::npos);
    const std::string t = text();
    const std::string row = t.substr(t.find("\nbroken ") + 1);
    EXPECT_EQ(std::count(row.begin(), row.begin() + row.find('\n'), '-'), 5) << t;  // under every figure
}

TEST_F(Report, AFewSamplesGiveNoInterval) {
    for (Measurement& m : measurements)
        if (!m.times_ms.empty()) m.times_ms.resize(3);
    const json r = records()[1];
    EXPECT_EQ(r["fraction_of_ceiling"], 0.5);
    EXPECT_TRUE(r["fraction_low"].is_null());
}

TEST_F(Report, OneSampleHasNoDeviation) {
    measurements[1].times_ms.resize(1);
    measurements[0].times_ms.resize(1);
    measurements[2].times_ms.resize(1);
    EXPECT_TRUE(records()[1]["time_ms_stddev"].is_null());
}

TEST_F(Report, MarksWhatMayComeFromTheCache) {
    EXPECT_EQ(records()[1]["l2_resident"], false);
    problem.working_set = 4.0 * (50 << 20) - 1;
    EXPECT_EQ(records()[1]["l2_resident"], true);
    EXPECT_NE(text().find("500.0 L2"), std::string::npos) << text();
    run.cold = true;
    EXPECT_EQ(records()[1]["l2_resident"], false);
}

TEST_F(Report, MarksWhatIsAboveThePeak) {
    EXPECT_EQ(text().find(">peak"), std::string::npos);
    run.device.peak_bandwidth = 0.9e12;
    EXPECT_NE(text().find("1000 >peak"), std::string::npos);
    EXPECT_EQ(records()[0]["above_peak"], true);
    EXPECT_EQ(records()[1]["above_peak"], false);
}

TEST_F(Report, FiguresThatTheWorkMeasuredItself) {
    problem.columns = {{"latency", "cycles"}, {"broken", "", true}};
    measurements[0].readings.assign(6, {{std::nan("")}, {std::nan("")}});
    measurements[1].readings = {{{28}, {1}}, {{29}, {0}}, {{30}, {2}}, {{29}, {0}}, {{28}, {0}}, {{30}, {0}}};
    const auto all = records();
    EXPECT_EQ(
        all[1]["figures"]["latency"],
        (json{{"unit", "cycles"}, {"value", 29.0}, {"low", 28.0}, {"high", 30.0}, {"beyond_limit", false}}));
    EXPECT_EQ(all[1]["figures"]["broken"]["value"], 3.0);  // a count: the sum
    EXPECT_TRUE(all[1]["figures"]["broken"]["low"].is_null());
    for (int missing : {0, 2, 3})
        EXPECT_TRUE(all[missing]["figures"]["latency"]["value"].is_null()) << missing;
    const std::string t = text();
    EXPECT_NE(t.find("of copy        latency (cycles)  broken  check"), std::string::npos) << t;
    EXPECT_NE(t.find("29.00 ± 1.00      3       ok"), std::string::npos) << t;
    EXPECT_EQ(t.find(">limit"), std::string::npos);
}

TEST_F(Report, MarksAFigureBeyondWhatTheHardwareCanDo) {
    problem.columns = {{"store", "cycles"}, {"load", "cycles"}};
    measurements[1].readings = {{{1.0, 1, 4}, {1.0, 2}}, {{4.0, 1, 4}, {2.0, 2}}, {{2.0, 1, 4}, {2.0, 2}}};
    EXPECT_EQ(records()[1]["figures"]["store"]["beyond_limit"], false);
    EXPECT_EQ(records()[1]["figures"]["load"]["beyond_limit"], true);  // one sample is enough
    EXPECT_NE(text().find("2 >limit"), std::string::npos) << text();
    EXPECT_NE(text().find(">limit: beyond what the hardware can do"), std::string::npos);
}

TEST_F(Report, WithoutBytesAndCeilingThereAreNoColumnsForThem) {
    problem.rates = {};
    problem.ceiling = "";
    EXPECT_TRUE(records()[1]["ceiling"].is_null());
    EXPECT_EQ(records()[1]["rates"], json::object());
    EXPECT_TRUE(records()[1]["fraction_of_ceiling"].is_null());
    EXPECT_TRUE(records()[1]["figures"].is_null());
    EXPECT_NE(text().find("time (ms)        median  check"), std::string::npos) << text();
    EXPECT_EQ(text().find("GB/s"), std::string::npos) << text();
}

TEST_F(Report, AVariantCanHaveAWorkingSetOfItsOwn) {
    variants[1].working_set = 1;
    EXPECT_EQ(records()[1]["l2_resident"], true);
    EXPECT_EQ(records()[0]["l2_resident"], false);
}

TEST_F(Report, TheTableShowsNoTimeForAWrongResult) {
    const std::string t = text();
    const size_t line = t.find("\nbroken ");
    ASSERT_NE(line, std::string::npos);
    const std::string row = t.substr(line + 1, t.find('\n', line + 1) - line - 1);
    EXPECT_NE(row.find("WRONG"), std::string::npos);
    EXPECT_EQ(row.find_first_of("0123456789"), std::string::npos) << row;
    EXPECT_NE(t.find("broken: WRONG: 7 of 15 wrong"), std::string::npos);
    EXPECT_NE(t.find("2.0000 ± 0.0000"), std::string::npos);
    EXPECT_NE(t.find("50.0 ± 0.0 %"), std::string::npos);
    EXPECT_NE(t.find("padded is faster than geam: 1.500 times its speed (95 %: 1.500 to 1.500)"),
              std::string::npos);
}

TEST_F(Report, FasterIsSaidOnlyWhereTheIntervalExcludesOne) {
    measurements[1].times_ms = {2, 4, 2, 4, 2, 4};
    measurements[2].times_ms = {3, 3, 3, 3, 3, 3};
    EXPECT_NE(text().find("padded is no different from geam"), std::string::npos);
    measurements[1].times_ms.assign(6, 4.0);
    EXPECT_NE(text().find("padded is slower than geam"), std::string::npos);
}

TEST_F(Report, ALocaleWithADecimalCommaChangesNothing) {
    const std::string before = text();
    const auto records_before = records();
    const std::locale old = std::locale::global(std::locale(std::locale::classic(), new DecimalComma));
    EXPECT_EQ(text(), before);
    EXPECT_EQ(records(), records_before);
    std::locale::global(old);
}

TEST_F(Report, CsvHasTheColumnsOfTheRecordsAndQuotes) {
    const std::string lines = json_lines(Results(problem, measurements, run));
    std::istringstream in(csv(lines));
    std::string header, row;
    std::getline(in, header);
    EXPECT_EQ(header.substr(0, 35), "family,program,variant,role,note,pr");
    std::getline(in, row);
    std::getline(in, row);
    EXPECT_NE(row.find("\"A \"\"GPU\"\", with a comma\""), std::string::npos);
    EXPECT_NE(row.find("\"{\"\"rows\"\":3,\"\"cols\"\":5}\""), std::string::npos);
    EXPECT_NE(row.find(",2.0,0.0,2.0,"), std::string::npos);
    EXPECT_EQ(csv(""), "");
}

TEST_F(Report, SimulatedRunsShowCountsAndNoTimes) {
    run.simulated = true;
    for (Measurement& m : measurements) {
        m.times_ms.clear();
        if (m.status == Status::wrong) continue;  // Measurement::fail took them back
        m.counts = Counts{};
        m.counts->traffic[SHARED_LOAD] = {2, 64, 2};
        m.counts->traffic[SHARED_STORE] = {2, 2, 2};
        m.counts->traffic[GLOBAL_LOAD] = {2, 8, 8};
        m.counts->branches = 6;
        m.counts->divergent_branches = 2;
    }
    const std::string t = text();
    EXPECT_NE(t.find("simulated on the CPU: counts, no times"), std::string::npos);
    EXPECT_NE(t.find("32.00 (1.00)"), std::string::npos);
    EXPECT_NE(t.find("2 of 6"), std::string::npos);
    EXPECT_EQ(t.find("(ms)"), std::string::npos);
    const auto all = records();
    EXPECT_EQ(all[1]["counts"]["shared_load_wavefronts"], 32.0);
    EXPECT_TRUE(all[1]["counts"]["global_store_sectors"].is_null());
    EXPECT_TRUE(all[3]["counts"].is_null());  // a wrong result publishes no figure
    EXPECT_EQ(all[1]["simulated"], true);
}

TEST_F(Report, TheSlowestOfSeveralIsTheCeiling) {
    problem.ceiling = "bound";
    problem.bound = {"copy", "geam"};
    measurements[0].times_ms = {1, 1, 1,
                                5, 1, 1};  // in the fourth round the copy is slower than the baseline's 3
    measurements[1].times_ms = {6, 6, 6, 10, 6, 6};
    const auto all = records();
    EXPECT_EQ(all[1]["fraction_of_ceiling"], 0.5);
    EXPECT_EQ(all[1]["ceiling"], "bound");
    EXPECT_NE(text().find("of bound"), std::string::npos);
    problem.bound = {"copy", "nobody"};
    EXPECT_TRUE(records()[1]["fraction_of_ceiling"].is_null());
}

TEST_F(Report, AVariantMayHaveRatesOfItsOwn) {
    variants[1].rates = {{"GB/s", 3e9}};
    EXPECT_EQ(records()[1]["rates"]["GB/s"], 1500.0);
    EXPECT_EQ(records()[2]["rates"]["GB/s"], 1e9 / 3e-3 / 1e9);
}

TEST_F(Report, RatesAreShownWithFourDigits) {
    problem.rates = {{"GB/s", 7.416e9}, {"us/kernel", 1000}, {"Mkeys/s", 123.4e3}};
    const std::string t = text();  // 2 ms
    EXPECT_NE(t.find("3708"), std::string::npos) << t;
    EXPECT_NE(t.find("2.000"), std::string::npos) << t;
    EXPECT_NE(t.find("61.70"), std::string::npos) << t;
}

TEST_F(Report, TheHostsClockIsShownBeside) {
    EXPECT_TRUE(records()[1]["host_time_ms_median"].is_null());
    EXPECT_EQ(text().find("by host"), std::string::npos);
    problem.host_clock = true;
    measurements[1].host_ms.assign(6, 2.25);
    EXPECT_EQ(records()[1]["host_time_ms_median"], 2.25);
    EXPECT_NE(text().find("by host"), std::string::npos);
    EXPECT_NE(text().find("2.2500"), std::string::npos);
    EXPECT_TRUE(records()[3]["host_time_ms_median"].is_null());
}

TEST_F(Report, TheModelStandsBesideTheTime) {
    EXPECT_TRUE(records()[1]["model_ms"].is_null());
    EXPECT_EQ(text().find("of model"), std::string::npos);
    problem.model_ms = [](const Variant& v, const Medians& ms) {
        return v.name == "padded" ? 1.5 * ms("copy") : std::nan("");
    };
    problem.remark = [](const Medians& ms) { return "nobody: " + std::to_string(ms("nobody")) + "\n"; };
    EXPECT_EQ(records()[1]["model_ms"], 1.5);
    EXPECT_EQ(records()[1]["fraction_of_model"], 0.75);
    EXPECT_TRUE(records()[2]["fraction_of_model"].is_null());
    EXPECT_NE(text().find("75.0 %"), std::string::npos);
    EXPECT_NE(text().find("nobody: nan\n"), std::string::npos);
}

TEST_F(Report, WhatTheMemoryDoesNotLimitIsNotComparedWithIt) {
    problem.working_set = std::numeric_limits<double>::infinity();
    EXPECT_EQ(records()[1]["l2_resident"], false);
    EXPECT_EQ(text().find("theoretical peak"), std::string::npos);
}

TEST(OutputFile, KeepsTheOldFileUntilTheNewOneIsWhole) {
    const std::string path = testing::TempDir() + "ladder_output_test.jsonl";
    std::ofstream(path) << "old";
    const auto content = [&] {
        std::ifstream in(path);
        return std::string(std::istreambuf_iterator<char>(in), {});
    };
    {
        OutputFile file("--json", path);
        EXPECT_EQ(content(), "old");
    }
    EXPECT_EQ(content(), "old");
    {
        OutputFile file("--json", path);
        file.write("new\n");
    }
    EXPECT_EQ(content(), "new\n");
    std::filesystem::remove(path);
}

namespace {

// A folder of its own for one test.
struct Files : testing::Test {
    const std::filesystem::path folder =
        testing::TempDir() + "ladder_output_files_" + std::to_string(getpid());
    Files() {
        std::filesystem::remove_all(folder);
        std::filesystem::create_directory(folder);
    }
    ~Files() override { std::filesystem::remove_all(folder); }
    std::string at(const char* name) const { return (folder / name).string(); }
    static std::string content(const std::string& path) {
        std::ifstream in(path);
        return std::string(std::istreambuf_iterator<char>(in), {});
    }
    size_t count() const {
        return std::distance(std::filesystem::directory_iterator(folder),
                             std::filesystem::directory_iterator());
    }
    static void write(const std::string& path, const std::string& text) {
        OutputFile("--json", path).write(text);
    }
};

}  // namespace

TEST_F(Files, NobodysOtherFileIsTouched) {
    std::ofstream(at("data.part")) << "mine";
    write(at("data"), "new");
    EXPECT_EQ(content(at("data.part")), "mine");
    EXPECT_EQ(content(at("data")), "new");
    EXPECT_EQ(count(), 2u);
    { OutputFile unused("--json", at("data")); }
    EXPECT_EQ(count(), 2u);  // nothing is left behind
}

TEST_F(Files, ALinkIsFollowed) {
    std::ofstream(at("target")) << "old";
    std::filesystem::create_symlink("target", at("link"));
    write(at("link"), "new");
    EXPECT_TRUE(std::filesystem::is_symlink(at("link")));
    EXPECT_EQ(content(at("target")), "new");
    std::filesystem::create_symlink("later", at("dangling"));
    write(at("dangling"), "there now");
    EXPECT_EQ(content(at("later")), "there now");
}

TEST_F(Files, TheModeStays) {
    using std::filesystem::perms;
    std::ofstream(at("secret")) << "old";
    std::filesystem::permissions(at("secret"), perms::owner_read | perms::owner_write);
    write(at("secret"), "new");
    EXPECT_EQ(std::filesystem::status(at("secret")).permissions(), perms::owner_read | perms::owner_write);
}

TEST_F(Files, ASignalLeavesNoHalfFile) {
    for (const int signal : {SIGINT, SIGTERM, SIGHUP})
        EXPECT_EXIT(
            {
                OutputFile file("--json", at("x"));
                std::raise(signal);
            },
            testing::KilledBySignal(signal), "");
    EXPECT_EQ(count(), 0u);
}

TEST_F(Files, ADeviceIsWrittenAsItIs) {
    write("/dev/null", "gone");
    EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
    EXPECT_THROW(write("/dev/full", "too much"), std::runtime_error);
}

TEST(OutputFile, RefusesAtOnceWhatCannotBeWritten) {
    EXPECT_THROW(OutputFile("--json", "/no/such/directory/x.jsonl"), UsageError);
    EXPECT_THROW(OutputFile("--json", testing::TempDir()), UsageError);
    EXPECT_THROW(OutputFile("--json", ""), UsageError);
    try {
        OutputFile("--csv", testing::TempDir() + std::string(300, 'x'));
        FAIL();
    } catch (const UsageError& error) {
        const std::string text = error.what();
        EXPECT_EQ(text.rfind("--csv: cannot write '", 0), 0u) << text;
        EXPECT_NE(text.find("File name too long"), std::string::npos) << text;
    }
}
