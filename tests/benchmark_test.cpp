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
    double last_ms = 0, uncovered = 0;
    bool usable = true;

    void run(const Variant& v) override {
        proved.push_back(v.name);
        if (v.launch) v.launch();
    }
    double time(const Variant& v, int batch) override {
        timed.push_back(v.name);
        last_batch[v.name] = batch;
        if (v.restore) v.restore();
        for (int i = 0; i < batch && v.launch; ++i) v.launch();
        last_ms = ms[v.name] * batch;
        return last_ms;
    }
    double host_ms() const override { return last_ms + 0.5; }
    double uncovered_ms() const override { return uncovered; }
    bool is_usable() override { return usable; }
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

/// What the harness does beside the rounds: it looks twice for each variant at whether a launch does the work again.
constexpr int LOOKS = 2;

struct Bench : testing::Test {
    Problem problem;
    Options options;
    FakeRunner runner;
    int poisoned = 0;
    bool output_is_right = false;  ///< what the last launch left, or poison

    /// A variant whose launches are right, judged by `check` on what they left.
    Variant variant(const std::string& name, std::function<Comparison()> check = right) {
        Variant v;
        v.name = name;
        v.launch = [this] { output_is_right = true; };
        v.check = [this, check = std::move(check)] { return output_is_right ? check() : wrong(); };
        return v;
    }

    Bench() {
        problem.poison = [this] {
            ++poisoned;
            output_is_right = false;
        };
        options.repeats = 3;
        options.warmup_ms = 0;
        options.quiet = true;
        runner.ms = {{"a", 1.0}, {"b", 2.0}, {"c", 4.0}};
    }
    std::vector<Measurement> run(const std::vector<Variant>& variants) {
        return run_variants(problem, variants, options, runner);
    }
};

}  // namespace

TEST_F(Bench, RoundRobin) {
    const std::vector<Variant> variants = {variant("a"), variant("b"), variant("c")};
    const auto all = run(variants);
    const std::vector<std::string> rounds(runner.timed.end() - 3 * LOOKS - 9, runner.timed.end() - 3 * LOOKS);
    EXPECT_EQ(rounds, (std::vector<std::string>{"a", "b", "c", "a", "b", "c", "a", "b", "c"}));
    for (const Measurement& m : all) {
        EXPECT_EQ(m.status, Status::ok);
        EXPECT_EQ(m.times_ms.size(), 3u);
        EXPECT_EQ(m.times_ms[0], runner.ms[m.variant->name]);
    }
}

TEST_F(Bench, EveryVariantIsProvedOnAPoisonedOutputBeforeItIsTimed) {
    const std::vector<Variant> variants = {variant("a"), variant("b")};
    run(variants);
    EXPECT_EQ(runner.proved, (std::vector<std::string>{"a", "b"}));
    // Before the proof and for the check's own, before each of the last two samples, and before the look.
    EXPECT_EQ(poisoned, 2 * 5);
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
    const size_t before = runner.timed.size() - 6 - 2 * LOOKS;
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
    // Each sample has one of its own; so have the proof, and what is poisoned before a sample.
    EXPECT_EQ(restored, 1 + 3 + static_cast<int>(runner.timed.size()));
}

TEST_F(Bench, WarmsUpByDuration) {
    options.warmup_ms = 50;
    const std::vector<Variant> variants = {variant("a"), variant("c")};
    run(variants);
    // 2 probes, 50 ms of warm-up and 3 rounds each.
    EXPECT_EQ(std::count(runner.timed.begin(), runner.timed.end(), "a"), 2 + 50 + 3 + LOOKS);
    EXPECT_EQ(std::count(runner.timed.begin(), runner.timed.end(), "c"), 2 + 13 + 3 + LOOKS);
}

TEST_F(Bench, ASkippedVariantIsNeverLaunched) {
    Variant v = variant("a");
    v.cannot_run = "needs an sm_90 GPU";
    const std::vector<Variant> variants = {v, variant("b")};
    const auto all = run(variants);
    EXPECT_EQ(all[0].status, Status::skipped);
    EXPECT_EQ(all[0].reason, "needs an sm_90 GPU");
    EXPECT_EQ(runner.proved, (std::vector<std::string>{"b"}));
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

TEST_F(Bench, NoTimeIsNotAGoodTimeAndEndsThisVariantAlone) {
    runner.ms["a"] = 0;
    const std::vector<Variant> two = {variant("a"), variant("b")};
    const auto all = run(two);
    EXPECT_EQ(all[0].status, Status::failed);
    EXPECT_EQ(all[0].reason, "took 0 ms by the event timer");
    EXPECT_TRUE(all[0].times_ms.empty());
    EXPECT_EQ(all[1].status, Status::ok);
    EXPECT_EQ(all[1].times_ms.size(), 3u);
}

TEST_F(Bench, AnExceptionEndsThisVariantAlone) {
    Variant throws = variant("a"), no_memory = variant("b");
    throws.launch = [] { throw std::runtime_error("the library said no"); };
    no_memory.launch = [] { throw std::bad_alloc(); };
    const std::vector<Variant> three = {throws, no_memory, variant("c")};
    const auto all = run(three);
    EXPECT_EQ(all[0].status, Status::failed);
    EXPECT_EQ(all[0].reason, "the library said no");
    EXPECT_EQ(all[1].status, Status::failed);
    EXPECT_EQ(all[1].reason, "out of memory on the host");
    EXPECT_EQ(all[2].status, Status::ok);
    EXPECT_EQ(all[2].times_ms.size(), 3u);
}

TEST_F(Bench, AGpuThatIsLostEndsTheOthersAsNotRun) {
    Variant breaks = variant("b");
    breaks.launch = [&] {
        runner.usable = false;
        throw std::runtime_error("an illegal address");
    };
    const std::vector<Variant> three = {variant("a"), breaks, variant("c")};
    const auto all = run(three);
    EXPECT_EQ(all[0].status, Status::not_run);  // it was right, but it could not be timed
    EXPECT_TRUE(all[0].times_ms.empty());
    EXPECT_EQ(all[1].status, Status::failed);
    EXPECT_EQ(all[2].status, Status::not_run);
    EXPECT_EQ(all[2].reason, "the GPU could not be used after b");
    EXPECT_EQ(runner.proved, (std::vector<std::string>{"a", "b"}));
}

TEST_F(Bench, AFailureWhileTimingTakesTheTimesBack) {
    Variant v = variant("a");
    int launches = 0;
    v.launch = [&] {
        output_is_right = true;
        if (++launches == 5) throw std::runtime_error("the fifth launch failed");
    };
    const std::vector<Variant> one = {v};
    const auto all = run(one);
    EXPECT_EQ(all[0].status, Status::failed);
    EXPECT_EQ(all[0].reason, "the fifth launch failed");
    EXPECT_TRUE(all[0].times_ms.empty());
}

TEST_F(Bench, ACheckThatPassesOnPoisonProvesNothing) {
    Variant v = variant("a");
    v.check = right;
    const std::vector<Variant> one = {v};
    const auto all = run(one);
    EXPECT_EQ(all[0].status, Status::wrong);
    EXPECT_EQ(all[0].reason, "its check passes on a poisoned output: it proves nothing");
    EXPECT_TRUE(runner.timed.empty());
}

TEST_F(Bench, AComparisonOfNothingProvesNothing) {
    Variant v = variant("a", [] { return Comparison{}; });
    const std::vector<Variant> one = {v};
    const auto all = run(one);
    EXPECT_EQ(all[0].status, Status::wrong);
    EXPECT_EQ(all[0].reason, "nothing was compared");
}

// A variant that works only every second time is caught whatever the number of rounds, and whatever its parity.
TEST_F(Bench, LaunchesThatWorkEverySecondTimeAreCaught) {
    for (const int parity : {0, 1})
        for (const int repeats : {1, 2, 3, 4, 50, 51})
            for (const double ms : {1.0, 0.025, 0.034}) {  // batches of 1, 4 and 3
                options.repeats = repeats;
                runner.ms["a"] = ms;
                Variant v = variant("a");
                int launches = 0;
                v.launch = [&] {
                    if (launches++ % 2 == parity) output_is_right = true;
                };
                const std::vector<Variant> one = {v};
                EXPECT_EQ(run(one)[0].status, Status::wrong) << parity << " " << repeats << " " << ms;
            }
}

// So is one that works only where the output is wrong: its second launch takes no time.
TEST_F(Bench, LaunchesThatSkipARightOutputAreCaught) {
    for (const int repeats : {1, 2, 50, 51}) {
        options.repeats = repeats;
        Variant v = variant("a");
        v.launch = [&] {
            runner.ms["a"] = output_is_right ? 0.001 : 1.0;
            output_is_right = true;
        };
        const std::vector<Variant> one = {v};
        const auto all = run(one);
        EXPECT_EQ(all[0].status, Status::wrong) << repeats;
        EXPECT_TRUE(all[0].times_ms.empty());
    }
}

TEST_F(Bench, WorkThatTheEventsDoNotCoverIsCaught) {
    runner.uncovered = 0.2;  // the device goes on working for 0.2 ms after a sample of 1 ms
    const std::vector<Variant> one = {variant("a")};
    const auto all = run(one);
    EXPECT_EQ(all[0].status, Status::wrong);
    EXPECT_EQ(all[0].reason,
              "the GPU still works when the default stream has ended: work that was not timed");
    runner.uncovered = 0.04;  // no more than a host takes to ask
    EXPECT_EQ(run(one)[0].status, Status::ok);
}

TEST_F(Bench, TheSameBitsEachTime) {
    Variant v = variant("a");
    uint64_t bits = 7;
    v.fingerprint = [&] { return bits; };
    const std::vector<Variant> steady = {v};
    EXPECT_EQ(run(steady)[0].status, Status::ok);
    v.fingerprint = [&] { return bits++; };
    const std::vector<Variant> drifting = {v};
    const auto all = run(drifting);
    EXPECT_EQ(all[0].status, Status::wrong);
    EXPECT_EQ(all[0].reason, "after the timing: right, but not the bits that it gave before");
}

TEST_F(Bench, OneRoundIsOneSample) {
    options.repeats = 1;
    problem.host_clock = true;
    const std::vector<Variant> one = {variant("a")};
    const auto all = run(one);
    EXPECT_EQ(all[0].status, Status::ok);
    EXPECT_EQ(all[0].times_ms.size(), 1u);
    EXPECT_EQ(all[0].host_ms.size(), 1u);
}

TEST(Rates, AreByTheSecondOrTheTimeOfOne) {
    EXPECT_DOUBLE_EQ((Rate{"GB/s", 2e9}.in(500)), 4);
    EXPECT_DOUBLE_EQ((Rate{"TFLOP/s", 2e12}.in(500)), 4);
    EXPECT_DOUBLE_EQ((Rate{"Mkeys/s", 3e6}.in(1000)), 3);
    EXPECT_DOUBLE_EQ((Rate{"us/kernel", 20}.in(0.04)), 2);
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
