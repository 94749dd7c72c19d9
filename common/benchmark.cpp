#include "benchmark.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <memory>

#include "cuda_timer.cuh"
#include "device_memory.cuh"
#include "simulation.hpp"

double Rate::in(double milliseconds) const {
    if (unit.rfind("us/", 0) == 0) return milliseconds * 1e3 / amount;
    const double scale = unit[0] == 'T'   ? 1e12
                         : unit[0] == 'G' ? 1e9
                         : unit[0] == 'M' ? 1e6
                         : unit[0] == 'k' ? 1e3
                                          : 1;
    return amount / (milliseconds / 1e3) / scale;
}

const char* name_of(Role role) {
    return role == Role::rung ? "rung" : role == Role::ceiling ? "ceiling" : "baseline";
}

const char* name_of(Status status) {
    switch (status) {
        case Status::ok:
            return "ok";
        case Status::wrong:
            return "wrong";
        case Status::failed:
            return "failed";
        case Status::skipped:
            return "skipped";
        case Status::not_run:
            return "not run";
        default:
            return "unchecked";
    }
}

void Measurement::fail(Status how, const std::string& why) {
    status = how;
    reason = why;
    times_ms.clear();
    host_ms.clear();
    readings.clear();
    counts.reset();
}

namespace {

constexpr double SHORT_LAUNCH_MS = 0.05;  // below this the events' own resolution (0.5 us) would show
constexpr double BATCH_FILLS_MS = 0.1;
constexpr int MAX_BATCH = 100000;
// Work that goes on for longer than this after the last event, and than a tenth of the sample, is not covered by it.
constexpr double UNCOVERED_MS = 0.05;
// A launch that is so much faster on its own right output than on a poisoned one does not do the work again. Where
// both are shorter than the resolution allows, nothing is said.
constexpr double REPEATED_LESS = 0.75, REPEATED_LEAST_MS = 0.01;
constexpr int SECOND_LOOKS = 4;  // a host that was interrupted is no fault: all looks must agree
// Under the simulator a launch of at most this many thread instructions is repeated to see that it works again.
constexpr uint64_t CHEAP_INSTRUCTIONS = 2000000;

void progress(const Options& options, const std::string& text) {
    static const bool terminal = isatty(STDERR_FILENO);
    if (terminal && !options.quiet) fmt::print(stderr, "\r\033[K{}", text);
}

/// The run of one program: what its steps have in common.
class Bench {
 public:
    Bench(const Problem& problem, const Options& options, Runner& runner)
        : problem(problem), options(options), runner(runner) {}

    /// Runs a step of one variant. What goes wrong there ends this variant alone, unless it took the GPU along.
    template <typename Step>
    void guarded(Measurement& m, const Step& step) {
        if (!lost_with.empty()) {
            m.fail(Status::not_run, fmt::format("the GPU could not be used after {}", lost_with));
            return;
        }
        try {
            step();
        } catch (const std::bad_alloc&) {
            m.fail(Status::failed, "out of memory on the host");
        } catch (const std::exception& error) {
            m.fail(Status::failed, error.what());
        }
        if (m.status == Status::failed && !runner.is_usable()) lost_with = m.variant->name;
    }

    /// One launch on a poisoned output, and the comparison of its result.
    void prove(Measurement& m) {
        poison(m);
        if (simulated()) simulation::reset_counts();
        const uint64_t faults_before = simulation::faults();
        runner.run(*m.variant);
        if (const char* why = simulation::not_simulated()) {
            m.status = Status::skipped;
            m.reason = why;
            return;
        }
        if (simulated()) m.counts = simulation::counts();
        if (options.explain) m.explanation = simulation::explain();
        check(m);
        if (simulation::faults() > faults_before)
            m.fail(Status::wrong, "the simulator found a fault (above)");
    }

    /// A check that passes on a poisoned output proves nothing.
    void prove_the_check(Measurement& m) {
        if (options.check != "full" || m.status != Status::ok || m.variant->restore) return;
        problem.poison();
        if (m.variant->check().ok())
            m.fail(Status::wrong, "its check passes on a poisoned output: it proves nothing");
    }

    /// Under the simulator: launches that come second, on a poisoned output and on their own.
    void prove_repeats(Measurement& m) {
        if (m.status != Status::ok || !m.counts || m.counts->thread_instructions > CHEAP_INSTRUCTIONS) return;
        Measurement again = m;
        prove(again);
        if (again.status != Status::ok) {
            m.fail(again.status, "the second launch: " + again.reason);
            return;
        }
        if (m.variant->restore) m.variant->restore();
        simulation::reset_counts();
        runner.run(*m.variant);
        const auto stores = [](const Counts& counts) { return counts.traffic[GLOBAL_STORE].requests; };
        if (2 * stores(simulation::counts()) < stores(*again.counts))
            m.fail(Status::wrong,
                   "stores less where its output is right already: it does not do the work again");
    }

    void choose_batch(Measurement& m) {
        const Variant& v = *m.variant;
        m.batch = 1;
        // What is restored or flushed before a sample is so for the first launch alone.
        if (v.restore || options.cold) return;
        if (options.batch > 0) {
            m.batch = options.batch;
            return;
        }
        runner.time(v, 1);  // the first launch loads the kernel
        if (runner.time(v, 1) >= SHORT_LAUNCH_MS) return;
        const double one = runner.time(v, 16) / 16;
        m.batch = std::clamp(static_cast<int>(std::ceil(BATCH_FILLS_MS / std::max(one, 1e-6))), 1, MAX_BATCH);
    }

    void warm_up(Measurement& m) {
        for (double spent = 0; spent < options.warmup_ms;)
            spent += std::max(runner.time(*m.variant, m.batch), 0.01);
    }

    void sample(Measurement& m) {
        const double elapsed = runner.time(*m.variant, m.batch);
        if (!(elapsed > 0)) throw std::runtime_error(fmt::format("took {} ms by the event timer", elapsed));
        m.times_ms.push_back(elapsed / m.batch);
        if (problem.host_clock) m.host_ms.push_back(runner.host_ms() / m.batch);
        if (m.variant->read) m.readings.push_back(m.variant->read());
    }

    /// A sample on a poisoned output, which is then checked. Two of these in a row check an odd and an even launch.
    void checked_sample(Measurement& m) {
        poison(m);
        sample(m);
        for (int look = 0; is_uncovered(m); ++look) {
            if (look == SECOND_LOOKS) {
                m.fail(Status::wrong,
                       "the GPU still works when the default stream has ended: work that was not timed");
                return;
            }
            runner.time(*m.variant, m.batch);
        }
        check(m);
        if (m.status == Status::wrong) m.fail(Status::wrong, "after the timing: " + m.reason);
    }

    /// In a batch one launch that works hides others that do not. So: is each of two launches in a row right alone, and
    /// does a launch do the work again where its output is right already?
    void prove_each_launch(Measurement& m) {
        for (int launch = 0; launch < 2 && m.batch > 1; ++launch) {
            poison(m);
            runner.time(*m.variant, 1);
            check(m);
            if (m.status == Status::wrong) {
                m.fail(Status::wrong, "a launch alone, after the timing: " + m.reason);
                return;
            }
        }
        for (int look = 0; look <= SECOND_LOOKS; ++look) {
            poison(m);
            const double on_poison = runner.time(*m.variant, 1), on_its_own = runner.time(*m.variant, 1);
            if (on_poison < REPEATED_LEAST_MS || on_its_own > REPEATED_LESS * on_poison) return;
        }
        m.fail(Status::wrong, "is faster where its output is right already: it does not do the work again");
    }

 private:
    void poison(const Measurement& m) {
        problem.poison();
        if (m.variant->restore) m.variant->restore();
    }

    void check(Measurement& m) {
        if (options.check != "full") return;
        m.comparison = m.variant->check();
        if (!m.comparison.ok()) {
            m.fail(Status::wrong, m.comparison.describe());
            return;
        }
        m.status = Status::ok;
        if (!m.variant->fingerprint) return;
        const uint64_t bits = m.variant->fingerprint();
        if (m.fingerprint && *m.fingerprint != bits)
            m.fail(Status::wrong, "right, but not the bits that it gave before");
        m.fingerprint = bits;
    }

    bool is_uncovered(const Measurement& m) const {
        return runner.uncovered_ms() > std::max(UNCOVERED_MS, 0.1 * m.batch * m.times_ms.back());
    }

    const Problem& problem;
    const Options& options;
    Runner& runner;
    std::string lost_with;  ///< the variant after which the GPU could not be used any more
};

}  // namespace

std::vector<Measurement> run_variants(const Problem& problem, const std::vector<Variant>& variants,
                                      const Options& options, Runner& runner) {
    Bench bench(problem, options, runner);
    std::vector<Measurement> all(variants.size());
    const auto each_timed = [&](const auto& step) {
        for (Measurement& m : all)
            if (m.is_timed()) bench.guarded(m, [&] { step(m); });
    };

    for (size_t i = 0; i < variants.size(); ++i) {
        Measurement& m = all[i];
        m.variant = &variants[i];
        if (!m.variant->cannot_run.empty()) {
            m.status = Status::skipped;
            m.reason = m.variant->cannot_run;
            continue;
        }
        progress(options, fmt::format("{}: checking", m.variant->name));
        bench.guarded(m, [&] {
            bench.prove(m);
            if (options.print && problem.show && m.status != Status::skipped) problem.show(m.variant->name);
            if (options.profile) return;
            if (simulated()) bench.prove_repeats(m);
            bench.prove_the_check(m);
        });
    }

    if (!options.profile && !simulated()) {
        each_timed([&](Measurement& m) {
            progress(options, fmt::format("{}: warming up", m.variant->name));
            bench.choose_batch(m);
            bench.warm_up(m);
        });
        // The last two rounds are checked; a single round has a second one beside it, which is not kept.
        const int rounds = std::max(options.repeats, 2);
        for (int round = 0; round < rounds; ++round) {
            progress(options, fmt::format("round {} of {}", round + 1, rounds));
            each_timed([&](Measurement& m) {
                if (round < rounds - 2)
                    bench.sample(m);
                else
                    bench.checked_sample(m);
            });
        }
        each_timed([&](Measurement& m) {
            progress(options, fmt::format("{}: checking again", m.variant->name));
            bench.prove_each_launch(m);
            const size_t kept = options.repeats;
            if (m.times_ms.size() > kept) m.times_ms.resize(kept);
            if (m.host_ms.size() > kept) m.host_ms.resize(kept);
            if (m.readings.size() > kept) m.readings.resize(kept);
        });
    }
    progress(options, "");
    return all;
}

namespace {

// Holds the default stream back until the host has asked for a whole sample. Otherwise a GPU that was idle notes the
// start at once and then waits for the host, whose way to the first kernel is 5 us here and may be 60 us in a library.
class Gate {
 public:
    void close() {
        is_open = false;
        CHECK_CUDA_CALL(cudaLaunchHostFunc(nullptr, wait, this));
    }
    void open() { is_open = true; }

 private:
    // A launch that waits for the GPU itself must not wait for ever.
    static constexpr std::chrono::milliseconds LONGEST{2};

    static void CUDART_CB wait(void* gate) {
        const auto end = std::chrono::steady_clock::now() + LONGEST;
        while (!static_cast<Gate*>(gate)->is_open && std::chrono::steady_clock::now() < end) {
        }
    }

    std::atomic<bool> is_open{true};
};

class GpuRunner : public Runner {
 public:
    GpuRunner(bool cold, int64_t l2_bytes, bool host_clock)
        : host_clock(host_clock), flush(cold ? 2 * l2_bytes : 0) {}

    void run(const Variant& variant) override {
        variant.launch();
        if (simulation::not_simulated()) {
            cudaGetLastError();
            return;
        }
        CHECK_KERNEL();
        CHECK_CUDA_CALL(cudaStreamSynchronize(nullptr));
    }

    double time(const Variant& variant, int batch) override {
        if (variant.restore) variant.restore();
        if (flush.count()) flush.poison();
        if (host_clock) CHECK_CUDA_CALL(cudaDeviceSynchronize());
        if (batch == 1 && !host_clock) gate.close();
        // Whatever happens in a launch, the stream must not wait.
        struct Opener {
            Gate& gate;
            ~Opener() { gate.open(); }
        } opener{gate};
        const auto begin = now();
        timer.start();
        for (int i = 0; i < batch; ++i) variant.launch();
        CHECK_KERNEL();
        timer.stop();
        gate.open();
        const double elapsed = timer.elapsed();
        host_elapsed = ms_since(begin);
        const auto end = now();
        CHECK_CUDA_CALL(cudaDeviceSynchronize());
        uncovered = ms_since(end);
        return elapsed;
    }

    double host_ms() const override { return host_elapsed; }
    double uncovered_ms() const override { return uncovered; }

    bool is_usable() override {
        cudaGetLastError();
        const bool usable = cudaDeviceSynchronize() == cudaSuccess && cudaFree(nullptr) == cudaSuccess;
        cudaGetLastError();
        return usable;
    }

 private:
    using Clock = std::chrono::steady_clock;
    static Clock::time_point now() { return Clock::now(); }
    static double ms_since(Clock::time_point begin) {
        return std::chrono::duration<double, std::milli>(now() - begin).count();
    }

    const bool host_clock;
    double host_elapsed = 0, uncovered = 0;
    CudaTimer timer;
    Gate gate;
    DeviceBuffer<char> flush;
};

}  // namespace

std::unique_ptr<Runner> gpu_runner(bool cold, int64_t l2_bytes, bool host_clock) {
    return std::make_unique<GpuRunner>(cold, l2_bytes, host_clock);
}
