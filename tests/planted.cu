// planted.cu: variants with faults on purpose, each of which the harness must find: out[i] = i, for n floats.
#include <cmath>
#include <cstdio>
#include <stdexcept>

#include "ladder.hpp"

struct Planted {
    static constexpr const char* NAME = "tests";
    using Types = TypeList<void>;
    enum class Check { right, nothing, constants };
    struct Traits {
        Check check_with = Check::right;
    };
    template <typename>
    struct Task {
        float *out, *other;
        int n;
        mutable int launches = 0;
        cudaStream_t side;
        cudaEvent_t forked;
        int blocks() const { return (n + THREADS - 1) / THREADS; }
    };
    static constexpr int THREADS = 128;

    explicit Planted(Program& program) {
        program.command_line.size("--n", n, 1, 1 << 28, 1000, "cells");
        program.test_sizes = {"--n 1000"};
    }
    std::string nothing_to_do() const { return ""; }
    int64_t n = 1 << 26;

    template <typename T>
    struct Work {
        static double host_bytes(const Planted& family) { return 4.0 * static_cast<double>(family.n); }
        Work(const Planted& family, const Program&) : out(family.n), other(family.n), got(family.n) {
            CHECK_CUDA_CALL(cudaStreamCreateWithFlags(&task.side, cudaStreamNonBlocking));
            CHECK_CUDA_CALL(cudaEventCreateWithFlags(&task.forked, cudaEventDisableTiming));
            task.out = out.data();
            task.other = other.data();
            task.n = static_cast<int>(family.n);
        }
        ~Work() {
            cudaStreamDestroy(task.side);
            cudaEventDestroy(task.forked);
        }
        void describe(Problem& problem) const {
            problem.headline = std::to_string(task.n) + " cells";
            problem.rates = {{"GB/s", 4.0 * task.n}};
            problem.working_set = 4.0 * task.n;
        }
        void poison() {
            out.poison();
            other.poison();
        }
        Comparison check(const Traits& variant) {
            out.download(got.data());
            const auto same = [](int64_t) { return 0; };
            if (variant.check_with == Check::nothing) return compare(0, 0, same, same);
            if (variant.check_with == Check::constants) return compare(task.n, 0, same, same);
            return compare(
                task.n, 0, [&](int64_t i) { return got[i]; },
                [](int64_t i) { return static_cast<double>(static_cast<float>(i)); });
        }
        Task<T> task{};

     private:
        DeviceBuffer<float> out, other;
        std::vector<float> got;
    };
};

__global__ void count_up(float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = i;
}
__global__ void set(float* out, int n, float value) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = value;
}
/// A block has CELLS of its own. Where the first is right already, it does nothing.
constexpr int CELLS = 4096;
__global__ void count_up_where_wrong(float* out, int n) {
    __shared__ bool done;
    const int first = blockIdx.x * CELLS;
    if (threadIdx.x == 0) done = out[first] == static_cast<float>(first);
    __syncthreads();
    for (int i = first + threadIdx.x; !done && i < min(n, first + CELLS); i += blockDim.x) out[i] = i;
}
__global__ void past_the_end(float* out, int) {
    const int64_t i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i << 32] = i;
}

using Task = Planted::Task<void>;
void right(const Task& t) {
    count_up<<<t.blocks(), Planted::THREADS>>>(t.out, t.n);
}

int main(int argc, char** argv) {
    constexpr int THREADS = Planted::THREADS;
    Ladder<Planted> ladder("planted", "Faults on purpose: a test of the harness.", argc, argv);
    const auto fault = [&](const char* name, auto launch) -> auto& {
        return ladder.variant(name, "a fault", launch);
    };
    ladder.variant("right", "nothing wrong here", right);
    fault("nothing", [](const Task&) {});
    fault("half", [](const Task& t) { count_up<<<t.blocks(), THREADS>>>(t.out, t.n / 2); });
    fault("stale_last", [](const Task& t) { count_up<<<t.blocks(), THREADS>>>(t.out, t.n - 1); });
    fault("not_a_number", [](const Task& t) { set<<<t.blocks(), THREADS>>>(t.out, t.n, NAN); });
    fault("infinite", [](const Task& t) { set<<<t.blocks(), THREADS>>>(t.out, t.n, INFINITY); });
    fault("compares_nothing", right).check_with = Planted::Check::nothing;
    fault("compares_constants", right).check_with = Planted::Check::constants;
    fault("block_too_large", [](const Task& t) { count_up<<<t.blocks(), 1500>>>(t.out, t.n); });
    fault("grid_too_high", [](const Task& t) { count_up<<<dim3(1, 65536), THREADS>>>(t.out, t.n); });
    fault("too_much_shared", [](const Task& t) { count_up<<<t.blocks(), THREADS, 1 << 20>>>(t.out, t.n); });
    fault("side_stream", [](const Task& t) { count_up<<<t.blocks(), THREADS, 0, t.side>>>(t.out, t.n); });
    fault("fork_no_join", [](const Task& t) {
        cudaEventRecord(t.forked, nullptr);
        cudaStreamWaitEvent(t.side, t.forked, 0);
        count_up<<<t.blocks(), THREADS, 0, t.side>>>(t.out, t.n);
    });
    fault("first_launch_only", [](const Task& t) {
        if (t.launches++ == 0) right(t);
    });
    fault("every_second",
          [](const Task& t) { count_up<<<t.blocks(), THREADS>>>(t.launches++ % 2 ? t.other : t.out, t.n); });
    fault("skips_if_done",
          [](const Task& t) { count_up_where_wrong<<<(t.n + CELLS - 1) / CELLS, THREADS>>>(t.out, t.n); });
    fault("throws", [](const Task&) { throw std::runtime_error("the library said no"); });
    fault("out_of_memory", [](const Task&) { DeviceBuffer<char> big(int64_t{1} << 60); });
    fault("error_left_behind", [](const Task& t) {
        void* none = nullptr;
        (void)cudaMalloc(&none, size_t{1} << 60);
        right(t);
    });
    ladder.variant("cannot", "cannot run here", right).unless([](const DeviceInfo&, const Task&) {
        return "this GPU lacks it";
    });
    ladder.baseline("library", "the baseline", right);
    fault("illegal_address", [](const Task& t) { past_the_end<<<t.blocks(), THREADS>>>(t.out, t.n); });
    ladder.variant("after", "nothing wrong here either", right);
    return ladder.run();
}
