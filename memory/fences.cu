// fences.cu: a message: data, then a flag. Does who sees the flag see the data?
//
// Idea:   a writer stores data, then a flag; a reader waits for the flag, then loads the data. Neither compiler nor
//         hardware has to keep that order, unless told so: the writer's stores may become visible in another order,
//         and the reader may find the data in its L1, as they were. Each message is new data in a new place, next to
//         data that the reader has read before; the writer waits for an answer before it writes the next one.
//         plain: nothing.  volatile: each access happens, in the program's order, but for whom?
//         fence_block, fence, fence_system: __threadfence_block, __threadfence, __threadfence_system between the two,
//         on both sides.  atomic_S: cuda::atomic_ref on the flag, release and acquire, in the scope S.
//         blocks_: writer and reader on two multiprocessors; block_: two warps of a block; host_: GPU to CPU.
// broken: messages whose reader saw the flag and old data. lost: the flag was never seen, so the pair gave up. Where
//         the model of memory forbids that (a fence or scope wide enough for both), one is WRONG; otherwise it is
//         counted. Never seen is not never: another GPU, another day.
// Checked: every message arrives, as what was sent or, where that is allowed, as what was there before.
// The plain ones are data races on purpose, and are named as such by a race checker.
// Text 3, synchronisation: the fences and volatile.
#include <algorithm>
#include <chrono>
#include <cuda/atomic>
#include <limits>
#include <memory>

#include "memory.cuh"

constexpr int MOST_TRIES = 1 << 18;  // looks at a flag, milliseconds: then a message is lost
constexpr uint32_t OLD = 0, NOT_RECEIVED = 0xFFFFFFFF;
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

/// Where the messages are. Those of a thread lie side by side, so that a reader's line holds the next ones, old.
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

/// Each pair of threads exchanges `rounds` messages. `within`: the pair is two warps of one block, else of two blocks.
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
            if (!wait_until([&] { return How::try_receive(&m.data[i], &m.flags[flag], value); })) break;
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
    std::vector<uint32_t> received(messages, NOT_RECEIVED);
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

int main(int argc, char** argv) {
    Memory ladder("fences", "Messages between threads: which orders break, and which never may.", argc, argv);
    int64_t rounds = 256;
    ladder.program.command_line.size("--rounds", rounds, 1, 1 << 14, 3,
                                     "messages that each pair of threads exchanges");
    ladder.program.sweep_sizes = {"--rounds 64", "--rounds 256"};
    ladder.program.test_sizes = {"--rounds 1", "--rounds 2", "--rounds 3", "--rounds 5", "--rounds 7"};
    ladder.columns = {{"messages", "", true}, {"broken", "", true}, {"lost", "", true}};

    // A pair of blocks for every two multiprocessors, so that all of them run at once.
    const auto pairs = [&] { return std::max(1, ladder.program.device.multiprocessors / 2) * WARP_SIZE; };
    const auto messages = [&] { return pairs() * rounds; };
    const auto messages_to_host = [&] { return WARP_SIZE * rounds; };
    const auto judged = [&](Probe p, bool may_break, auto count) {
        p.check = [=, &ladder](const std::vector<uint32_t>& out) {
            const auto sent = [&](int64_t i) { return message(ladder.program.options.seed, i); };
            const auto as_it_should = [&](int64_t i) {
                return may_break && (out[i] == OLD || out[i] == NOT_RECEIVED) ? sent(i) : out[i];
            };
            return compare(count(), 0, as_it_should, sent);
        };
        p.read = [=](const std::vector<long long>& counts) {
            const double most = may_break ? std::numeric_limits<double>::infinity() : 0;
            return std::vector<Reading>{{static_cast<double>(counts[ARRIVED])},
                                        {static_cast<double>(counts[BROKEN]), 0, most},
                                        {static_cast<double>(count() - counts[ARRIVED]), 0, most}};
        };
        ladder.probes.push_back(p);
    };

    const auto on_device = [&](const std::string& name, auto how, bool within, bool may_break,
                               bool race = false) {
        Probe p{{(within ? "block_" : "blocks_") + name, may_break ? "may break" : "never may"}};
        p.restore = [](const Task& t) {
            CHECK_CUDA_CALL(cudaMemsetAsync(t.in, 0, t.in_words * sizeof(uint32_t)));
            CHECK_CUDA_CALL(cudaMemsetAsync(t.clocks, 0, 2 * sizeof(*t.clocks)));
        };
        p.launch = [=, &rounds](const Task& t) {
            const Mailbox m{t.in, t.in + messages(), t.in + 2 * messages(), static_cast<int>(rounds),
                            pairs()};
            const int blocks = pairs() / WARP_SIZE;
            exchange<<<within ? blocks : 2 * blocks, within ? 2 * WARP_SIZE : WARP_SIZE>>>(
                how, within, m, t.seed, t.out, t.clocks);
        };
        if (race)
            p.obstacle = [](const DeviceInfo&) {
                return simulated() ? "a race on purpose, which the simulator reports" : "";
            };
        judged(p, may_break, messages);
    };
    using cuda::thread_scope_block, cuda::thread_scope_device, cuda::thread_scope_system;
    on_device("plain", Plain{}, false, true, true);
    on_device("volatile", Volatile{}, false, true);
    on_device("fence_block", Fenced<BlockFence>{}, false, true);
    on_device("fence", Fenced<DeviceFence>{}, false, false);
    on_device("fence_system", Fenced<SystemFence>{}, false, false);
    on_device("atomic_block", Atomic<thread_scope_block>{}, false, true);
    on_device("atomic_device", Atomic<thread_scope_device>{}, false, false);
    on_device("atomic_system", Atomic<thread_scope_system>{}, false, false);
    on_device("plain", Plain{}, true, true, true);
    on_device("volatile", Volatile{}, true, true);
    on_device("fence_block", Fenced<BlockFence>{}, true, false);
    on_device("fence", Fenced<DeviceFence>{}, true, false);
    on_device("atomic_block", Atomic<thread_scope_block>{}, true, false);

    // Memory of the host that the GPU writes to: data, then flags.
    std::unique_ptr<PinnedBuffer<uint32_t>> shared;
    const auto to_host = [&](const std::string& name, auto how, bool may_break) {
        Probe p{{"host_" + name, may_break ? "may break" : "never may"}};
        p.restore = [&](const Task&) { std::fill_n(shared->data(), shared->count(), OLD); };
        p.launch = [=, &shared](const Task& t) {
            const int64_t count = messages_to_host();
            uint32_t *data = shared->data(), *flags = data + count;
            send_to_host<<<1, 1>>>(how, Mailbox{data, flags, nullptr, 0, 0}, count, t.seed);
            CHECK_KERNEL();
            const std::vector<uint32_t> received = receive_on_host(data, flags, count);
            const auto how_many = [&](uint32_t what) {
                return std::count(received.begin(), received.end(), what);
            };
            const long long counts[] = {count - how_many(NOT_RECEIVED), how_many(OLD)};
            CHECK_CUDA_CALL(
                cudaMemcpy(t.out, received.data(), count * sizeof(uint32_t), cudaMemcpyHostToDevice));
            CHECK_CUDA_CALL(cudaMemcpy(t.clocks, counts, sizeof(counts), cudaMemcpyHostToDevice));
        };
        judged(p, may_break, messages_to_host);
    };
    to_host("volatile", Volatile{}, true);
    to_host("fence", Fenced<DeviceFence>{}, true);
    to_host("fence_system", Fenced<SystemFence>{}, false);
    to_host("atomic_system", Atomic<thread_scope_system>{}, false);

    ladder.fill = [&](const Task&) {
        shared = std::make_unique<PinnedBuffer<uint32_t>>(2 * messages_to_host(), cudaHostAllocMapped);
    };
    return ladder.run([&] {
        Layout layout;
        layout.headline = std::to_string(pairs()) + " pairs, " + std::to_string(rounds) + " messages each";
        layout.in = 2 * messages() + pairs();
        layout.out = std::max(messages(), messages_to_host());
        layout.clocks = 2;
        return layout;
    });
}
