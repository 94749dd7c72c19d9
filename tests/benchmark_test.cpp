#include "benchmark.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace {

// A clock that ticks as told: variant "a" takes ms["a"] for a launch. Remembers what was run in what order.
struct FakeRunner : Runner {
    std::map<std::string, double> ms;
    std::vector<std::string> timed, proved;
    std::map<std::string, int> last_batch;
    double last_ms = 0;

    void run(const Variant& v) override {
        proved.push_back(v.name);
        if (v.launch) v.launch();
    }
    double time(const Variant& v, int batch) override {
        timed.push_back(v.name);
        last_batch[v.name] = batch;
        if (v.restore) v.restore();
        last_ms = ms[v.name] * batch;
        return last_ms;
    }
    double host_ms() const override { return last_ms + 0.5; }
};

Comparison right() {
    Comparison c;
    c.compared = 1;
    return c;
}
Comparison wrong() {
    Comparison c = right();
    c.wrong = 1;
    c.first = {{0, 1, 2}};
    return c;
}

Variant variant(const std::string& name, std::function<Comparison()> check = right) {
    Variant v;
    v.name = name;
    v.check = std::move(check);
    return v;
}

struct Bench : testing::Test {
    Problem problem;
    Options options;
    FakeRunner runner;
    int poisoned = 0;

    Bench() {
        problem.poison = [this] { ++poisoned; };
        options.repeats = 3;
        options.warmup_ms = 0;
        options.quiet = true;
        runner.ms = {{"a", 1.0}, {"b", 2.0}, {"c", 4.0}};
    }
    std::vector<Measurement> run(const std::vector<Variant>& variants) {
        return run_ladder(problem, variants, options, runner);
    }
};

}  // namespace

TEST_F(Bench, RoundRobin) {
    const std::vector<Variant> variants = {variant("a"), variant("b"), variant("c")};
    const auto all = run(variants);
    const std::vector<std::string> rounds(runner.timed.end() - 9, runner.timed.end());
    EXPECT_EQ(rounds, (std::vector<std::string>{"a", "b", "c", "a", "b", "c", "a", "b", "c"}));
    for (const Measurement& m : all) {
        EXPECT_EQ(m.status, Status::ok);
        EXPECT_EQ(m.times_ms.size(), 3u);
        EXPECT_EQ(m.times_ms[0], runner.ms[m.variant->name]);
    }
}

TEST_F(Bench, EveryVariantIsProvedOnAPoisonedOutputBeforeAndAfter) {
    const std::vector<Variant> variants = {variant("a"), variant("b")};
    run(variants);
    EXPECT_EQ(runner.proved, (std::vector<std::string>{"a", "b", "a", "b"}));
    EXPECT_EQ(poisoned, 4);
}

TEST_F(Bench, AWrongVariantHasNoTimeAndTheOthersRun) {
    const std::vector<Variant> variants = {variant("a"), variant("b", wrong), variant("c")};
    const auto all = run(variants);
    EXPECT_EQ(all[1].status, Status::wrong);
    EXPECT_TRUE(all[1].times_ms.empty());
    EXPECT_EQ(all[1].reason, "1 of 1 wrong: [0] is 1, should be 2");
    EXPECT_EQ(std::count(runner.timed.begin(), runner.timed.end(), "b"), 0);
    EXPECT_EQ(all[0].times_ms.size(), 3u);
    EXPECT_EQ(all[2].times_ms.size(), 3u);
}

TEST_F(Bench, WrongAfterTheTimingTakesTheTimeBack) {
    int checks = 0;
    const std::vector<Variant> variants = {variant("a", [&] { return ++checks > 1 ? wrong() : right(); })};
    const auto all = run(variants);
    EXPECT_EQ(all[0].status, Status::wrong);
    EXPECT_TRUE(all[0].times_ms.empty());
    EXPECT_EQ(all[0].reason.rfind("after the timing: ", 0), 0u);
}

TEST_F(Bench, WhatTheWorkMeasuresItselfIsReadAfterEachSample) {
    Variant v = variant("a");
    // What is read is what the latest sample left: the number of it.
    v.read = [&] { return std::vector<Reading>{{static_cast<double>(runner.timed.size())}}; };
    const std::vector<Variant> variants = {v, variant("b")};
    const auto all = run(variants);
    const size_t before = runner.timed.size() - 6;
    ASSERT_EQ(all[0].readings.size(), 3u);
    for (size_t round = 0; round < 3; ++round)
        EXPECT_EQ(all[0].readings[round][0].value, static_cast<double>(before + 2 * round + 1));
    EXPECT_TRUE(all[1].readings.empty());
}

TEST_F(Bench, WrongAfterTheTimingTakesTheReadingsBack) {
    int checks = 0;
    Variant v = variant("a", [&] { return ++checks > 1 ? wrong() : right(); });
    v.read = [] { return std::vector<Reading>{{1}}; };
    const std::vector<Variant> one = {v};
    EXPECT_TRUE(run(one)[0].readings.empty());
}

TEST_F(Bench, ShortLaunchesAreBatched) {
    runner.ms = {{"a", 0.003}, {"b", 0.049}, {"c", 0.05}};
    const std::vector<Variant> variants = {variant("a"), variant("b"), variant("c")};
    const auto all = run(variants);
    EXPECT_EQ(all[0].batch, 34);  // 34 x 3 us are the first to fill 100 us
    EXPECT_EQ(all[1].batch, 3);
    EXPECT_EQ(all[2].batch, 1);
    EXPECT_NEAR(all[0].times_ms[0], 0.003, 1e-12);  // of one launch, not of the batch
}

TEST_F(Bench, TheUsersBatchWins) {
    options.batch = 1;
    runner.ms["a"] = 0.003;
    const std::vector<Variant> one = {variant("a")};
    EXPECT_EQ(run(one)[0].batch, 1);
}

TEST_F(Bench, InPlaceWorkGetsFreshInputForEachLaunch) {
    int restored = 0;
    Variant v = variant("a");
    v.restore = [&] { ++restored; };
    runner.ms["a"] = 0.003;
    options.batch = 10;
    const std::vector<Variant> one = {v};
    const auto all = run(one);
    EXPECT_EQ(all[0].batch, 1);  // a second launch would work on what the first left
    EXPECT_EQ(restored, 2 + static_cast<int>(runner.timed.size()));
}

TEST_F(Bench, WarmsUpByDuration) {
    options.warmup_ms = 50;
    const std::vector<Variant> variants = {variant("a"), variant("c")};
    run(variants);
    // 2 probes, 50 ms of warm-up and 3 rounds each.
    EXPECT_EQ(std::count(runner.timed.begin(), runner.timed.end(), "a"), 2 + 50 + 3);
    EXPECT_EQ(std::count(runner.timed.begin(), runner.timed.end(), "c"), 2 + 13 + 3);
}

TEST_F(Bench, ASkippedVariantIsNeverLaunched) {
    Variant v = variant("a");
    v.cannot_run = "needs an sm_90 GPU";
    const std::vector<Variant> variants = {v, variant("b")};
    const auto all = run(variants);
    EXPECT_EQ(all[0].status, Status::skipped);
    EXPECT_EQ(all[0].reason, "needs an sm_90 GPU");
    EXPECT_EQ(runner.proved, (std::vector<std::string>{"b", "b"}));
}

TEST_F(Bench, WithoutAProofItSaysSo) {
    options.check = "none";
    const std::vector<Variant> one = {variant("a", wrong)};
    const auto all = run(one);
    EXPECT_EQ(all[0].status, Status::unchecked);
    EXPECT_EQ(all[0].times_ms.size(), 3u);
}

TEST_F(Bench, ProfilingLaunchesOnceAndTimesNothing) {
    options.profile = true;
    const std::vector<Variant> variants = {variant("a"), variant("b")};
    const auto all = run(variants);
    EXPECT_EQ(runner.proved.size(), 2u);
    EXPECT_TRUE(runner.timed.empty());
    EXPECT_TRUE(all[0].times_ms.empty());
}

TEST_F(Bench, NoTimeIsNotAGoodTime) {
    runner.ms["a"] = 0;
    const std::vector<Variant> one = {variant("a")};
    EXPECT_THROW(run(one), std::runtime_error);
}

TEST_F(Bench, TheHostsClockIsKeptWhereItIsAskedFor) {
    runner.ms["a"] = 0.01;
    const std::vector<Variant> one = {variant("a")};
    EXPECT_TRUE(run(one)[0].host_ms.empty());
    problem.host_clock = true;
    const auto all = run(one);
    ASSERT_EQ(all[0].host_ms.size(), 3u);
    EXPECT_NEAR(all[0].host_ms[0], (0.01 * all[0].batch + 0.5) / all[0].batch, 1e-12);  // of one launch
}

TEST_F(Bench, AWrongVariantKeepsNoHostTime) {
    problem.host_clock = true;
    int checks = 0;
    const std::vector<Variant> one = {variant("a", [&] { return ++checks > 1 ? wrong() : right(); })};
    EXPECT_TRUE(run(one)[0].host_ms.empty());
}
