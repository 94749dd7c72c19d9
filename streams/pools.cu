// pools.cu: memory in a loop.
//
// Problem: a loop whose body needs scratch memory: allocate, two kernels, free.
// cudaMalloc and cudaFree: each asks the driver, and cudaFree waits until the whole GPU is idle. No loop should do that.
// cudaMallocAsync and cudaFreeAsync: in stream order, from a pool: what is freed is there for the next allocation that
//          comes later in the stream, and nobody waits.
// Threshold: at each synchronisation a pool gives back to the system what it holds beyond its release threshold. That
//          is 0 unless it is set: a loop that synchronises pays for every allocation again.
// Cost:    what a pool keeps, nobody else has.
// Limit:   reused, a buffer that was there before the loop.
// Beyond the texts, which allocate once.
#include <cstdint>
#include <memory>

#include "advance.cuh"
#include "streams.cuh"

/// A pool of memory of the current device.
class Pool {
 public:
    explicit Pool(int device, uint64_t keep) {
        cudaMemPoolProps properties{};
        properties.allocType = cudaMemAllocationTypePinned;
        properties.location.type = cudaMemLocationTypeDevice;
        properties.location.id = device;
        CHECK_CUDA_CALL(cudaMemPoolCreate(&pool, &properties));
        CHECK_CUDA_CALL(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep));
    }
    ~Pool() { cudaMemPoolDestroy(pool); }
    Pool(const Pool&) = delete;
    Pool& operator=(const Pool&) = delete;

    cudaMemPool_t get() const { return pool; }

 private:
    cudaMemPool_t pool{};
};

/// x goes through scratch memory and back, as many times as the loop has rounds.
class Loop {
 public:
    explicit Loop(Program& program) {
        program.command_line.size("--n", n, 0, int64_t{1} << 34, 1000, "ints of scratch memory");
        program.command_line.size("--rounds", rounds, 1, 100000, 5, "rounds of the loop");
        program.sweep_sizes = {"--n 1Ki --repeats 20", "--n 1Mi --repeats 20", "--n 64Mi --repeats 6"};
        program.test_sizes = {"--n 0", "--n 1", "--n 255 --rounds 1", "--n 257 --rounds 2",
                              "--n 20011 --rounds 3"};
        program.large_sizes = {"--n 2147483653 --rounds 2"};
    }
    std::string nothing_to_do() const { return n ? "" : "no elements"; }
    double host_bytes() const { return 2.0 * sizeof(int) * static_cast<double>(n); }

    void prepare(const Program& program) {
        const int device = program.options.device;
        int supported = 0;
        CHECK_CUDA_CALL(cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, device));
        input.resize(n);
        fill_small_integers(input.data(), n, 1 << 30, program.options.seed);
        for (std::unique_ptr<DeviceBuffer<int>>* buffer : {&in, &x, &scratch})
            *buffer = std::make_unique<DeviceBuffer<int>>(n);
        in->upload(input.data());
        if (supported) {
            returning = std::make_unique<Pool>(device, 0);
            keeping = std::make_unique<Pool>(device, UINT64_MAX);
        }
    }
    void describe(Problem& p) const {
        p.headline = std::to_string(rounds) + " times " + std::to_string(n * int64_t{sizeof(int)}) + " bytes";
        p.rates = {{"us/round", static_cast<double>(rounds)}};
        p.ceiling = "reused";
    }
    void poison() {
        x->poison();
        scratch->poison();
    }
    Comparison check() const {
        std::vector<int> got(n);
        x->download(got.data());
        const Advance advanced(2 * rounds);
        return compare(
            n, 0, [&](int64_t i) { return got[i]; }, [&](int64_t i) { return advanced(input[i]); });
    }

    int64_t n = 1 << 20, rounds = 100;
    std::unique_ptr<DeviceBuffer<int>> in, x, scratch;
    std::unique_ptr<Pool> returning, keeping;

 private:
    std::vector<int> input;
};

/// One round: from x (the first time from the input) to the scratch memory and back.
void use(const Loop& loop, int64_t round, int* scratch) {
    advance<<<blocks_for(loop.n), THREADS>>>(round == 0 ? loop.in->data() : loop.x->data(), scratch, loop.n,
                                             1);
    advance<<<blocks_for(loop.n), THREADS>>>(scratch, loop.x->data(), loop.n, 1);
}

template <bool SYNCHRONIZE>
void reused(Loop& loop) {
    for (int64_t i = 0; i < loop.rounds; ++i) {
        use(loop, i, loop.scratch->data());
        if (SYNCHRONIZE) CHECK_CUDA_CALL(cudaStreamSynchronize(nullptr));
    }
}

void malloc_and_free(Loop& loop) {
    for (int64_t i = 0; i < loop.rounds; ++i) {
        int* scratch;
        CHECK_CUDA_CALL(cudaMalloc(&scratch, loop.n * sizeof(int)));
        use(loop, i, scratch);
        CHECK_CUDA_CALL(cudaFree(scratch));
    }
}

template <bool SYNCHRONIZE>
void from(const Pool& pool, Loop& loop) {
    for (int64_t i = 0; i < loop.rounds; ++i) {
        int* scratch;
        CHECK_CUDA_CALL(cudaMallocFromPoolAsync(&scratch, loop.n * sizeof(int), pool.get(), nullptr));
        use(loop, i, scratch);
        CHECK_CUDA_CALL(cudaFreeAsync(scratch, nullptr));
        if (SYNCHRONIZE) CHECK_CUDA_CALL(cudaStreamSynchronize(nullptr));
    }
}

int main(int argc, char** argv) {
    StreamsLadder<Loop> ladder("pools", "Scratch memory in a loop, by cudaMalloc and from pools.", argc,
                               argv);
    const auto no_pools = [](const DeviceInfo&, const Loop& loop) {
        return loop.keeping ? "" : "this GPU has no memory pools (cudaDevAttrMemoryPoolsSupported)";
    };
    ladder.ceiling("reused", "allocated before the loop", reused<false>);
    ladder.variant("reused_sync", "the same, synchronised in each round", reused<true>);
    ladder.variant("malloc", "cudaMalloc and cudaFree", malloc_and_free);
    ladder.variant("pool", "cudaMallocAsync and cudaFreeAsync", [](Loop& l) { from<false>(*l.returning, l); })
        .unless(no_pools);
    ladder
        .variant("pool_sync", "synchronised: the pool gives all back",
                 [](Loop& l) { from<true>(*l.returning, l); })
        .unless(no_pools);
    ladder
        .variant("pool_keeps_sync", "release threshold: it keeps all",
                 [](Loop& l) { from<true>(*l.keeping, l); })
        .unless(no_pools);
    return ladder.run();
}
