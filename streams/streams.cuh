// streams.cuh: what the programs of this family share. The thing that they measure is a pipeline: copies, kernels and
// calls of the runtime, whole, on the default stream or on streams that fork from it and join it again.
#pragma once
#include <deque>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "cuda_error.cuh"
#include "device_memory.cuh"
#include "fill.hpp"
#include "grid.cuh"
#include "program.hpp"

/// An event without a time: it orders, and costs less than one that measures.
class OrderEvent {
 public:
    OrderEvent() { CHECK_CUDA_CALL(cudaEventCreateWithFlags(&event, cudaEventDisableTiming)); }
    ~OrderEvent() { cudaEventDestroy(event); }
    OrderEvent(const OrderEvent&) = delete;
    OrderEvent& operator=(const OrderEvent&) = delete;

    /// Stands for all that the stream has been given so far.
    void record(cudaStream_t stream) { CHECK_CUDA_CALL(cudaEventRecord(event, stream)); }
    /// What the stream is given from now on waits for what the event stands for.
    void hold(cudaStream_t stream) const { CHECK_CUDA_CALL(cudaStreamWaitEvent(stream, event, 0)); }
    /// The host waits for it.
    void wait() const { CHECK_CUDA_CALL(cudaEventSynchronize(event)); }

 private:
    cudaEvent_t event{};
};

/// Streams beside the default one. The time is taken by events on the default stream: so they fork from it, and join it.
class Streams {
 public:
    /// cudaStreamNonBlocking: the default stream does not wait for them, nor they for it, but where we say so.
    explicit Streams(int count, unsigned flags = cudaStreamNonBlocking) : streams(count), joined(count) {
        for (cudaStream_t& s : streams) CHECK_CUDA_CALL(cudaStreamCreateWithFlags(&s, flags));
    }
    ~Streams() {
        for (cudaStream_t s : streams) cudaStreamDestroy(s);
    }
    Streams(const Streams&) = delete;
    Streams& operator=(const Streams&) = delete;

    cudaStream_t operator[](int64_t i) const { return streams[i % streams.size()]; }
    int count() const { return static_cast<int>(streams.size()); }
    void fork() {
        forked.record(nullptr);
        for (cudaStream_t s : streams) forked.hold(s);
    }
    void join() {
        for (size_t i = 0; i < streams.size(); ++i) {
            joined[i].record(streams[i]);
            joined[i].hold(nullptr);
        }
    }

 private:
    std::vector<cudaStream_t> streams;
    OrderEvent forked;
    std::deque<OrderEvent> joined;
};

/// A program of this family. `Work` is its problem:
///     explicit Work(Program&)        adds its options and sizes to the command line
///     std::string nothing_to_do()    why an empty problem is one, or ""
///     void prepare(const Program&)   checks the options, makes buffers and inputs
///     Problem problem(const Program&)
///     void poison()                  0xFF into every output
///     Comparison check()
template <typename Work>
class Lesson {
 public:
    struct Row : Label {
        std::function<void(Work&)> launch = {};
        std::function<Comparison(Work&)> check = &Work::check;
        std::function<void(Work&)> restore = {};
        std::function<double(const Work&)> bytes = {};
        std::function<std::string(const Work&)> obstacle = {};  ///< why it cannot run here, or ""
    };

    Lesson(const char* name, const char* about, int argc, char** argv)
        : program("streams", name, about, argc, argv), work(program) {}

    Program program;
    Work work;

    Row& rung(const std::string& name, const std::string& note, std::function<void(Work&)> launch) {
        return add(name, note, Role::rung, std::move(launch));
    }
    Row& ceiling(const std::string& name, const std::string& note, std::function<void(Work&)> launch) {
        return add(name, note, Role::ceiling, std::move(launch));
    }
    Row& peer(const std::string& name, const std::string& note, std::function<void(Work&)> launch) {
        return add(name, note, Role::peer, std::move(launch));
    }

    int run() {
        return program.run({rows.begin(), rows.end()}, [this] {
            const std::string nothing = work.nothing_to_do();
            if (!nothing.empty()) return program.nothing_to_do(nothing);
            program.open_device();
            work.prepare(program);
            Problem problem = work.problem(program);
            problem.working_set = std::numeric_limits<double>::infinity();
            problem.host_clock = true;
            problem.poison = [this] { work.poison(); };
            if (program.options.print && !problem.show)
                throw UsageError("--print: there is nothing to show here");
            std::vector<Variant> variants;
            for (const Row& row : rows) {
                Variant v{row};
                v.launch = [this, &row] { row.launch(work); };
                v.check = [this, &row] { return row.check(work); };
                if (row.restore) v.restore = [this, &row] { row.restore(work); };
                if (row.bytes) v.bytes = row.bytes(work);
                if (row.obstacle) v.cannot_run = row.obstacle(work);
                variants.push_back(v);
            }
            return program.measure(problem, variants);
        });
    }

 private:
    Row& add(const std::string& name, const std::string& note, Role role, std::function<void(Work&)> launch) {
        rows.push_back({{name, note, role}, std::move(launch)});
        return rows.back();
    }

    std::deque<Row> rows;
};
