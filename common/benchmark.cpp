#include "benchmark.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <memory>

#include "cuda_timer.cuh"
#include "device_info.hpp"
#include "device_memory.cuh"
#include "simulation.hpp"

namespace {

constexpr double SHORT_LAUNCH_MS = 0.05;  // below this the events' own resolution (0.5 us) would show
constexpr double BATCH_FILLS_MS = 0.1;
constexpr int MAX_BATCH = 100000;

void progress(const Options& options, const std::string& text) {
    static const bool terminal = isatty(STDERR_FILENO);
    if (terminal && !options.quiet) fmt::print(stderr, "\r\033[K{}", text);
}

// One launch on a poisoned output, and the comparison of its result.
void prove(const Problem& problem, const Options& options, Runner& runner, Measurement& m) {
    problem.poison();
    if (m.variant->restore) m.variant->restore();
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
    if (options.check == "full") {
        m.comparison = m.variant->check();
        m.status = m.comparison.ok() ? Status::ok : Status::wrong;
        if (!m.comparison.ok()) m.reason = m.comparison.describe();
    }
    if (simulation::faults() > faults_before) {
        m.status = Status::wrong;
        m.reason = "the simulator found a fault (above)";
    }
}

// The launches that one sample takes.
int choose_batch(const Variant& variant, const Options& options, Runner& runner) {
    // What is restored or flushed before a sample is so for the first launch alone.
    if (variant.restore || options.cold) return 1;
    if (options.batch > 0) return options.batch;
    runner.time(variant, 1);  // the first launch loads the kernel
    if (runner.time(variant, 1) >= SHORT_LAUNCH_MS) return 1;
    const double one = runner.time(variant, 16) / 16;
    return std::clamp(static_cast<int>(std::ceil(BATCH_FILLS_MS / std::max(one, 1e-6))), 1, MAX_BATCH);
}

bool is_timed(const Measurement& m) {
    return m.status == Status::ok || m.status == Status::unchecked;
}

}  // namespace

const char* name_of(Role role) {
    return role == Role::rung ? "rung" : role == Role::ceiling ? "ceiling" : "peer";
}

const char* name_of(Status status) {
    switch (status) {
        case Status::ok:
            return "ok";
        case Status::wrong:
            return "wrong";
        case Status::skipped:
            return "skipped";
        default:
            return "unchecked";
    }
}

std::vector<Measurement> run_ladder(const Problem& problem, const std::vector<Variant>& variants,
                                    const Options& options, Runner& runner) {
    std::vector<Measurement> all;
    for (const Variant& v : variants) {
        Measurement m;
        m.variant = &v;
        if (!v.cannot_run.empty()) {
            m.status = Status::skipped;
            m.reason = v.cannot_run;
        } else {
            progress(options, fmt::format("{}: checking", v.name));
            prove(problem, options, runner, m);
            if (options.print && problem.show && m.status != Status::skipped) problem.show(v.name);
        }
        all.push_back(m);
    }

    if (!options.profile && !simulated()) {
        for (Measurement& m : all) {
            if (!is_timed(m)) continue;
            progress(options, fmt::format("{}: warming up", m.variant->name));
            m.batch = choose_batch(*m.variant, options, runner);
            for (double spent = 0; spent < options.warmup_ms;)
                spent += std::max(runner.time(*m.variant, m.batch), 0.01);
        }
        for (int round = 0; round < options.repeats; ++round) {
            progress(options, fmt::format("round {} of {}", round + 1, options.repeats));
            for (Measurement& m : all) {
                if (!is_timed(m)) continue;
                const double elapsed = runner.time(*m.variant, m.batch);
                if (!(elapsed > 0))
                    throw std::runtime_error(
                        fmt::format("{} took {} ms by the event timer", m.variant->name, elapsed));
                m.times_ms.push_back(elapsed / m.batch);
                if (problem.host_clock) m.host_ms.push_back(runner.host_ms() / m.batch);
                if (m.variant->read) m.readings.push_back(m.variant->read());
            }
        }
        // A fault that needs many launches to show must not leave a time behind.
        for (Measurement& m : all) {
            if (!is_timed(m)) continue;
            progress(options, fmt::format("{}: checking again", m.variant->name));
            prove(problem, options, runner, m);
            if (m.status == Status::wrong) {
                m.reason = "after the timing: " + m.reason;
                m.times_ms.clear();
                m.host_ms.clear();
                m.readings.clear();
            }
        }
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
        CHECK_CUDA_CALL(cudaDeviceSynchronize());
    }

    double time(const Variant& variant, int batch) override {
        if (variant.restore) variant.restore();
        if (flush.count()) flush.poison();
        if (host_clock) CHECK_CUDA_CALL(cudaDeviceSynchronize());
        if (batch == 1 && !host_clock) gate.close();
        const auto begin = std::chrono::steady_clock::now();
        timer.start();
        for (int i = 0; i < batch; ++i) variant.launch();
        CHECK_KERNEL();
        timer.stop();
        gate.open();
        const double elapsed = timer.elapsed();
        host_elapsed =
            std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
        return elapsed;
    }

    double host_ms() const override { return host_elapsed; }

 private:
    const bool host_clock;
    double host_elapsed = 0;
    CudaTimer timer;
    Gate gate;
    DeviceBuffer<char> flush;
};

}  // namespace

std::unique_ptr<Runner> gpu_runner(bool cold, int64_t l2_bytes, bool host_clock) {
    return std::make_unique<GpuRunner>(cold, l2_bytes, host_clock);
}
