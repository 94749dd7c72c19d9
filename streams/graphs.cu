// graphs.cu: what a launch costs, and five ways to pay less.
//
// Problem: a chain of short kernels, each of which needs what the one before it wrote.
// Stream:  the host launches each of them; where a kernel is shorter than a launch, the GPU waits for the host.
// Graph:   the launches are recorded once (capture), checked and prepared (instantiate), and replayed by one call. What
//          changes between replays is set in the prepared graph: the parameters of one node, or all of it, from a new
//          recording of the same shape.
// Programmatic dependent launch (sm_90): a kernel says that the next one may be launched, and that one gets on the
//          multiprocessors and waits there. Where it is said decides: at once (graph_early) is right for the shortest
//          kernels; with longer ones the blocks that wait take the place of those that work.
// Persistent: one launch stays for all steps, with a barrier of the whole grid between two (as many blocks as fit).
// Cost:    a graph is worth it after a few replays; a barrier of the grid holds all multiprocessors for the whole chain.
// Limit:   one_kernel, the arithmetic of all kernels in one, without any order between blocks.
// Beyond the texts, which launch one kernel at a time.
#include <cooperative_groups.h>

#include <memory>

#include "advance.cuh"
#include "streams.cuh"

/// Steps from `in` to `x`, and then, step by step, in x.
class Chain {
 public:
    explicit Chain(Program& program) {
        program.command_line.size("--n", n, 0, int64_t{1} << 30, 1000, "ints that a kernel advances");
        program.command_line.size("--kernels", kernels, 1, 100000, 10, "length of the chain");
        program.command_line.number("--rounds", rounds, 0, 1 << 20,
                                    "rounds of arithmetic in each kernel: its length");
        for (const char* rounds : {"1", "500", "2500", "10000"})
            program.sweep_sizes.push_back("--repeats 10 --rounds " + std::string(rounds));
        program.sweep_sizes.push_back("--repeats 10 --rounds 1 --n 512Ki");
        program.test_sizes = {"--n 0",
                              "--n 1 --kernels 1",
                              "--n 255 --kernels 2",
                              "--n 257 --kernels 3 --rounds 0",
                              "--n 5003 --kernels 5 --rounds 17",
                              "--n 40011 --kernels 2 --rounds 1"};
    }
    ~Chain() {
        for (cudaGraphExec_t graph : {recorded, patched, updated, dependent, early})
            if (graph) cudaGraphExecDestroy(graph);
        if (whole) cudaGraphDestroy(whole);
    }
    std::string nothing_to_do() const { return n ? "" : "no elements"; }
    double host_bytes() const { return 2.0 * sizeof(int) * static_cast<double>(n); }

    void prepare(const Program& program) {
        multiprocessors = program.device.multiprocessors;
        input.resize(n);
        fill_small_integers(input.data(), n, 1 << 30, program.options.seed);
        for (std::unique_ptr<DeviceBuffer<int>>* buffer : {&in, &same_in, &x})
            *buffer = std::make_unique<DeviceBuffer<int>>(n);
        in->upload(input.data());
        same_in->upload(input.data());
        streams = std::make_unique<Streams>(1);
    }
    void describe(Problem& p) const {
        p.headline = std::to_string(kernels) + " x " + std::to_string(rounds) + " rounds on " +
                     std::to_string(n) + " ints";
        p.rates = {{"us/kernel", static_cast<double>(kernels)}};
        p.ceiling = "one_kernel";
    }
    void poison() { x->poison(); }
    Comparison check() const {
        std::vector<int> got(n);
        x->download(got.data());
        const Advance advanced(kernels * rounds);
        return compare(
            n, 0, [&](int64_t i) { return got[i]; }, [&](int64_t i) { return advanced(input[i]); });
    }

    /// One of two arrays with the same values: not the one of the call before.
    const int* other_input() {
        last_input = last_input == in->data() ? same_in->data() : in->data();
        return last_input;
    }

    int64_t n = 16 << 10, kernels = 1000, rounds = 1;
    int multiprocessors = 0;
    std::unique_ptr<DeviceBuffer<int>> in, same_in, x;
    std::unique_ptr<Streams> streams;  ///< what the host records on
    cudaGraphExec_t recorded{}, patched{}, updated{}, dependent{}, early{};
    cudaGraph_t whole{};  ///< what `patched` was made from, and its first node
    cudaGraphNode_t first{};

 private:
    std::vector<int> input;
    const int* last_input = nullptr;
};

void launch_all(const Chain& c, const int* in, cudaStream_t stream) {
    for (int64_t k = 0; k < c.kernels; ++k)
        advance<<<blocks_for(c.n), THREADS, 0, stream>>>(k == 0 ? in : c.x->data(), c.x->data(), c.n,
                                                         static_cast<int>(c.rounds));
}

/// The launches that `body` gives to a stream, as a graph.
template <typename Body>
cudaGraph_t record(Chain& c, const Body& body) {
    const cudaStream_t stream = (*c.streams)[0];
    cudaGraph_t graph;
    CHECK_CUDA_CALL(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    body(stream);
    CHECK_CUDA_CALL(cudaStreamEndCapture(stream, &graph));
    return graph;
}
cudaGraphExec_t instantiate(cudaGraph_t graph) {
    cudaGraphExec_t ready;
    CHECK_CUDA_CALL(cudaGraphInstantiate(&ready, graph, 0));
    return ready;
}

void stream(Chain& c) {
    launch_all(c, c.in->data(), nullptr);
}

void graph(Chain& c) {
    if (!c.recorded) {
        const cudaGraph_t g = record(c, [&](cudaStream_t s) { launch_all(c, c.in->data(), s); });
        c.recorded = instantiate(g);
        CHECK_CUDA_CALL(cudaGraphDestroy(g));
    }
    CHECK_CUDA_CALL(cudaGraphLaunch(c.recorded, nullptr));
}

/// Each replay reads from another array than the one before: the first node gets another pointer.
void graph_set_params(Chain& c) {
    if (!c.patched) {
        c.whole = record(c, [&](cudaStream_t s) { launch_all(c, c.in->data(), s); });
        c.patched = instantiate(c.whole);
        size_t one = 1;
        CHECK_CUDA_CALL(cudaGraphGetRootNodes(c.whole, &c.first, &one));
    }
    const int* from = c.other_input();
    int* x = c.x->data();
    int rounds = static_cast<int>(c.rounds);
    void* arguments[] = {&from, &x, &c.n, &rounds};
    cudaKernelNodeParams parameters{};
    parameters.func = reinterpret_cast<void*>(advance);
    parameters.gridDim = dim3(blocks_for(c.n));
    parameters.blockDim = dim3(THREADS);
    parameters.kernelParams = arguments;
    CHECK_CUDA_CALL(cudaGraphExecKernelNodeSetParams(c.patched, c.first, &parameters));
    CHECK_CUDA_CALL(cudaGraphLaunch(c.patched, nullptr));
}

/// The same, by a new recording of the whole chain.
void graph_exec_update(Chain& c) {
    const int* from = c.other_input();
    const cudaGraph_t g = record(c, [&](cudaStream_t s) { launch_all(c, from, s); });
    if (!c.updated) c.updated = instantiate(g);
    cudaGraphExecUpdateResultInfo result;
    CHECK_CUDA_CALL(cudaGraphExecUpdate(c.updated, g, &result));
    CHECK_CUDA_CALL(cudaGraphDestroy(g));
    CHECK_CUDA_CALL(cudaGraphLaunch(c.updated, nullptr));
}

/// With EARLY the next kernel may come at once. Its blocks wait where others should work, those of the kernel after it
/// too, and so on.
template <bool EARLY>
__global__ void advance_programmatic(const int* a, int* c, int64_t n, int rounds) {
    const int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
#if __CUDA_ARCH__ >= 900
    if (EARLY) cudaTriggerProgrammaticLaunchCompletion();
    cudaGridDependencySynchronize();  // the kernel before is over, and what it wrote is there
#endif
    uint32_t value = i < n ? static_cast<uint32_t>(a[i]) : 0;
    for (int r = 0; r < rounds; ++r) value = value * MULTIPLIER + INCREMENT;
#if __CUDA_ARCH__ >= 900
    if (!EARLY) cudaTriggerProgrammaticLaunchCompletion();  // the next one may come, and wait
#endif
    if (i < n) c[i] = static_cast<int>(value);
}

template <bool EARLY>
void launch_all_programmatic(const Chain& c, cudaStream_t stream) {
    cudaLaunchAttribute attribute{};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(blocks_for(c.n));
    config.blockDim = dim3(THREADS);
    config.stream = stream;
    config.attrs = &attribute;
    for (int64_t k = 0; k < c.kernels; ++k) {
        config.numAttrs = k > 0;  // the first waits for what was there before
        const int* from = k == 0 ? c.in->data() : c.x->data();
        CHECK_CUDA_CALL(cudaLaunchKernelEx(&config, advance_programmatic<EARLY>, from, c.x->data(), c.n,
                                           static_cast<int>(c.rounds)));
    }
}

void programmatic(Chain& c) {
    launch_all_programmatic<false>(c, nullptr);
}

template <bool EARLY>
void graph_programmatic(Chain& c) {
    cudaGraphExec_t& ready = EARLY ? c.early : c.dependent;
    if (!ready) {
        const cudaGraph_t g = record(c, [&](cudaStream_t s) { launch_all_programmatic<EARLY>(c, s); });
        ready = instantiate(g);
        CHECK_CUDA_CALL(cudaGraphDestroy(g));
    }
    CHECK_CUDA_CALL(cudaGraphLaunch(ready, nullptr));
}

__global__ void advance_persistent(const int* in, int* x, int64_t n, int rounds, int64_t kernels) {
    const cooperative_groups::grid_group grid = cooperative_groups::this_grid();
    const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
    for (int64_t k = 0; k < kernels; ++k) {
        const int* from = k == 0 ? in : x;
        for (int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x; i < n; i += step) {
            uint32_t value = static_cast<uint32_t>(from[i]);
            for (int r = 0; r < rounds; ++r) value = value * MULTIPLIER + INCREMENT;
            x[i] = static_cast<int>(value);
        }
        grid.sync();
    }
}

void persistent(Chain& c) {
    int per_multiprocessor = 0;
    CHECK_CUDA_CALL(
        cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_multiprocessor, advance_persistent, THREADS, 0));
    const unsigned resident = static_cast<unsigned>(per_multiprocessor * c.multiprocessors);
    const int* in = c.in->data();
    int* x = c.x->data();
    int rounds = static_cast<int>(c.rounds);
    void* arguments[] = {&in, &x, &c.n, &rounds, &c.kernels};
    CHECK_CUDA_CALL(cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(advance_persistent),
                                                dim3(std::min(resident, blocks_for(c.n))), dim3(THREADS),
                                                arguments, 0, nullptr));
}

__global__ void advance_all(const int* a, int* c, int64_t n, int64_t rounds) {
    const int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
    if (i >= n) return;
    uint32_t value = static_cast<uint32_t>(a[i]);
    for (int64_t r = 0; r < rounds; ++r) value = value * MULTIPLIER + INCREMENT;
    c[i] = static_cast<int>(value);
}

void one_kernel(Chain& c) {
    advance_all<<<blocks_for(c.n), THREADS>>>(c.in->data(), c.x->data(), c.n, c.kernels * c.rounds);
}

int main(int argc, char** argv) {
    StreamsLadder<Chain> ladder("graphs", "A chain of short kernels: what each launch costs.", argc, argv);
    const auto before_sm_90 = [](const DeviceInfo& device, const Chain&) {
        return device.major >= 9 ? "" : "needs compute capability 9.0";
    };
    ladder.ceiling("one_kernel", "the arithmetic of all, without order", one_kernel);
    ladder.variant("stream", "a launch for each kernel", stream);
    ladder.variant("graph", "recorded once, replayed", graph);
    ladder.variant("graph_set_params", "the first node's input changed each time", graph_set_params);
    ladder.variant("graph_exec_update", "recorded again each time", graph_exec_update);
    ladder.variant("programmatic", "programmatic dependent launch", programmatic).unless(before_sm_90);
    ladder.variant("graph_programmatic", "the same, recorded once", graph_programmatic<false>)
        .unless(before_sm_90);
    ladder.variant("graph_early", "the next kernel called at once", graph_programmatic<true>)
        .unless(before_sm_90);
    ladder.variant("persistent", "one launch, a barrier of the grid", persistent);
    return ladder.run();
}
