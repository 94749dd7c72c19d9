// peer.cu: from one GPU's memory to another's.
//
// Staged:  out to pinned memory of the host, and in again: twice over the host's link, in chunks that overlap.
// Peer:    cudaMemcpyPeerAsync: over NVLink, or straight over PCIe, without the host. cudaDeviceEnablePeerAccess opens
//          the way; without it the same call stages by itself, without a word.
// Kernels: with peer access one GPU's pointers are good in the kernels of the other. To write is easier than to read: a
//          write can be left to itself, a read is waited for.
// Ring:    each GPU sends to the next, all at once: the pattern below collective operations (all_reduce.cu).
// Streams: a copy may be given to a stream of either GPU; an event is recorded on its own, and any stream waits for it.
// One GPU: there is nothing to do, and the exit code is 77.
// Beyond the texts, which use one GPU.
#include "chunks.hpp"
#include "copy_bytes.cuh"
#include "gpus.cuh"

class Copies {
 public:
    explicit Copies(Program& program) {
        program.command_line.size("--n", n, 0, int64_t{1} << 36, 20000, "bytes that a GPU sends");
        program.command_line.size("--chunk", chunk, 16, int64_t{1} << 36, 4096,
                                  "bytes that are staged at a time");
        program.sweep_sizes = {"--n 1Mi", "--n 256Mi"};
        program.test_sizes = {"--n 0", "--n 1", "--n 15", "--n 4096", "--n 4097", "--n 100003"};
        program.large_sizes = {"--n 4294967297"};
    }
    std::string nothing_to_do() const { return n ? "" : "no bytes"; }
    /// The inputs of all GPUs, a download, and the staging memory.
    double host_bytes() const {
        const int gpus = Gpus::visible();
        if (gpus < 2) return 0;
        return (gpus + 1.0) * static_cast<double>(n) + SLOTS * static_cast<double>(chunk);
    }

    void prepare(const Program& program) {
        gpus = std::make_unique<Gpus>();
        if (gpus->count() < 2) return;
        from = std::make_unique<BufferOnEach<char>>(*gpus, n);
        to = std::make_unique<BufferOnEach<char>>(*gpus, n);
        for (int g = 0; g < gpus->count(); ++g) {
            inputs.push_back(seeded_bytes(n, program.options.seed + g));
            const OnDevice on(gpus->device(g));
            CHECK_CUDA_CALL(cudaMemcpy((*from)[g].data(), inputs[g].data(), n, cudaMemcpyHostToDevice));
        }
        staging = std::make_unique<PinnedBuffer<char>>(SLOTS * chunk);
        for (int slot = 0; slot < SLOTS; ++slot) {
            {
                const OnDevice on(gpus->device(0));
                filled.push_back(std::make_unique<OrderEvent>());
            }
            const OnDevice on(gpus->device(1));
            emptied.push_back(std::make_unique<OrderEvent>());
        }
    }
    void describe(Problem& p) const {
        p.headline = std::to_string(n) + " bytes, " + std::to_string(gpus->count()) + " GPUs";
        p.options.push_back({"gpus", gpus->count()});
        p.rates = {{"GB/s", static_cast<double>(n)}};
        p.ceiling = "peer";
    }
    void poison() {
        to->poison(*gpus);
        poison_host(staging->data(), staging->bytes());
    }
    /// Every receiver has what was sent to it.
    Comparison check() const {
        std::vector<char> got(n);
        Comparison c;
        for (const auto& [sender, receiver] : sent) {
            const OnDevice on(gpus->device(receiver));
            (*to)[receiver].download(got.data());
            const char* want = reinterpret_cast<const char*>(inputs[sender].data());
            c = compare(
                n, 0, [&](int64_t i) { return got[i]; }, [=](int64_t i) { return want[i]; });
            if (!c.ok()) break;
        }
        return c;
    }

    /// One launch: streams fork, `send` runs for each pair, streams join.
    template <typename Send>
    void run(const std::vector<std::pair<int, int>>& pairs, const Send& send) {
        sent = pairs;
        gpus->fork();
        for (const auto& [sender, receiver] : pairs) send(sender, receiver);
        gpus->join();
    }
    std::vector<std::pair<int, int>> ring() const {
        std::vector<std::pair<int, int>> pairs;
        for (int g = 0; g < gpus->count(); ++g) pairs.push_back({g, gpus->next(g)});
        return pairs;
    }

    static constexpr int SLOTS = 3;
    int64_t n = 256 << 20, chunk = 4 << 20;
    std::unique_ptr<Gpus> gpus;
    std::unique_ptr<BufferOnEach<char>> from, to;
    std::unique_ptr<PinnedBuffer<char>> staging;
    std::vector<std::unique_ptr<OrderEvent>> filled, emptied;

 private:
    std::vector<std::vector<int>> inputs;
    std::vector<std::pair<int, int>> sent;
};

void send_by_peer_copy(Copies& c, int sender, int receiver) {
    const Gpus& gpus = *c.gpus;
    CHECK_CUDA_CALL(cudaMemcpyPeerAsync((*c.to)[receiver].data(), gpus.device(receiver),
                                        (*c.from)[sender].data(), gpus.device(sender), c.n,
                                        gpus.stream(sender)));
}

void peer(Copies& c) {
    c.run({{0, 1}}, [&](int s, int r) { send_by_peer_copy(c, s, r); });
}
void both_ways(Copies& c) {
    c.run({{0, 1}, {1, 0}}, [&](int s, int r) { send_by_peer_copy(c, s, r); });
}
void ring(Copies& c) {
    c.run(c.ring(), [&](int s, int r) { send_by_peer_copy(c, s, r); });
}

/// Chunk by chunk through SLOTS places in the host's memory; an event for each tells when it is full, and when empty.
void staged(Copies& c) {
    c.run({{0, 1}}, [&](int sender, int receiver) {
        const cudaStream_t out = c.gpus->stream(sender), in = c.gpus->stream(receiver);
        const Chunks chunks{c.n, c.chunk};
        for (int64_t i = 0; i < chunks.count(); ++i) {
            const Chunk k = chunks[i];
            const int slot = static_cast<int>(i % Copies::SLOTS);
            char* place = c.staging->data() + slot * c.chunk;
            if (i >= Copies::SLOTS) c.emptied[slot]->hold(out);
            CHECK_CUDA_CALL(cudaMemcpyAsync(place, (*c.from)[sender].data() + k.begin, k.size,
                                            cudaMemcpyDeviceToHost, out));
            c.filled[slot]->record(out);
            c.filled[slot]->hold(in);
            CHECK_CUDA_CALL(cudaMemcpyAsync((*c.to)[receiver].data() + k.begin, place, k.size,
                                            cudaMemcpyHostToDevice, in));
            c.emptied[slot]->record(in);
        }
    });
}

/// A kernel of GPU `runner` copies.
void by_kernel_of(Copies& c, bool receiver_runs) {
    c.run({{0, 1}}, [&](int sender, int receiver) {
        const int runner = receiver_runs ? receiver : sender;
        const OnDevice on(c.gpus->device(runner));
        const int64_t blocks = std::min<int64_t>(2048, ceil_div(c.n, 16 * 256));
        copy_bytes<<<static_cast<unsigned>(blocks), 256, 0, c.gpus->stream(runner)>>>(
            (*c.from)[sender].data(), (*c.to)[receiver].data(), c.n);
        CHECK_KERNEL();
    });
}

int main(int argc, char** argv) {
    StreamsLadder<Copies> ladder("peer", "Copies from GPU to GPU, staged by the host and straight.", argc,
                                 argv);
    ladder.ceiling("peer", "cudaMemcpyPeerAsync", peer).unless(fewer_than_two<Copies>);
    ladder.variant("staged", "through pinned memory of the host", staged).unless(fewer_than_two<Copies>);
    ladder.variant("kernel_reads", "the receiver's kernel reads", [](Copies& c) { by_kernel_of(c, true); })
        .unless(no_peer_access<Copies>);
    ladder.variant("kernel_writes", "the sender's kernel writes", [](Copies& c) { by_kernel_of(c, false); })
        .unless(no_peer_access<Copies>);
    ladder.variant("both_ways", "two GPUs, both directions at once", both_ways)
        .unless(fewer_than_two<Copies>)
        .bytes = [](const Copies& c) { return 2.0 * static_cast<double>(c.n); };
    ladder.variant("ring", "each GPU to the next, all at once", ring).unless(fewer_than_two<Copies>).bytes =
        [](const Copies& c) { return static_cast<double>(c.gpus->count()) * static_cast<double>(c.n); };
    return ladder.run();
}
