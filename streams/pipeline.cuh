// pipeline.cuh: data that come from the host in chunks, are computed on, and go back.
#pragma once
#include <cstdio>
#include <map>
#include <memory>

#include "advance.cuh"
#include "chunks.hpp"
#include "cuda_timer.cuh"
#include "streams.cuh"

/// The inputs a and b (null where a program has one input) and the output c.
struct Arrays {
    int *a, *b, *c;
};

/// What a variant has to do, and with what: each chunk in, computed on, and out again.
struct Task {
    Arrays host, device;
    Chunks chunks;
    Streams& stream;  ///< stream[i] is one of stream.count()
    int rounds;       ///< of arithmetic for each element, where the program's kernel does some

    Task whole() const { return {host, device, {chunks.n, std::max<int64_t>(1, chunks.n)}, stream, rounds}; }
};

inline void copy_in(const Task& t, Chunk k, cudaStream_t stream) {
    const size_t bytes = k.size * sizeof(int);
    CHECK_CUDA_CALL(
        cudaMemcpyAsync(t.device.a + k.begin, t.host.a + k.begin, bytes, cudaMemcpyHostToDevice, stream));
    if (t.host.b)
        CHECK_CUDA_CALL(
            cudaMemcpyAsync(t.device.b + k.begin, t.host.b + k.begin, bytes, cudaMemcpyHostToDevice, stream));
}

inline void copy_out(const Task& t, Chunk k, cudaStream_t stream) {
    CHECK_CUDA_CALL(cudaMemcpyAsync(t.host.c + k.begin, t.device.c + k.begin, k.size * sizeof(int),
                                    cudaMemcpyDeviceToHost, stream));
}

/// How a variant runs: on how many streams, of which kind, in how many chunks (0: of the size that --chunk says), and
/// from which kind of memory.
struct Setting {
    int streams = 1;
    int64_t chunks = 0;
    bool pageable = false;
    unsigned flags = cudaStreamNonBlocking;
    bool modelled = true;  ///< does the model speak of it?
};

/// The problem of the programs with chunks. A program says how many inputs it has, what it computes and what c should be.
class Pipeline {
 public:
    using Compute = void (*)(const Task&, Chunk, cudaStream_t);
    using Body = std::function<void(const Task&)>;

    Pipeline(Program& program, int inputs, Compute compute, int64_t default_n)
        : n(default_n), inputs(inputs), kernel(compute) {
        program.command_line.size("--n", n, 0, int64_t{1} << 36, 20000, "ints in each array");
    }
    virtual ~Pipeline() = default;
    virtual int expected(int64_t i) const = 0;

    std::string nothing_to_do() const { return n ? "" : "no elements"; }
    double host_bytes() const;
    void prepare(const Program& program);
    void describe(Problem& p);
    void poison();
    /// As the tutorial's program does; the ceilings have no c to show.
    void show(const std::string& variant) const;

    /// One run of a variant: its streams fork from the default stream and join it.
    void run(const Setting& s, const Body& body);
    Comparison check() { return compare_output(last_output); }

    /// What the ceilings of the family do: each part of the pipeline alone, for all of the data at once.
    void run_in() { copy_in(task({}).whole(), {0, 0, n}, nullptr); }
    void run_in_chunks();
    void run_compute() { kernel(task({}).whole(), {0, 0, n}, nullptr); }
    void run_out() { copy_out(task({}).whole(), {0, 0, n}, nullptr); }
    void run_both();
    void restore_input() { run_in(); }
    void restore_output();
    void restore_both();
    Comparison check_in();
    Comparison check_compute();
    Comparison check_both();

    int64_t n, chunk = 0;
    int64_t rounds = 0;
    int64_t pieces = 0;  ///< copies in the row h2d_chunks
    std::map<std::string, Setting> settings;
    int copy_engines = 0;
    double bytes_in() const { return static_cast<double>(n) * sizeof(int) * inputs; }
    double bytes_out() const { return static_cast<double>(n) * sizeof(int); }

 protected:
    /// Adds --chunk, which is `ints` unless it is given.
    void takes_chunk(Program& program, int64_t ints) {
        chunk = ints;
        program.command_line.size("--chunk", chunk, 1, int64_t{1} << 36, 1000,
                                  "ints in a chunk; the last may be shorter");
    }
    /// Adds --rounds; 0, unless it is given, means that prepare() balances the load.
    void takes_rounds(Program& program) {
        has_rounds = true;
        program.command_line.number("--rounds", rounds, 0, MAX_ROUNDS,
                                    "rounds of arithmetic for each int; 0: as many as the copies take");
    }
    Chunks chunks_of(const Setting& s) const {
        return {n, s.chunks ? size_for_count(n, s.chunks) : std::min(chunk, n)};
    }
    Task task(const Setting& s);
    Parts parts(const Medians& ms) const;
    const PinnedBuffer<int>& host_a() const { return *pinned_a; }
    const PinnedBuffer<int>& host_b() const { return *pinned_b; }

 private:
    Comparison compare_output(const int* c) const {
        return compare(
            n, 0, [c](int64_t i) { return c[i]; }, [this](int64_t i) { return expected(i); });
    }

    void balance();

    static constexpr int64_t MAX_ROUNDS = 1 << 20;
    const int inputs;
    const Compute kernel;
    bool has_rounds = false;
    std::unique_ptr<PinnedBuffer<int>> pinned_a, pinned_b, pinned_c;
    std::unique_ptr<DeviceBuffer<int>> device_a, device_b, device_c;
    std::vector<int> pageable_a, pageable_b, pageable_c;
    std::vector<int> downloaded;
    std::map<std::pair<int, unsigned>, std::unique_ptr<Streams>> streams;
    const int* last_output = nullptr;
};

/// The arrays in pinned memory, in pageable memory where a variant wants them there, and a download.
inline double Pipeline::host_bytes() const {
    const bool pageable = std::any_of(settings.begin(), settings.end(),
                                      [](const auto& named) { return named.second.pageable; });
    return (bytes_in() + bytes_out()) * (pageable ? 2 : 1) + bytes_out();
}

inline void Pipeline::prepare(const Program& program) {
    CHECK_CUDA_CALL(
        cudaDeviceGetAttribute(&copy_engines, cudaDevAttrAsyncEngineCount, program.options.device));
    const auto input = [&](std::unique_ptr<PinnedBuffer<int>>& host,
                           std::unique_ptr<DeviceBuffer<int>>& device, uint64_t seed) {
        host = std::make_unique<PinnedBuffer<int>>(n);
        device = std::make_unique<DeviceBuffer<int>>(n);
        fill_small_integers(host->data(), n, (1 << 30) - 1, seed);  // a + b fits an int
    };
    input(pinned_a, device_a, program.options.seed);
    if (inputs == 2) input(pinned_b, device_b, program.options.seed + 1);
    pinned_c = std::make_unique<PinnedBuffer<int>>(n);
    device_c = std::make_unique<DeviceBuffer<int>>(n);
    downloaded.resize(n);
    if (has_rounds && rounds == 0) balance();
}

/// As many rounds as make the kernel take as long as both directions of copying at once: then no engine waits.
inline void Pipeline::balance() {
    rounds = 3;
    if (simulated()) return;  // there is no time
    device_c->poison();       // it is copied out below, and no kernel has written it
    CudaTimer timer;
    const auto once_ms = [&](void (Pipeline::*work)()) {
        (this->*work)();
        timer.start();
        (this->*work)();
        timer.stop();
        return timer.elapsed();
    };
    std::vector<double> copies;
    for (int i = 0; i < 5; ++i) copies.push_back(once_ms(&Pipeline::run_both));
    constexpr int FEW = 256, MANY = 1024;
    rounds = FEW;
    const double few = once_ms(&Pipeline::run_compute);
    rounds = MANY;
    const double slope = (once_ms(&Pipeline::run_compute) - few) / (MANY - FEW);
    rounds = slope > 0 ? std::clamp<int64_t>(FEW + std::lround((summarize(copies).median - few) / slope), 1,
                                             MAX_ROUNDS)
                       : 1;
}

inline void Pipeline::describe(Problem& p) {
    p.headline = std::to_string(n) + " ints";
    p.rates = {{"GB/s", bytes_in() + bytes_out()}};
    p.ceiling = "bound";
    p.bound = {"h2d", "kernel", "d2h", "both"};
    p.model_ms = [this](const Variant& v, const Medians& ms) {
        const auto found = settings.find(v.name);
        if (found == settings.end() || !found->second.modelled) return std::nan("");
        const Setting& s = found->second;
        return model_ms(parts(ms), chunks_of(s).count(), s.streams);
    };
}

inline void Pipeline::show(const std::string& variant) const {
    if (!settings.count(variant)) return;
    std::printf("%s:", variant.c_str());
    for (int64_t i = 0; i < std::min<int64_t>(n, 10); ++i) std::printf(" %d", last_output[i]);
    std::printf("\n");
}

inline Parts Pipeline::parts(const Medians& ms) const {
    const double more = ms("h2d_chunks") - ms("h2d");
    return {ms("h2d"), ms("kernel"), ms("d2h"), ms("both"),
            pieces > 1 && more > 0 ? more / static_cast<double>(pieces - 1) : 0};
}

inline Task Pipeline::task(const Setting& s) {
    std::unique_ptr<Streams>& mine = streams[{s.streams, s.flags}];
    if (!mine) mine = std::make_unique<Streams>(s.streams, s.flags);
    if (s.pageable && pageable_c.empty()) {
        pageable_a.assign(pinned_a->data(), pinned_a->data() + n);
        if (pinned_b) pageable_b.assign(pinned_b->data(), pinned_b->data() + n);
        pageable_c.assign(n, -1);
    }
    const Arrays pinned = {pinned_a->data(), pinned_b ? pinned_b->data() : nullptr, pinned_c->data()};
    const Arrays pageable = {pageable_a.data(), pinned_b ? pageable_b.data() : nullptr, pageable_c.data()};
    const Arrays device = {device_a->data(), device_b ? device_b->data() : nullptr, device_c->data()};
    return {s.pageable ? pageable : pinned, device, chunks_of(s), *mine, static_cast<int>(rounds)};
}

inline void Pipeline::run(const Setting& s, const Body& body) {
    const Task t = task(s);
    last_output = t.host.c;
    t.stream.fork();
    body(t);
    t.stream.join();
}

inline void Pipeline::poison() {
    for (DeviceBuffer<int>* d : {device_a.get(), device_b.get(), device_c.get()})
        if (d) d->poison();
    poison_host(pinned_c->data(), pinned_c->bytes());
    if (!pageable_c.empty()) poison_host(pageable_c.data(), pinned_c->bytes());
}

inline void Pipeline::run_in_chunks() {
    Setting in_pieces;
    in_pieces.chunks = pieces;
    const Task t = task(in_pieces);
    for (int64_t i = 0; i < t.chunks.count(); ++i) copy_in(t, t.chunks[i], nullptr);
}

inline void Pipeline::run_both() {
    Setting two;
    two.streams = 2;
    const Task t = task(two).whole();
    t.stream.fork();
    copy_in(t, t.chunks[0], t.stream[0]);
    copy_out(t, t.chunks[0], t.stream[1]);
    t.stream.join();
}

inline void Pipeline::restore_output() {
    run_in();
    run_compute();
    last_output = pinned_c->data();
}
inline void Pipeline::restore_both() {
    restore_output();
    for (DeviceBuffer<int>* d : {device_a.get(), device_b.get()})
        if (d) CHECK_CUDA_CALL(cudaMemsetAsync(d->data(), 0xFF, d->bytes(), nullptr));
}

inline Comparison Pipeline::check_in() {
    device_a->download(downloaded.data());
    const Comparison a = compare(
        n, 0, [&](int64_t i) { return downloaded[i]; }, [&](int64_t i) { return pinned_a->data()[i]; });
    if (!a.ok() || !device_b) return a;
    device_b->download(downloaded.data());
    return compare(
        n, 0, [&](int64_t i) { return downloaded[i]; }, [&](int64_t i) { return pinned_b->data()[i]; });
}
inline Comparison Pipeline::check_compute() {
    device_c->download(downloaded.data());
    return compare_output(downloaded.data());
}
inline Comparison Pipeline::check_both() {
    const Comparison in = check_in();
    return in.ok() ? check() : in;
}

/// What the rungs are measured against.
template <typename ProgramsWork>
void add_ceilings(StreamsLadder<ProgramsWork>& ladder) {
    using Work = ProgramsWork;
    auto& in = ladder.ceiling("h2d", "the copies in alone, all at once", &Work::run_in);
    in.check = &Work::check_in;
    in.bytes = [](const Work& w) { return w.bytes_in(); };
    auto& in_chunks = ladder.ceiling("h2d_chunks", "the copies in alone, in chunks", &Work::run_in_chunks);
    in_chunks.check = in.check;
    in_chunks.bytes = in.bytes;
    auto& kernel = ladder.ceiling("kernel", "the kernel alone", &Work::run_compute);
    kernel.restore = &Work::restore_input;
    kernel.check = &Work::check_compute;
    auto& out = ladder.ceiling("d2h", "the copy out alone", &Work::run_out);
    out.restore = &Work::restore_output;
    out.bytes = [](const Work& w) { return w.bytes_out(); };
    auto& both = ladder.ceiling("both", "in and out at once, no kernel", &Work::run_both);
    both.restore = &Work::restore_both;
    both.check = &Work::check_both;
}

/// A rung of a pipeline.
template <typename ProgramsWork>
void add_rung(StreamsLadder<ProgramsWork>& ladder, const std::string& name, const std::string& note,
              const Setting& setting, Pipeline::Body body) {
    ladder.family.work.settings[name] = setting;
    ladder.variant(name, note, [=](ProgramsWork& w) { w.run(setting, body); });
}
