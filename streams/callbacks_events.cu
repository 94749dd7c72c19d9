// callbacks_events.cu: order between streams, and between streams and the host.
//
// Events:  a stream for each engine, and a chunk goes from one to the next. Nothing orders work in different streams but
//          an event: recorded in one stream it stands for all that was given to it; another stream waits for it, on the
//          GPU, while the host goes on.
// Four orders are needed where SLOTS buffers serve all chunks: a kernel after its copy in, a copy out after its kernel;
//          and, SLOTS chunks later, the next copy into the same buffer after the kernel that read it, the next kernel
//          after the copy out of its old result. The last two are those that are forgotten.
// Host functions (cudaLaunchHostFunc, in place of cudaStreamAddCallback): the stream calls a function on the host, in
//          its order. Here they fill and empty pinned buffers for data in pageable memory, which keeps the copies
//          asynchronous. They must not call CUDA, and one thread of the driver runs them all.
// The host itself: the thread that issues waits for an event, then moves the data by all cores.
// Wrong on purpose: --forget leaves one of the four orders out. On a GPU the result is wrong, or by luck not; with
//          --simulate the fault is named every time.
// Text 2, streams.
#include <cstring>

#include "pipeline.cuh"

constexpr int SLOTS = 3;  // buffers, and chunks in flight

void compute(const Task& t, Chunk k, cudaStream_t stream) {
    advance<<<blocks_for(k.size), THREADS, 0, stream>>>(t.device.a + k.begin, t.device.c + k.begin, k.size,
                                                        t.rounds);
    CHECK_KERNEL();
}

/// The task of a chunk with its place on the device (and, for `host`, on the host) in a buffer of SLOTS chunks.
Task in_slot(const Task& t, Chunk k) {
    const int64_t back = k.begin - k.index % SLOTS * t.chunks.size;
    Task slot = t;
    slot.device = {t.device.a - back, nullptr, t.device.c - back};
    return slot;
}

enum class Order { kernel_after_in, out_after_kernel, in_after_kernel, kernel_after_out, nothing };
const std::vector<std::string> ORDERS = {"kernel_after_in", "out_after_kernel", "in_after_kernel",
                                         "kernel_after_out", "nothing"};

/// Work in pageable memory, and pinned buffers of SLOTS chunks to move it through.
class Ordered : public Pipeline {
 public:
    explicit Ordered(Program& program) : Pipeline(program, 1, compute, int64_t{1} << 27) {
        takes_chunk(program, 4 << 20);
        takes_rounds(program);
        program.command_line.choice("--forget", forget, ORDERS,
                                    "leave this order out, to see what becomes of it");
        program.sweep_sizes = {"--n 16Mi --chunk 1Mi --repeats 10", "--n 128Mi --chunk 4Mi --repeats 6"};
        program.test_sizes = {"--n 0",
                              "--n 1",
                              "--n 999 --chunk 1000",
                              "--n 1000 --chunk 1000",
                              "--n 1001 --chunk 1000",
                              "--n 5 --chunk 1",
                              "--n 100 --chunk 1000000",
                              "--n 7500 --chunk 1000",
                              "--n 20011 --chunk 1009"};
        program.large_sizes = {"--n 2147483653 --chunk 64Mi"};
    }
    int expected(int64_t i) const override { return advanced(host_a().data()[i]); }
    void prepare(const Program& program) {
        Pipeline::prepare(program);
        advanced = Advance(rounds);
        pieces = chunks_of({}).count();
        for (std::unique_ptr<OrderEvent[]>* events : {&copied_in, &computed, &copied_out})
            *events = std::make_unique<OrderEvent[]>(SLOTS);
        staging_in = std::make_unique<PinnedBuffer<int>>(SLOTS * chunks_of({}).size);
        staging_out = std::make_unique<PinnedBuffer<int>>(SLOTS * chunks_of({}).size);
    }
    void describe(Problem& p) {
        Pipeline::describe(p);
        p.headline += " in chunks of " + std::to_string(chunk);
    }
    double host_bytes() const {
        return Pipeline::host_bytes() + 2.0 * SLOTS * sizeof(int) * static_cast<double>(chunks_of({}).size);
    }
    void poison() {
        Pipeline::poison();
        for (const auto* staging : {&staging_in, &staging_out})
            poison_host((*staging)->data(), (*staging)->bytes());
    }
    bool keeps(Order order) const { return forget != ORDERS[static_cast<int>(order)]; }

    std::unique_ptr<OrderEvent[]> copied_in, computed, copied_out;  ///< of the chunk that a slot holds
    std::unique_ptr<PinnedBuffer<int>> staging_in, staging_out;

 private:
    std::string forget = "nothing";
    Advance advanced{0};
};

void by_events(Ordered& w, const Task& t) {
    const cudaStream_t in = t.stream[0], kernel = t.stream[1], out = t.stream[2];
    for (int64_t i = 0; i < t.chunks.count(); ++i) {
        const Task slot = in_slot(t, t.chunks[i]);
        const int s = i % SLOTS;
        const bool reused = i >= SLOTS;
        if (reused && w.keeps(Order::in_after_kernel)) w.computed[s].hold(in);
        copy_in(slot, t.chunks[i], in);
        w.copied_in[s].record(in);

        if (w.keeps(Order::kernel_after_in)) w.copied_in[s].hold(kernel);
        if (reused && w.keeps(Order::kernel_after_out)) w.copied_out[s].hold(kernel);
        compute(slot, t.chunks[i], kernel);
        w.computed[s].record(kernel);

        if (w.keeps(Order::out_after_kernel)) w.computed[s].hold(out);
        copy_out(slot, t.chunks[i], out);
        w.copied_out[s].record(out);
    }
}

/// The same order without events: a chunk's stages, and the chunks that share a buffer, are in one stream.
void by_stream(const Task& t) {
    for (int64_t i = 0; i < t.chunks.count(); ++i) {
        const Task slot = in_slot(t, t.chunks[i]);
        copy_in(slot, t.chunks[i], t.stream[i]);
        compute(slot, t.chunks[i], t.stream[i]);
        copy_out(slot, t.chunks[i], t.stream[i]);
    }
}

/// And by the host, which waits after each step: right, and nothing overlaps.
void by_host(const Task& t) {
    for (int64_t i = 0; i < t.chunks.count(); ++i) {
        const Task slot = in_slot(t, t.chunks[i]);
        copy_in(slot, t.chunks[i], t.stream[0]);
        CHECK_CUDA_CALL(cudaStreamSynchronize(t.stream[0]));
        compute(slot, t.chunks[i], t.stream[1]);
        CHECK_CUDA_CALL(cudaStreamSynchronize(t.stream[1]));
        copy_out(slot, t.chunks[i], t.stream[2]);
        CHECK_CUDA_CALL(cudaStreamSynchronize(t.stream[2]));
    }
}

/// The task of a chunk whose host memory is a pinned buffer too.
Task staged(const Ordered& w, const Task& t, Chunk k) {
    const int64_t back = k.begin - k.index % SLOTS * t.chunks.size;
    Task slot = in_slot(t, k);
    slot.host = {w.staging_in->data() - back, nullptr, w.staging_out->data() - back};
    return slot;
}

struct Move {
    const int* from;
    int* to;
    int64_t count;
};
void move_by_one(void* move) {
    const std::unique_ptr<Move> m(static_cast<Move*>(move));
    std::memcpy(m->to, m->from, m->count * sizeof(int));
}
/// The move must be there when the stream comes to it: the function that does it frees it.
void move_in_order(const Move& m, cudaStream_t stream) {
    CHECK_CUDA_CALL(cudaLaunchHostFunc(stream, move_by_one, new Move(m)));
}
void move_by_all(const Move& m) {
    parallel_ranges(m.count, [&m](int64_t begin, int64_t end) {
        std::memcpy(m.to + begin, m.from + begin, (end - begin) * sizeof(int));
    });
}

void by_host_functions(Ordered& w, const Task& t) {
    for (int64_t i = 0; i < t.chunks.count(); ++i) {
        const Chunk k = t.chunks[i];
        const Task slot = staged(w, t, k);
        move_in_order({t.host.a + k.begin, slot.host.a + k.begin, k.size}, t.stream[i]);
        copy_in(slot, k, t.stream[i]);
        compute(slot, k, t.stream[i]);
        copy_out(slot, k, t.stream[i]);
        move_in_order({slot.host.c + k.begin, t.host.c + k.begin, k.size}, t.stream[i]);
    }
}

void by_waiting_host(Ordered& w, const Task& t) {
    const int64_t count = t.chunks.count();
    for (int64_t i = 0; i < count + SLOTS; ++i) {
        if (i >= SLOTS) {
            const Chunk done = t.chunks[i - SLOTS];
            w.copied_out[done.index % SLOTS].wait();
            move_by_all({staged(w, t, done).host.c + done.begin, t.host.c + done.begin, done.size});
        }
        if (i >= count) continue;
        const Chunk k = t.chunks[i];
        const Task slot = staged(w, t, k);
        move_by_all({t.host.a + k.begin, slot.host.a + k.begin, k.size});
        copy_in(slot, k, t.stream[i]);
        compute(slot, k, t.stream[i]);
        copy_out(slot, k, t.stream[i]);
        w.copied_out[i % SLOTS].record(t.stream[i]);
    }
}

int main(int argc, char** argv) {
    StreamsLadder<Ordered> ladder("callbacks_events",
                                  "Order between streams, and between streams and the host.", argc, argv);
    add_ceilings(ladder);
    const auto with_work = [&](auto body) {
        return [&ladder, body](const Task& t) { body(ladder.family.work, t); };
    };
    // A stream for each of the three stages, or one for each slot.
    const Setting by_stage{3}, by_slot{SLOTS}, pageable{SLOTS, 0, true, cudaStreamNonBlocking, false};
    Setting waiting = by_stage;
    waiting.modelled = false;
    add_rung(ladder, "by_host", "the host waits after each step", waiting, by_host);
    add_rung(ladder, "by_stream", "a chunk's steps in one stream", by_slot, by_stream);
    add_rung(ladder, "by_events", "a stream for each engine, events between", by_stage, with_work(by_events));
    add_rung(ladder, "pageable", "pageable memory, copied as it is", pageable, by_stream);
    add_rung(ladder, "host_functions", "pageable memory, staged by host functions", pageable,
             with_work(by_host_functions));
    add_rung(ladder, "waiting_host", "pageable memory, staged by a host that waits", pageable,
             with_work(by_waiting_host));
    return ladder.run();
}
