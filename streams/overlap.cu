// overlap.cu: how many chunks, on how many streams; and what silently takes the overlap away.
//
// Idea:   a balanced load: as much goes out as comes in, and the kernel takes as long as both copies do together
//         (--rounds; unless it is given, it is measured out). In one piece the three follow each other; in n chunks
//         on several streams all engines work at once, but for the first chunk's way in and the last one's way out.
// Model:  T(n) = bound + (in + kernel + out - max) / n + n * c. The bound is the slowest of: the copies in, the kernel,
//         the copies out, and both directions at once, for they slow each other. The more chunks, the less is left
//         over at both ends; each costs c. The best n is the square root of (in + kernel + out - max) / c.
// Streams: three stages, so fewer than three streams leave an engine idle. More than four add nothing.
// Pageable memory: cudaMemcpyAsync from malloc's memory is not asynchronous: the host waits in it, and issues the next
//         chunk late. No error, no warning, no overlap.
// The default stream: work given to it waits for all blocking streams (cudaStreamCreate), and they for it: one launch
//         there between two chunks and nothing overlaps. Streams made with cudaStreamNonBlocking do not care.
// Picture: --timeline FILE draws when each engine worked on which chunk, by events in each stream.
// Text 2, streams.
#include <array>

#include "pipeline.cuh"
#include "report.hpp"
#include "timeline.hpp"

void compute(const Task& t, Chunk k, cudaStream_t stream) {
    advance<<<blocks_for(k.size), THREADS, 0, stream>>>(t.device.a + k.begin, t.device.c + k.begin, k.size,
                                                        t.rounds);
    CHECK_KERNEL();
}

void depth_first(const Task& t) {
    for (int64_t i = 0; i < t.chunks.count(); ++i) {
        copy_in(t, t.chunks[i], t.stream[i]);
        compute(t, t.chunks[i], t.stream[i]);
        copy_out(t, t.chunks[i], t.stream[i]);
    }
}

__global__ void nothing() {}

void with_default_stream_between(const Task& t) {
    for (int64_t i = 0; i < t.chunks.count(); ++i) {
        copy_in(t, t.chunks[i], t.stream[i]);
        compute(t, t.chunks[i], t.stream[i]);
        copy_out(t, t.chunks[i], t.stream[i]);
        nothing<<<1, 1>>>();
    }
}

/// An event with a time.
class CudaMark {
 public:
    CudaMark() { CHECK_CUDA_CALL(cudaEventCreate(&event)); }
    ~CudaMark() { cudaEventDestroy(event); }
    CudaMark(const CudaMark&) = delete;
    CudaMark& operator=(const CudaMark&) = delete;

    void record(cudaStream_t stream) { CHECK_CUDA_CALL(cudaEventRecord(event, stream)); }
    /// Milliseconds since an earlier one; both are over.
    double since(const CudaMark& earlier) const {
        float milliseconds = 0;
        CHECK_CUDA_CALL(cudaEventElapsedTime(&milliseconds, earlier.event, event));
        return milliseconds;
    }

 private:
    cudaEvent_t event{};
};

class Overlap : public Pipeline {
 public:
    explicit Overlap(Program& program) : Pipeline(program, 1, compute, int64_t{1} << 28) {
        takes_rounds(program);
        program.command_line.text("--timeline", timeline, "FILE",
                                  "draw when each engine worked on which chunk, as SVG");
        pieces = 1024;
        program.sweep_sizes = {"--n 16Mi --repeats 20", "--n 268435456 --repeats 5"};
        program.test_sizes = {"--n 0",    "--n 1", "--n 3", "--n 1023 --rounds 1", "--n 1025 --rounds 7",
                              "--n 20011"};
        program.large_sizes = {"--n 2147483653"};
    }
    int expected(int64_t i) const override { return advanced(host_a().data()[i]); }
    void prepare(const Program& program);
    void describe(Problem& p);

 private:
    void draw();
    std::string what_it_says(const Medians& ms) const;

    std::string timeline;
    Advance advanced{0};
};

void Overlap::prepare(const Program& program) {
    Pipeline::prepare(program);
    advanced = Advance(rounds);
    if (!timeline.empty()) draw();
}

void Overlap::describe(Problem& p) {
    Pipeline::describe(p);
    p.remark = [this](const Medians& ms) { return what_it_says(ms); };
}

std::string Overlap::what_it_says(const Medians& ms) const {
    const Parts all = parts(ms);
    char text[200];
    std::snprintf(text, sizeof text,
                  "%lld rounds of arithmetic; bound: %s, %.3f ms; max(h2d, kernel, d2h): %.3f ms\n",
                  static_cast<long long>(rounds), all.both > all.longest() ? "both" : "the longest part",
                  all.bound(), all.longest());
    std::string said = text;
    std::snprintf(text, sizeof text, "a chunk costs %.2f us; least time by the model: %.0f chunks, %.3f ms\n",
                  all.per_chunk * 1e3, best_chunks(all),
                  model_ms(all, std::lround(best_chunks(all)), STAGES));
    if (all.per_chunk > 0) said += text;
    std::snprintf(text, sizeof text, "from pageable memory 4 streams take %.2f times as long as 1\n",
                  ms("pageable_s4") / ms("pageable_s1"));
    return std::isfinite(ms("pageable_s4") / ms("pageable_s1")) ? said + text : said;
}

/// Events in each stream: before a chunk, and after each of its stages. The last of some runs is drawn: the first ones
/// wake the host's memory up.
void Overlap::draw() {
    constexpr int RUNS = 8;
    struct Marked {
        const char* title;
        Setting setting;
    };
    OutputFile file("--timeline", timeline);
    std::vector<Panel> panels;
    for (const Marked& m :
         {Marked{"12 chunks, one stream", {1, 12}}, Marked{"12 chunks, four streams", {4, 12}},
          Marked{"the same from pageable memory", {4, 12, true}}}) {
        const Task t = task(m.setting);
        std::deque<std::array<CudaMark, 1 + STAGES>> marks(t.chunks.count());
        CudaMark start;
        for (int run = 0; run < RUNS; ++run) {
            start.record(nullptr);
            t.stream.fork();
            for (int64_t i = 0; i < t.chunks.count(); ++i) {
                marks[i][0].record(t.stream[i]);
                copy_in(t, t.chunks[i], t.stream[i]);
                marks[i][1].record(t.stream[i]);
                compute(t, t.chunks[i], t.stream[i]);
                marks[i][2].record(t.stream[i]);
                copy_out(t, t.chunks[i], t.stream[i]);
                marks[i][3].record(t.stream[i]);
            }
            t.stream.join();
            CHECK_CUDA_CALL(cudaDeviceSynchronize());
        }
        Panel panel{m.title, {}};
        for (int64_t i = 0; i < t.chunks.count(); ++i) {
            const auto at = [&](int mark) { return marks[i][mark].since(start); };
            panel.chunks.push_back({static_cast<int>(i % t.stream.count()), at(0), {at(1), at(2), at(3)}});
        }
        panels.push_back(panel);
    }
    file.write(timeline_svg(panels));
}

int main(int argc, char** argv) {
    StreamsLadder<Overlap> ladder("overlap", "A balanced pipeline, by the number of chunks and of streams.",
                                  argc, argv);
    add_ceilings(ladder);
    for (const int64_t chunks : {1, 4, 16, 64, 256})
        add_rung(ladder, "c" + std::to_string(chunks) + "_s4", std::to_string(chunks) + " chunks, 4 streams",
                 {4, chunks}, depth_first);
    for (const int streams : {1, 2, 3, 8})
        add_rung(ladder, "c64_s" + std::to_string(streams),
                 "64 chunks, " + std::to_string(streams) + " streams", {streams, 64}, depth_first);
    const bool no_model = false;
    add_rung(ladder, "pageable_s1", "16 chunks, 1 stream, pageable memory",
             {1, 16, true, cudaStreamNonBlocking, no_model}, depth_first);
    add_rung(ladder, "pageable_s4", "16 chunks, 4 streams, pageable memory",
             {4, 16, true, cudaStreamNonBlocking, no_model}, depth_first);
    add_rung(ladder, "blocking", "16 chunks, 4 blocking streams", {4, 16, false, cudaStreamDefault},
             depth_first);
    add_rung(ladder, "blocking_default", "the same, a launch to the default stream between",
             {4, 16, false, cudaStreamDefault, no_model}, with_default_stream_between);
    add_rung(ladder, "nonblocking_default", "non-blocking streams, the same launches", {4, 16},
             with_default_stream_between);
    return ladder.run();
}
