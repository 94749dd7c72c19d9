// chunked.cu: the tutorial's program, c = (a + b) / 2 in 20 chunks, and what it needs to overlap anything.
//
// Idea:   a GPU has engines that work at the same time: one that copies in, one that copies out, and the
//         multiprocessors. A stream is a queue: what is in it runs in its order. So a chunk's copy in, kernel and copy
//         out belong into one stream, and different chunks into different ones: then a chunk is copied in while another
//         one is computed on.
// One stream overlaps nothing: this is what the text shows. Two overlap, where the host's memory is pinned.
// Order of issue: depth first (a chunk whole, then the next) or breadth first (the copies in of a chunk for each stream,
//         their kernels, their copies out). On the first GPUs with streams, which had one queue in hardware, it decided
//         whether anything overlapped. Since then each stream has a queue of its own, and both are right.
// The device: deviceOverlap is gone from CUDA 13. asyncEngineCount says how many copies run beside a kernel: 0 none, 1
//         one, 2 and more one in each direction at once.
// Cost:   a few microseconds for each chunk; the first one's way in and the last one's way out are never hidden.
// Wrong still: here the copies in are two thirds of the data, and the kernel is next to nothing, so that no order can
//         win much (overlap.cu).
// Text 2, streams. There a device buffer of one chunk serves all; here each chunk has its own place, so that only the
// data's way orders the work.
#include "pipeline.cuh"

__global__ void average(const int* a, const int* b, int* c, int64_t n) {
    const int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
    if (i < n) c[i] = (a[i] + b[i]) / 2;
}

void compute(const Task& t, Chunk k, cudaStream_t stream) {
    average<<<blocks_for(k.size), THREADS, 0, stream>>>(t.device.a + k.begin, t.device.b + k.begin,
                                                        t.device.c + k.begin, k.size);
    CHECK_KERNEL();
}

void depth_first(const Task& t) {
    for (int64_t i = 0; i < t.chunks.count(); ++i) {
        copy_in(t, t.chunks[i], t.stream[i]);
        compute(t, t.chunks[i], t.stream[i]);
        copy_out(t, t.chunks[i], t.stream[i]);
    }
}

void breadth_first(const Task& t) {
    const int64_t count = t.chunks.count(), streams = t.stream.count();
    for (int64_t first = 0; first < count; first += streams) {
        const int64_t end = std::min(first + streams, count);
        for (int64_t i = first; i < end; ++i) copy_in(t, t.chunks[i], t.stream[i]);
        for (int64_t i = first; i < end; ++i) compute(t, t.chunks[i], t.stream[i]);
        for (int64_t i = first; i < end; ++i) copy_out(t, t.chunks[i], t.stream[i]);
    }
}

struct Averages : Pipeline {
    explicit Averages(Program& program) : Pipeline(program, 2, compute, 20 << 20) {
        takes_chunk(program, 1 << 20);
        program.sweep_sizes = {"--n 1Mi --chunk 64Ki --repeats 20", "--n 20Mi --chunk 1Mi"};
        // No element, one, a chunk and one less and more, no multiple, fewer chunks than streams, one chunk for all.
        program.test_sizes = {"--n 0",
                              "--n 1",
                              "--n 999 --chunk 1000",
                              "--n 1000 --chunk 1000",
                              "--n 1001 --chunk 1000",
                              "--n 3 --chunk 1",
                              "--n 100 --chunk 1000000",
                              "--n 2500 --chunk 1000",
                              "--n 20011 --chunk 1009"};
        program.large_sizes = {"--n 2147483653 --chunk 64Mi"};
    }
    int expected(int64_t i) const override { return (host_a().data()[i] + host_b().data()[i]) / 2; }
    void prepare(const Program& program) {
        Pipeline::prepare(program);
        pieces = chunks_of({}).count();
    }
    void describe(Problem& p) {
        Pipeline::describe(p);
        p.headline += " in chunks of " + std::to_string(chunk);
        p.remark = [this](const Medians&) {
            return std::to_string(copy_engines) + " copy engines (asyncEngineCount)" +
                   (copy_engines == 0 ? ": this GPU does not copy while a kernel runs\n" : "\n");
        };
    }
};

int main(int argc, char** argv) {
    StreamsLadder<Averages> ladder("chunked", "c = (a + b) / 2 in chunks, on one stream and on several.",
                                   argc, argv);
    add_ceilings(ladder);
    add_rung(ladder, "one_stream", "the text's: one after the other", {1}, depth_first);
    add_rung(ladder, "two_streams", "chunk by chunk, depth first", {2}, depth_first);
    add_rung(ladder, "two_breadth_first", "stage by stage, breadth first", {2}, breadth_first);
    add_rung(ladder, "three_streams", "depth first", {3}, depth_first);
    add_rung(ladder, "four_streams", "depth first", {4}, depth_first);
    add_rung(ladder, "four_breadth_first", "breadth first", {4}, breadth_first);
    return ladder.run();
}
