// streams.cuh: what the programs of this family share. The thing that they measure is a pipeline: copies, kernels and
// calls of the runtime, whole, on the default stream or on streams that fork from it and join it again.
#pragma once
#include <cstring>
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
#include "ladder.hpp"
#include "parallel.hpp"

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

/// As DeviceBuffer::poison(), for memory of the host.
inline void poison_host(void* memory, int64_t bytes) {
    parallel_ranges(bytes, [memory](int64_t begin, int64_t end) {
        std::memset(static_cast<char*>(memory) + begin, 0xFF, end - begin);
    });
}

/// What the programs have in common is little: each has a problem of its own, a class with
///     explicit ProgramsWork(Program&)       adds its options and sizes to the command line
///     std::string nothing_to_do() const     why an empty problem is one, or ""
///     double host_bytes() const             host memory that it will fill
///     void prepare(const Program&)          checks the options, makes buffers and inputs
///     void describe(Problem&)               headline, rates, ceiling
///     void poison()                         0xFF into all that a variant may write
///     Comparison check()
/// and, for --print, `void show(const std::string& variant)`. A launch gets all of it.
template <typename ProgramsWork>
struct StreamsFamily {
    static constexpr const char* NAME = "streams";
    using Types = TypeList<void>;
    struct Traits {
        std::function<Comparison(ProgramsWork&)> check = &ProgramsWork::check;
        std::function<void(ProgramsWork&)> restore = {};
        std::function<double(const ProgramsWork&)> bytes = {};  ///< where they are not those of the problem
    };
    template <typename>
    using Task = ProgramsWork;

    explicit StreamsFamily(Program& program) : work(program) {}
    std::string nothing_to_do() const { return work.nothing_to_do(); }

    ProgramsWork work;

    template <typename>
    struct Work {
        static double host_bytes(const StreamsFamily& family) { return family.work.host_bytes(); }

        Work(StreamsFamily& family, const Program& program) : task(family.work) { task.prepare(program); }
        void describe(Problem& problem) const {
            problem.working_set = std::numeric_limits<double>::infinity();
            problem.host_clock = true;
            task.describe(problem);
        }
        void describe(Variant& v, const Traits& traits) {
            if (traits.restore) v.restore = [this, &traits] { traits.restore(task); };
            if (traits.bytes) v.rates = {{"GB/s", traits.bytes(task)}};
        }
        void poison() { task.poison(); }
        Comparison check(const Traits& variant) { return variant.check(task); }
        template <typename W = ProgramsWork>
        auto show(const std::string& variant) -> decltype(std::declval<W&>().show(variant)) {
            task.show(variant);
        }

        ProgramsWork& task;
    };
};

template <typename ProgramsWork>
using StreamsLadder = Ladder<StreamsFamily<ProgramsWork>>;
