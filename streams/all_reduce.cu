// all_reduce.cu: the sum over all GPUs, on all GPUs.
//
// Problem: every GPU has n numbers; afterwards every GPU has their sums, number by number.
// Ring:    n in as many segments as there are GPUs. First each segment travels round the ring and each GPU adds its own
//          (reduce-scatter): then each GPU has one segment that is done. Then the segments go round again (all-gather).
//          Each GPU sends 2 (G - 1) / G n numbers: no way of doing it can send less.
// Direct:  where every GPU reaches every other (NVSwitch), each one adds up one segment itself, reading from all, and
//          writes it to all: the same bytes in one kernel, and one latency instead of 2 (G - 1).
// Order:   a stream on each GPU, events between. An inbox may be written again when what was in it has been added.
// Baseline: ncclAllReduce.
// Cost:    the ring's copies and additions follow each other; a library splits the segments and overlaps them.
// Beyond the texts, which use one GPU.
#include "chunks.hpp"
#include "gpus.cuh"
#ifdef LADDER_HAS_NCCL
#include <nccl.h>
#define CHECK_NCCL_CALL(call)                                                                         \
    do {                                                                                              \
        const ncclResult_t result_of_call = (call);                                                   \
        if (result_of_call != ncclSuccess)                                                            \
            throw std::runtime_error(std::string(#call) + ": " + ncclGetErrorString(result_of_call)); \
    } while (0)
#endif

constexpr int ALL_REDUCE_THREADS = 256;
constexpr int MAX_GPUS = 16;

/// out = a + b.
__global__ void add(const int* a, const int* b, int* out, int64_t n) {
    const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
    for (int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x; i < n; i += step)
        out[i] = a[i] + b[i];
}

/// The arrays of all GPUs.
struct AllPointers {
    const int* in[MAX_GPUS];
    int* out[MAX_GPUS];
    int gpus;
};

__device__ inline int4 operator+(int4 a, int4 b) {
    return make_int4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}

/// Elements begin, ..., begin + n - 1 of all GPUs' inputs, added up and written to all GPUs; begin is a multiple of 4.
__global__ void add_from_all_to_all(AllPointers all, int64_t begin, int64_t n) {
    const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
    const int64_t thread = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
    for (int64_t i = thread; i < n / 4; i += step) {
        int4 sum = make_int4(0, 0, 0, 0);
        for (int g = 0; g < all.gpus; ++g) sum = sum + reinterpret_cast<const int4*>(all.in[g] + begin)[i];
        for (int g = 0; g < all.gpus; ++g) reinterpret_cast<int4*>(all.out[g] + begin)[i] = sum;
    }
    for (int64_t i = n / 4 * 4 + thread; i < n; i += step) {
        int sum = 0;
        for (int g = 0; g < all.gpus; ++g) sum += all.in[g][begin + i];
        for (int g = 0; g < all.gpus; ++g) all.out[g][begin + i] = sum;
    }
}

class AllReduce {
 public:
    explicit AllReduce(Program& program) {
        program.command_line.size("--n", n, 0, int64_t{1} << 34, 20000, "ints on each GPU");
        program.sweep_sizes = {"--n 256Ki", "--n 64Mi"};
        program.test_sizes = {"--n 0", "--n 1", "--n 3", "--n 17", "--n 1023", "--n 20011"};
        program.large_sizes = {"--n 2147483653"};
    }
    ~AllReduce() {
#ifdef LADDER_HAS_NCCL
        for (const ncclComm_t c : communicators) ncclCommDestroy(c);
#endif
    }
    std::string nothing_to_do() const {
        return n ? "" : "no elements";
    }
    /// The inputs of all GPUs, and a download.
    double host_bytes() const {
        const int gpus = Gpus::visible();
        return gpus < 2 ? 0 : (gpus + 1.0) * sizeof(int) * static_cast<double>(n);
    }

    void prepare(const Program& program) {
        gpus = std::make_unique<Gpus>();
        if (gpus->count() < 2) return;
        if (gpus->count() > MAX_GPUS) throw UsageError("CUDA_VISIBLE_DEVICES: at most 16 GPUs");
        in = std::make_unique<BufferOnEach<int>>(*gpus, n);
        out = std::make_unique<BufferOnEach<int>>(*gpus, n);
        inbox = std::make_unique<BufferOnEach<int>>(*gpus, 2 * segments().size);
        for (int g = 0; g < gpus->count(); ++g) {
            std::vector<int>& mine = inputs.emplace_back(n);
            fill_small_integers(mine.data(), n, 1 << 20, program.options.seed + g);
            const OnDevice on(gpus->device(g));
            (*in)[g].upload(mine.data());
            for (std::vector<std::unique_ptr<OrderEvent>>* events : {&sent, &added})
                for (int slot = 0; slot < 2; ++slot) events->push_back(std::make_unique<OrderEvent>());
        }
#ifdef LADDER_HAS_NCCL
        if (simulated()) return;
        std::vector<int> devices;
        for (int g = 0; g < gpus->count(); ++g) devices.push_back(gpus->device(g));
        communicators.resize(devices.size());
        const OnDevice here(gpus->device(0));  // whatever NCCL makes current
        CHECK_NCCL_CALL(ncclCommInitAll(communicators.data(), gpus->count(), devices.data()));
#endif
    }
    void describe(Problem& p) const {
        p.headline = std::to_string(n) + " ints, " + std::to_string(gpus->count()) + " GPUs";
        p.options.push_back({"gpus", gpus->count()});
        p.rates = {{"GB/s", sent_by_each() * sizeof(int)}};
        p.ceiling = "copies";
    }
    void poison() {
        out->poison(*gpus);
        inbox->poison(*gpus);
    }
    Comparison check() const {
        std::vector<int> got(n);
        Comparison c;
        for (int g = 0; g < gpus->count(); ++g) {
            const OnDevice on(gpus->device(g));
            (*out)[g].download(got.data());
            c = compare(
                n, 0, [&](int64_t i) { return got[i]; }, [&](int64_t i) { return sum(i); });
            if (!c.ok()) break;
        }
        return c;
    }
    /// The ceiling's: each GPU has what the one before it sent.
    Comparison check_copies() const {
        std::vector<int> got(n);
        Comparison c;
        for (int g = 0; g < gpus->count(); ++g) {
            const OnDevice on(gpus->device(gpus->next(g)));
            (*out)[gpus->next(g)].download(got.data());
            c = compare(
                half_of_sent(), 0, [&](int64_t i) { return got[i]; },
                [&](int64_t i) { return inputs[g][i]; });
            if (!c.ok()) break;
        }
        return c;
    }

    /// Segments begin at multiples of 4; the last ones may be short, or empty.
    Chunks segments() const {
        return {n, ceil_div(ceil_div(n, gpus->count()), 4) * 4};
    }
    Chunk segment(int64_t i) const {
        const Chunks all = segments();
        const int64_t k = (i % gpus->count() + gpus->count()) % gpus->count(),
                      begin = std::min(k * all.size, n);
        return {k, begin, std::min(all.size, n - begin)};
    }
    /// (G - 1) / G n numbers, rounded up: what each GPU must send once to add up, and once more to hand out.
    int64_t half_of_sent() const {
        return n - n / gpus->count();
    }
    double sent_by_each() const {
        return 2.0 * (gpus->count() - 1) / gpus->count() * static_cast<double>(n);
    }
    OrderEvent& sent_by(int g, int step) {
        return *sent[2 * g + step % 2];
    }
    OrderEvent& added_by(int g, int step) {
        return *added[2 * g + step % 2];
    }

    int64_t n = 64 << 20;
    std::unique_ptr<Gpus> gpus;
    std::unique_ptr<BufferOnEach<int>> in, out, inbox;
#ifdef LADDER_HAS_NCCL
    std::vector<ncclComm_t> communicators;
#endif

 private:
    int sum(int64_t i) const {
        int all = 0;
        for (const std::vector<int>& of_gpu : inputs) all += of_gpu[i];
        return all;
    }
    std::vector<std::vector<int>> inputs;
    std::vector<std::unique_ptr<OrderEvent>> sent, added;
};

void send(const AllReduce& a, int g, const int* from, int* to, int64_t count) {
    if (count == 0) return;
    const Gpus& gpus = *a.gpus;
    CHECK_CUDA_CALL(cudaMemcpyPeerAsync(to, gpus.device(gpus.next(g)), from, gpus.device(g),
                                        count * sizeof(int), gpus.stream(g)));
}

/// As many bytes as an all-reduce must send, and nothing else.
void copies(AllReduce& a) {
    a.gpus->fork();
    for (int twice = 0; twice < 2; ++twice)
        for (int g = 0; g < a.gpus->count(); ++g)
            send(a, g, (*a.in)[g].data(), (*a.out)[a.gpus->next(g)].data(), a.half_of_sent());
    a.gpus->join();
}

void ring(AllReduce& a) {
    Gpus& gpus = *a.gpus;
    const int count = gpus.count();
    gpus.fork();
    for (int step = 0; step < count - 1; ++step) {
        for (int g = 0; g < count; ++g) {
            const int next = gpus.next(g);
            const Chunk k = a.segment(g - step);
            if (step >= 2) a.added_by(next, step).hold(gpus.stream(g));
            send(a, g, (step == 0 ? *a.in : *a.out)[g].data() + k.begin,
                 (*a.inbox)[next].data() + step % 2 * a.segments().size, k.size);
            a.sent_by(g, step).record(gpus.stream(g));
        }
        for (int g = 0; g < count; ++g) {
            const int next = gpus.next(g);
            const Chunk k = a.segment(g - step);
            const OnDevice on(gpus.device(next));
            a.sent_by(g, step).hold(gpus.stream(next));
            const int64_t blocks = std::min<int64_t>(2048, ceil_div(k.size, ALL_REDUCE_THREADS));
            if (blocks > 0)
                add<<<static_cast<unsigned>(blocks), ALL_REDUCE_THREADS, 0, gpus.stream(next)>>>(
                    (*a.in)[next].data() + k.begin, (*a.inbox)[next].data() + step % 2 * a.segments().size,
                    (*a.out)[next].data() + k.begin, k.size);
            CHECK_KERNEL();
            a.added_by(next, step).record(gpus.stream(next));
        }
    }
    for (int step = 0; step < count - 1; ++step) {
        for (int g = 0; g < count; ++g) {
            const Chunk k = a.segment(g + 1 - step);
            send(a, g, (*a.out)[g].data() + k.begin, (*a.out)[gpus.next(g)].data() + k.begin, k.size);
            a.sent_by(g, step).record(gpus.stream(g));
        }
        for (int g = 0; g < count; ++g) a.sent_by(g, step).hold(gpus.stream(gpus.next(g)));
    }
    gpus.join();
}

void direct(AllReduce& a) {
    AllPointers all{};
    all.gpus = a.gpus->count();
    for (int g = 0; g < all.gpus; ++g) {
        all.in[g] = (*a.in)[g].data();
        all.out[g] = (*a.out)[g].data();
    }
    a.gpus->fork();
    for (int g = 0; g < all.gpus; ++g) {
        const Chunk k = a.segment(g);
        if (k.size == 0) continue;
        const OnDevice on(a.gpus->device(g));
        const int64_t blocks = std::min<int64_t>(2048, ceil_div(k.size, 4 * ALL_REDUCE_THREADS));
        add_from_all_to_all<<<static_cast<unsigned>(blocks), ALL_REDUCE_THREADS, 0, a.gpus->stream(g)>>>(
            all, k.begin, k.size);
        CHECK_KERNEL();
    }
    a.gpus->join();
}

#ifdef LADDER_HAS_NCCL
void nccl(AllReduce& a) {
    a.gpus->fork();
    CHECK_NCCL_CALL(ncclGroupStart());
    for (int g = 0; g < a.gpus->count(); ++g)
        CHECK_NCCL_CALL(ncclAllReduce((*a.in)[g].data(), (*a.out)[g].data(), a.n, ncclInt32, ncclSum,
                                      a.communicators[g], a.gpus->stream(g)));
    CHECK_NCCL_CALL(ncclGroupEnd());
    a.gpus->join();
}
#endif

int main(int argc, char** argv) {
    StreamsLadder<AllReduce> ladder("all_reduce", "The sum over all GPUs, on all GPUs.", argc, argv);
    ladder.ceiling("copies", "the bytes that must be sent, to the next GPU", copies)
        .unless(fewer_than_two<AllReduce>)
        .check = &AllReduce::check_copies;
    ladder.variant("ring", "segments round the ring, copied and added", ring)
        .unless(fewer_than_two<AllReduce>);
    ladder.variant("direct", "each GPU adds a segment from all, to all", direct)
        .unless(no_peer_access<AllReduce>);
#ifdef LADDER_HAS_NCCL
    ladder.baseline("nccl", "ncclAllReduce: the baseline", nccl)
        .unless([](const DeviceInfo& device, const AllReduce& a) {
            return simulated() ? "NCCL needs GPUs" : fewer_than_two(device, a);
        });
#endif
    return ladder.run();
}
