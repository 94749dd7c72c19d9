// pinned.cu: what the host's memory does to a copy.
//
// Idea:   the copy engine reads and writes the host's memory by physical address, so the page that it uses must stay
//         where it is: pinned, or page-locked. From pageable memory (malloc) the driver first copies, on the CPU, into
//         a pinned buffer of its own, piece by piece; the CPU's memcpy is then the limit, and the call is not
//         asynchronous any more.
// Kinds:  cudaHostAlloc gives pinned memory, cudaHostRegister pins memory that is there. Write-combined memory is not
//         in the CPU's caches: reading it on the CPU is very slow. Mapped memory is read and written by the kernel
//         itself, over the link, without a copy ("zero copy"): right for data that is used once.
// Cost:   pinning takes longer than many copies do (the rows malloc, host_alloc and host_register: n bytes got and given
//         back), and what is pinned is lost for all others. Allocate once, reuse.
// Wrong still: a copy alone leaves two of three engines without work (chunked.cu).
// Text 2, pinned memory.
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>

#include "copy_bytes.cuh"
#include "streams.cuh"

constexpr int64_t PAGE = 4096;

enum class Kind { pageable, pinned, registered, write_combined };

/// n bytes of the host's memory, of each kind.
class HostBytes {
 public:
    HostBytes(Kind kind, int64_t n) : kind(kind) {
        if (kind == Kind::pinned || kind == Kind::write_combined) {
            pinned = std::make_unique<PinnedBuffer<char>>(
                n, kind == Kind::pinned ? cudaHostAllocDefault : cudaHostAllocWriteCombined);
            return;
        }
        pageable.reset(static_cast<char*>(std::malloc(n)));
        if (!pageable) throw std::bad_alloc();
        // A page that was never written is not there at all.
        for (int64_t i = 0; i < n; i += PAGE) static_cast<volatile char*>(pageable.get())[i] = 0;
        if (kind == Kind::registered)
            CHECK_CUDA_CALL(cudaHostRegister(pageable.get(), n, cudaHostRegisterDefault));
    }
    ~HostBytes() {
        if (kind == Kind::registered) cudaHostUnregister(pageable.get());
    }
    char* data() const { return pinned ? pinned->data() : pageable.get(); }

 private:
    struct Free {
        void operator()(char* p) const { std::free(p); }
    };
    Kind kind;
    std::unique_ptr<char, Free> pageable;
    std::unique_ptr<PinnedBuffer<char>> pinned;
};

/// n bytes from the host to the GPU, or back.
class Transfer {
 public:
    explicit Transfer(Program& program) {
        program.command_line.size("--n", n, 0, int64_t{1} << 40, 20000, "bytes");
        // Pinning so much takes a tenth of a second.
        program.sweep_sizes = {"--n 4Ki --repeats 20", "--n 1Mi --repeats 20", "--n 16Mi --repeats 20",
                               "--n 256Mi --repeats 6 --warmup 1"};
        program.test_sizes = {"--n 0",  "--n 1",    "--n 15",   "--n 16",
                              "--n 17", "--n 4095", "--n 4097", "--n 100003"};
        program.large_sizes = {"--n 2147483647", "--n 4294967297"};
    }
    std::string nothing_to_do() const { return n ? "" : "no bytes"; }
    /// The input, four sources, three targets, a download, and what the rows that allocate have.
    double host_bytes() const { return 10.0 * static_cast<double>(n); }

    void prepare(const Program& program) {
        input = seeded_bytes(n, program.options.seed);
        downloaded.resize(n);
        device_in = std::make_unique<DeviceBuffer<char>>(n);
        device_out = std::make_unique<DeviceBuffer<char>>(n);
        streams = std::make_unique<Streams>(2);
        CHECK_CUDA_CALL(cudaMemcpy(device_out->data(), input.data(), n, cudaMemcpyHostToDevice));
    }
    void describe(Problem& p) const {
        p.headline = std::to_string(n) + " bytes";
        p.rates = {{"GB/s", static_cast<double>(n)}};
        p.ceiling = "h2d_pinned";
        p.remark = [](const Medians& ms) {
            char text[120];
            std::snprintf(text, sizeof text, "pinned is %.1f times as fast as pageable in, %.1f times out\n",
                          ms("h2d_pageable") / ms("h2d_pinned"), ms("d2h_pageable") / ms("d2h_pinned"));
            return std::string(text);
        };
    }

    /// The input in memory of this kind, and room for it: made where they are first asked for.
    char* source(Kind kind) {
        std::unique_ptr<HostBytes>& bytes = sources[kind];
        if (!bytes) {
            bytes = std::make_unique<HostBytes>(kind, n);
            std::memcpy(bytes->data(), input.data(), n);
        }
        return bytes->data();
    }
    char* target(Kind kind) {
        last = kind;
        std::unique_ptr<HostBytes>& bytes = targets[kind];
        if (!bytes) {
            bytes = std::make_unique<HostBytes>(kind, n);
            poison_host(bytes->data(), n);
        }
        return bytes->data();
    }

    void poison() {
        device_in->poison();
        for (auto& [kind, bytes] : targets) poison_host(bytes->data(), n);
        memory_type = -1;
    }
    Comparison check() {
        device_in->download(downloaded.data());
        return compare_with(downloaded.data());
    }
    Comparison check_out() { return compare_with(targets[last]->data()); }
    Comparison check_both() {
        const Comparison in = check();
        return in.ok() ? check_out() : in;
    }
    Comparison check_pinning() const {
        return compare(
            1, 0, [this](int64_t) { return memory_type; }, [](int64_t) { return cudaMemoryTypeHost; });
    }

    int64_t n = 256 << 20;
    std::unique_ptr<DeviceBuffer<char>> device_in, device_out;
    std::unique_ptr<Streams> streams;
    int memory_type = -1;  ///< what the runtime says of memory that was just pinned

 private:
    Comparison compare_with(const char* got) const {
        const char* want = reinterpret_cast<const char*>(input.data());
        return compare(
            n, 0, [=](int64_t i) { return got[i]; }, [=](int64_t i) { return want[i]; });
    }

    std::vector<int> input;
    std::vector<char> downloaded;
    std::map<Kind, std::unique_ptr<HostBytes>> sources, targets;
    Kind last = Kind::pinned;
};

template <Kind KIND>
void in(Transfer& t) {
    CHECK_CUDA_CALL(
        cudaMemcpyAsync(t.device_in->data(), t.source(KIND), t.n, cudaMemcpyHostToDevice, nullptr));
}

template <Kind KIND>
void out(Transfer& t) {
    CHECK_CUDA_CALL(
        cudaMemcpyAsync(t.target(KIND), t.device_out->data(), t.n, cudaMemcpyDeviceToHost, nullptr));
}

void both(Transfer& t) {
    Streams& streams = *t.streams;
    streams.fork();
    CHECK_CUDA_CALL(cudaMemcpyAsync(t.device_in->data(), t.source(Kind::pinned), t.n, cudaMemcpyHostToDevice,
                                    streams[0]));
    CHECK_CUDA_CALL(cudaMemcpyAsync(t.target(Kind::pinned), t.device_out->data(), t.n, cudaMemcpyDeviceToHost,
                                    streams[1]));
    streams.join();
}

/// On systems with unified addressing, all that we build for, pinned memory is mapped, and has one address.
constexpr int ZERO_COPY_THREADS = 256;
unsigned zero_copy_blocks(const Transfer& t) {
    return static_cast<unsigned>(std::min<int64_t>(2048, ceil_div(t.n, 16 * ZERO_COPY_THREADS)));
}
void mapped_in(Transfer& t) {
    copy_bytes<<<zero_copy_blocks(t), ZERO_COPY_THREADS>>>(t.source(Kind::pinned), t.device_in->data(), t.n);
}
void mapped_out(Transfer& t) {
    copy_bytes<<<zero_copy_blocks(t), ZERO_COPY_THREADS>>>(t.device_out->data(), t.target(Kind::pinned), t.n);
}

int type_of(const void* pointer) {
    cudaPointerAttributes attributes;
    CHECK_CUDA_CALL(cudaPointerGetAttributes(&attributes, pointer));
    return attributes.type;
}
void get_pageable(Transfer& t) {
    const HostBytes bytes(Kind::pageable, t.n);
    t.memory_type = bytes.data() ? cudaMemoryTypeHost : 0;
}
void get_pinned(Transfer& t) {
    const PinnedBuffer<char> bytes(t.n);
    t.memory_type = type_of(bytes.data());
}
void register_pageable(Transfer& t) {
    char* bytes = t.source(Kind::pageable);
    CHECK_CUDA_CALL(cudaHostRegister(bytes, t.n, cudaHostRegisterDefault));
    t.memory_type = type_of(bytes);
    CHECK_CUDA_CALL(cudaHostUnregister(bytes));
}

int main(int argc, char** argv) {
    StreamsLadder<Transfer> ladder("pinned", "Copies between host and GPU, by the kind of the host's memory.",
                                   argc, argv);
    ladder.ceiling("h2d_pinned", "in, from cudaHostAlloc", in<Kind::pinned>);
    ladder.variant("h2d_pageable", "in, from malloc: the driver copies twice", in<Kind::pageable>);
    ladder.variant("h2d_registered", "in, from malloc and cudaHostRegister", in<Kind::registered>);
    ladder.variant("h2d_write_combined", "in, past the CPU's caches", in<Kind::write_combined>);
    ladder.variant("h2d_mapped", "in, read by a kernel: zero copy", mapped_in);
    const auto out_of_gpu = [&](const char* name, const char* note, void (*launch)(Transfer&)) {
        ladder.variant(name, note, launch).check = &Transfer::check_out;
    };
    out_of_gpu("d2h_pinned", "out, to cudaHostAlloc", out<Kind::pinned>);
    out_of_gpu("d2h_pageable", "out, to malloc", out<Kind::pageable>);
    out_of_gpu("d2h_registered", "out, to malloc and cudaHostRegister", out<Kind::registered>);
    out_of_gpu("d2h_mapped", "out, written by a kernel: zero copy", mapped_out);
    auto& at_once = ladder.variant("both", "in and out at once, pinned", both);
    at_once.check = &Transfer::check_both;
    at_once.bytes = [](const Transfer& t) { return 2.0 * static_cast<double>(t.n); };
    const auto allocation = [&](const char* name, const char* note, void (*launch)(Transfer&)) {
        ladder.variant(name, note, launch).check = &Transfer::check_pinning;
    };
    allocation("malloc", "malloc, every page touched, free", get_pageable);
    allocation("host_alloc", "cudaHostAlloc and cudaFreeHost", get_pinned);
    allocation("host_register", "cudaHostRegister and back", register_pageable);
    return ladder.run();
}
