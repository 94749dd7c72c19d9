// The state of a launch: clusters, blocks and their barriers.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "counts/profiles.hpp"
#include "counts/report.hpp"
#include "machine/memory.hpp"
#include "machine/warp.hpp"
#include "ptx/program.hpp"

namespace ladder {
constexpr int MULTIPROCESSORS = 8;

/// One of a block's sixteen barriers.
struct Barrier {
    int expected = 0;  ///< threads, or 0: all that have not ended
    int arrived = 0;
    Mask warps = 0;
    uint32_t count = 0;  ///< bar.red
    bool all = true, any = false;
};

struct Mbarrier {
    int expected = 0, pending = 0;
    int64_t transactions = 0;  ///< bytes that are still to come
    uint8_t phase = 0;
    GridClock clock, completed;
};

struct Cluster;
struct Launch;
/// The last access of a warp of another block to this one's shared memory.
struct RemoteAccess {
    Warp* warp;
    const Instruction* in;
    int lane;
    uint32_t time;
};

struct Block {
    Launch* launch = nullptr;
    uint32_t index = 0;
    unsigned id[3] = {};
    Cluster* cluster = nullptr;
    int rank = 0;
    Region shared;
    std::vector<char> shared_storage;
    std::vector<uint8_t> in_flight;  ///< for each shared word: cp.async copies that have not landed
    int copies_in_flight = 0;
    uint32_t start_time = 0;
    std::vector<Warp> warps;
    Barrier barriers[CLUSTER_BARRIER];
    std::map<uint64_t, Mbarrier> mbarriers;
    std::map<uint32_t, RemoteAccess> remote;  ///< by the warp's number in the grid
    int live_threads = 0;
    bool ended = false;

    void start(Launch& launch, uint32_t index);
    /// Runs every warp once. Returns the instructions run; 0 means that all wait.
    uint64_t step(bool& progress);
    bool complete_barriers();
    void check_members(int barrier, Warp& member);
    void check_remote();
    [[noreturn]] void deadlock(const std::string& besides = "");
};

struct Cluster {
    std::vector<Block*> blocks;
    int arrived = 0;
    uint8_t phase = 0;
    GridClock clock, completed;
    bool complete_if_full();
};

struct Launch {
    const void* symbol = nullptr;  ///< by which the program calls the kernel
    const Function* function = nullptr;
    std::string name;
    unsigned grid[3] = {1, 1, 1}, block[3] = {1, 1, 1}, cluster[3] = {1, 1, 1};
    bool cooperative = false, clustered = false;
    size_t resident = ~size_t{0};  ///< blocks that an H200 holds at once
    size_t dynamic_shared = 0;
    std::vector<char> parameters;
    uint64_t grid_barrier = 0;
    Profile* profile = nullptr;
    uint32_t start_time = 0, ordered_before = 0;
    int operation = 0;
    SyncMap sync;
    int warps_per_block = 1;
    Region* last_region = nullptr;
    std::vector<SharedVariable> shared_layout;  ///< the kernel's, and the dynamic shared memory
    int dynamic_offset = 0, shared_bytes = 0;   ///< the latter without gaps
    int threads() const { return block[0] * block[1] * block[2]; }
    unsigned cluster_size() const { return cluster[0] * cluster[1] * cluster[2]; }
};

/// Runs a launch to its end. Throws LaunchStop.
void execute(Launch& launch);

}  // namespace ladder
