// fences.cu: a message: data, then a flag. Does who sees the flag see the data?
//
// Idea:   a writer stores data, then a flag; a reader waits for the flag, then loads the data. Neither
//         compiler nor hardware has to keep that order, unless told so: the writer's stores may become
//         visible in another order, and the reader may find the data in its L1, as they were. Each message is
//         new data in a new place, next to data that the reader has read before; the writer waits for an
//         answer before it writes the next one.
//         plain: nothing.  volatile: each access happens, in the program's order, but for whom?
//         fence_block, fence, fence_system: __threadfence_block, __threadfence, __threadfence_system between
//         the two, on both sides.
//         atomic_S: cuda::atomic_ref on the flag, release and acquire, in the scope S.
//         blocks_: writer and reader on two multiprocessors; block_: two warps of a block; host_: GPU to CPU.
// broken: messages whose reader saw the flag and old data. lost: the flag was never seen, so the pair gave
//         up. Where the model of memory forbids that (a fence or scope wide enough for both), one is WRONG;
//         otherwise it is counted. Never seen is not never: another GPU, another day.
// Checked: every message arrives, as what was sent. Where the order may break it may also be old, or lost:
//         its reader says so, and its writer did write.
// The plain ones are data races on purpose, and are named as such by a race checker.
// Text 3, synchronisation: the fences and volatile.
#include <algorithm>
#include <chrono>
#include <cuda/atomic>
#include <limits>
#include <memory>

#include "memory.cuh"

constexpr int MOST_TRIES = 1 << 18;     // looks at a flag, milliseconds: then a message is lost
constexpr uint32_t OLD = 0, LOST = 2;   // instead of a message, which is odd
constexpr int ARRIVED = 0, BROKEN = 1;  // what the clocks count here

__host__ __device__ inline uint32_t message(uint64_t seed, int64_t i) {
    return word_at(seed, i) | 1;
}

__device__ inline void set_flag(uint32_t* flag, uint32_t value) {
    *static_cast<volatile uint32_t*>(flag) = value;
}
__device__ inline bool flag_is(const uint32_t* flag, uint32_t value) {
    return *static_cast<const volatile uint32_t*>(flag) == value;
}

// send() stores data, then the flag. try_receive() looks at the flag and, where it is set, loads the data.
struct Plain {
    __device__ static void send(uint32_t* data, uint32_t* flag, uint32_t value) {
        *data = value;
        set_flag(flag, 1);
    }
    __device__ static bool try_receive(const uint32_t* data, uint32_t* flag, uint32_t& value) {
        if (!flag_is(flag, 1)) return false;
        value = *data;
        return true;
    }
};
struct Volatile {
    __device__ static void send(volatile uint32_t* data, uint32_t* flag, uint32_t value) {
        *data = value;
        set_flag(flag, 1);
    }
    __device__ static bool try_receive(const volatile uint32_t* data, uint32_t* flag, uint32_t& value) {
        if (!flag_is(flag, 1)) return false;
        value = *data;
        return true;
    }
};
struct BlockFence {
    __device__ static void fence() { __threadfence_block(); }
};
struct DeviceFence {
    __device__ static void fence() { __threadfence(); }
};
struct SystemFence {
    __device__ static void fence() { __threadfence_system(); }
};
template <typename Fence>
struct Fenced {
    __device__ static void send(uint32_t* data, uint32_t* flag, uint32_t value) {
        *data = value;
        Fence::fence();
        set_flag(flag, 1);
    }
    __device__ static bool try_receive(const uint32_t* data, uint32_t* flag, uint32_t& value) {
        if (!flag_is(flag, 1)) return false;
        Fence::fence();
        value = *data;
        return true;
    }
};
template <cuda::thread_scope scope>
struct Atomic {
    using Flag = cuda::atomic_ref<uint32_t, scope>;
    __device__ static void send(uint32_t* data, uint32_t* flag, uint32_t value) {
        *data = value;
        Flag(*flag).store(1, cuda::memory_order_release);
    }
    __device__ static bool try_receive(const uint32_t* data, uint32_t* flag, uint32_t& value) {
        if (Flag(*flag).load(cuda::memory_order_acquire) != 1) return false;
        value = *data;
        return true;
    }
};

/// Where the messages are. Those of a thread lie side by side, so a reader's line holds the next ones, old.
struct Mailbox {
    uint32_t *data, *flags, *answers;
    int rounds, pairs;
};

/// Calls `done` until it says so; gives up after MOST_TRIES.
template <typename Done>
__device__ bool wait_until(Done done) {
#pragma unroll 1
    for (int tries = 0; tries < MOST_TRIES; ++tries)
        if (done()) return true;
    return false;
}

/// Each pair of threads exchanges `rounds` messages. `within`: the pair is two warps of one block, else of
/// two blocks.
template <typename How>
__global__ void exchange(How, bool within, Mailbox m, uint64_t seed, uint32_t* received, long long* counts) {
    const bool writes = within ? threadIdx.x < WARP_SIZE : blockIdx.x % 2 == 0;
    const int64_t pair = int64_t{within ? blockIdx.x : blockIdx.x / 2} * WARP_SIZE + threadIdx.x % WARP_SIZE;
    int arrived = 0, broken = 0;
    for (int round = 0; round < m.rounds; ++round) {
        const int64_t i = pair * m.rounds + round, flag = int64_t{round} * m.pairs + pair;
        if (writes) {
            How::send(&m.data[i], &m.flags[flag], message(seed, i));
            if (!wait_until([&] { return flag_is(&m.answers[pair], round + 1); })) return;
        } else {
            uint32_t value = 0;
            if (!wait_until([&] { return How::try_receive(&m.data[i], &m.flags[flag], value); })) {
#pragma unroll 1
                for (int left = 0; left < m.rounds - round; ++left) received[i + left] = LOST;
                break;
            }
            received[i] = value;
            ++arrived;
            broken += value == OLD;
            set_flag(&m.answers[pair], round + 1);
        }
    }
    if (writes) return;
    const auto add = [&](int which, int count) {
        atomicAdd(reinterpret_cast<unsigned long long*>(&counts[which]),
                  static_cast<unsigned long long>(count));
    };
    add(ARRIVED, arrived);
    add(BROKEN, broken);
}

/// The writer's side alone: the reader is the host.
template <typename How>
__global__ void send_to_host(How, Mailbox m, int64_t messages, uint64_t seed) {
    for (int64_t i = 0; i < messages; ++i) How::send(&m.data[i], &m.flags[i], message(seed, i));
}

/// The host's part: waits for each flag, then reads the data. Gives up where nothing comes for seconds.
std::vector<uint32_t> receive_on_host(const volatile uint32_t* data, const volatile uint32_t* flags,
                                      int64_t messages) {
    std::vector<uint32_t> received(messages, LOST);
    auto last = std::chrono::steady_clock::now();
    for (int64_t i = 0; i < messages; ++i) {
        while (flags[i] != 1)
            if (std::chrono::steady_clock::now() - last > std::chrono::seconds(5)) return received;
        std::atomic_thread_fence(std::memory_order_acquire);
        received[i] = data[i];
        last = std::chrono::steady_clock::now();
    }
    return received;
}

enum Order { MAY_BREAK, NEVER_MAY };

class Fences : public Memory {
 public:
    Fences(int argc, char** argv)
        : Memory("fences", "Messages between threads: which orders break, and which never may.", argc, argv) {
        program.command_line.size("--rounds", rounds, 1, 1 << 14, 3,
                                  "messages that each pair of threads exchanges");
        program.sweep_sizes = {"--rounds 64", "--rounds 256"};
        program.test_sizes = {"--rounds 1", "--rounds 2", "--rounds 3", "--rounds 5", "--rounds 7"};
        family.columns = {{"messages", "", true}, {"broken", "", true}, {"lost", "", true}};
        family.layout = [this] {
            Layout layout;
            layout.headline =
                std::to_string(pairs()) + " pairs, " + std::to_string(rounds) + " messages each";
            layout.in = 2 * messages() + pairs();
            layout.out = std::max(messages(), messages_to_host());
            layout.clocks = 2;
            layout.host_bytes = sizeof(uint32_t) * static_cast<double>(layout.out + 3 * messages_to_host());
            return layout;
        };
        family.fill = [this](const Buffers& t) {
            on_device = t.in;
            on_host = std::make_unique<PinnedBuffer<uint32_t>>(2 * messages_to_host(), cudaHostAllocMapped);
        };
    }

    template <typename How>
    Entry& between_blocks(const std::string& name, Order order) {
        return between_threads<How>("blocks_" + name, false, order);
    }
    template <typename How>
    Entry& within_a_block(const std::string& name, Order order) {
        return between_threads<How>("block_" + name, true, order);
    }
    template <typename How>
    void to_host(const std::string& name, Order order) {
        Entry& v = variant("host_" + name, note_of(order), [this](const Buffers& t) {
            const int64_t count = messages_to_host();
            uint32_t *data = on_host->data(), *flags = data + count;
            send_to_host<<<1, 1>>>(How(), Mailbox{data, flags, nullptr, 0, 0}, count, t.seed);
            CHECK_KERNEL();
            const std::vector<uint32_t> received = receive_on_host(data, flags, count);
            const auto how_many = [&](uint32_t what) {
                return std::count(received.begin(), received.end(), what);
            };
            const long long counts[] = {count - how_many(LOST), how_many(OLD)};
            CHECK_CUDA_CALL(
                cudaMemcpy(t.out, received.data(), count * sizeof(uint32_t), cudaMemcpyHostToDevice));
            CHECK_CUDA_CALL(cudaMemcpy(t.clocks, counts, sizeof(counts), cudaMemcpyHostToDevice));
        });
        v.restore = [this](const Buffers&) { std::fill_n(on_host->data(), on_host->count(), OLD); };
        v.check = [=](const std::vector<uint32_t>& out) {
            return judge(out, on_host->data(), messages_to_host(), order);
        };
        v.read = [=](const std::vector<long long>& counts) {
            return readings(counts, messages_to_host(), order);
        };
    }

 private:
    int64_t rounds = 256;
    // The mailboxes, data first.
    const uint32_t* on_device = nullptr;
    std::unique_ptr<PinnedBuffer<uint32_t>> on_host;

    // A pair of blocks for every two multiprocessors, so that all of them run at once.
    int pairs() const { return std::max(1, program.device.multiprocessors / 2) * WARP_SIZE; }
    int64_t messages() const { return pairs() * rounds; }
    int64_t messages_to_host() const { return WARP_SIZE * rounds; }
    static const char* note_of(Order order) { return order == MAY_BREAK ? "may break" : "never may"; }

    template <typename How>
    Entry& between_threads(const std::string& name, bool within, Order order) {
        Entry& v = variant(name, note_of(order), [=](const Buffers& t) {
            const Mailbox m{t.in, t.in + messages(), t.in + 2 * messages(), static_cast<int>(rounds),
                            pairs()};
            const int blocks = pairs() / WARP_SIZE;
            exchange<<<within ? blocks : 2 * blocks, within ? 2 * WARP_SIZE : WARP_SIZE>>>(
                How(), within, m, t.seed, t.out, t.clocks);
        });
        v.restore = [](const Buffers& t) {
            CHECK_CUDA_CALL(cudaMemsetAsync(t.in, 0, t.in_words * sizeof(uint32_t)));
            CHECK_CUDA_CALL(cudaMemsetAsync(t.clocks, 0, 2 * sizeof(*t.clocks)));
        };
        v.check = [=](const std::vector<uint32_t>& out) { return judge(out, on_device, messages(), order); };
        v.read = [=](const std::vector<long long>& counts) { return readings(counts, messages(), order); };
        return v;
    }

    /// `out`: what each reader says that it received. `data`: what the writers wrote, on the GPU or the host.
    /// Where the order may break, a message may be old; and it may be lost, if its reader says so and its
    /// writer did write. A reader that says nothing is wrong.
    Comparison judge(const std::vector<uint32_t>& out, const uint32_t* data, int64_t count,
                     Order order) const {
        std::vector<uint32_t> written(count);
        CHECK_CUDA_CALL(cudaMemcpy(written.data(), data, count * sizeof(uint32_t), cudaMemcpyDefault));
        const auto sent = [&](int64_t i) { return message(program.options.seed, i); };
        const auto excused = [&](int64_t i) {
            const int64_t first = i / rounds * rounds;  // of its pair: it is written whatever becomes of it
            return out[i] == OLD || (out[i] == LOST && written[first] == sent(first));
        };
        return compare(
            count, 0, [&](int64_t i) { return order == MAY_BREAK && excused(i) ? sent(i) : out[i]; }, sent);
    }
    static std::vector<Reading> readings(const std::vector<long long>& counts, int64_t count, Order order) {
        const double most = order == MAY_BREAK ? std::numeric_limits<double>::infinity() : 0;
        return {{static_cast<double>(counts[ARRIVED])},
                {static_cast<double>(counts[BROKEN]), 0, most},
                {static_cast<double>(count - counts[ARRIVED]), 0, most}};
    }
};

std::string race_on_purpose(const DeviceInfo&, const Buffers&) {
    return simulated() ? "a race on purpose, which the simulator reports" : "";
}

int main(int argc, char** argv) {
    using cuda::thread_scope_block, cuda::thread_scope_device, cuda::thread_scope_system;
    Fences ladder(argc, argv);
    ladder.between_blocks<Plain>("plain", MAY_BREAK).unless(race_on_purpose);
    ladder.between_blocks<Volatile>("volatile", MAY_BREAK);
    ladder.between_blocks<Fenced<BlockFence>>("fence_block", MAY_BREAK);
    ladder.between_blocks<Fenced<DeviceFence>>("fence", NEVER_MAY);
    ladder.between_blocks<Fenced<SystemFence>>("fence_system", NEVER_MAY);
    ladder.between_blocks<Atomic<thread_scope_block>>("atomic_block", MAY_BREAK);
    ladder.between_blocks<Atomic<thread_scope_device>>("atomic_device", NEVER_MAY);
    ladder.between_blocks<Atomic<thread_scope_system>>("atomic_system", NEVER_MAY);
    ladder.within_a_block<Plain>("plain", MAY_BREAK).unless(race_on_purpose);
    ladder.within_a_block<Volatile>("volatile", MAY_BREAK);
    ladder.within_a_block<Fenced<BlockFence>>("fence_block", NEVER_MAY);
    ladder.within_a_block<Fenced<DeviceFence>>("fence", NEVER_MAY);
    ladder.within_a_block<Atomic<thread_scope_block>>("atomic_block", NEVER_MAY);
    ladder.to_host<Volatile>("volatile", MAY_BREAK);
    ladder.to_host<Fenced<DeviceFence>>("fence", MAY_BREAK);
    ladder.to_host<Fenced<SystemFence>>("fence_system", NEVER_MAY);
    ladder.to_host<Atomic<thread_scope_system>>("atomic_system", NEVER_MAY);
    return ladder.run();
}
