// Happens-before: vector clocks of warps and lanes, and the check of each access against the last ones to
// its word.
//
// One clock counts all synchronisations of the process ("time"). A warp's accesses carry the time of its
// latest synchronisation; what another warp did before time t is known to it once it has synchronised with
// that warp.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "machine/memory.hpp"
#include "ptx/program.hpp"

namespace ladder {
constexpr int WARPS_PER_BLOCK = 32;
struct Block;

/// Which of a warp's accesses are known: those before `all`, and of one lane those before `lane_time`, too:
/// what that lane alone has fenced.
struct WarpTime {
    uint32_t all = 0, lane_time = 0, lane = 0;
    bool knows(uint32_t time, uint32_t of_lane) const {
        return time < all || (of_lane == lane && time < lane_time);
    }
    void raise(const WarpTime& other) {
        const bool same = other.lane_time == lane_time && other.lane == lane;
        if (!same && other.lane_time > other.all) raise_lane(other);
        all = std::max(all, other.all);
    }

 private:
    /// The times of two lanes do not fit: then the older one counts for all lanes, so that a race may be
    /// missed, not invented.
    void raise_lane(const WarpTime& other);
};
/// For each warp of the grid. Missing entries know nothing.
using GridClock = std::vector<WarpTime>;

/// Accesses of other warps before these times are known: those of the same block, and of other blocks.
struct Known {
    std::array<WarpTime, WARPS_PER_BLOCK> siblings{};
    std::shared_ptr<const GridClock> others;
};
/// What one warp knows of the others.
struct WarpClock {
    uint32_t time = 0;
    uint32_t lanes_known = 0;  ///< all lanes of this warp know each other's accesses before this time
    /// More of that, by __syncwarp(part).
    std::unique_ptr<std::array<std::array<uint32_t, LANES>, LANES>> lane_known;
    Known known;
    // What a fence has released, to be passed on by the next strong store or atomic.
    bool fenced = false;
    uint32_t fence_time = 0;
    WarpTime fence;  ///< which accesses of its own
    Known fenced_known;
    // The newest that came from, and went to, a location: a loop that polls it need not do so again.
    const void* acquired_from = nullptr;
    uint64_t acquired_version = 0;
    const void* published_to = nullptr;
    uint32_t published_time = 0;
};

/// Release and acquire through memory: what is known to those who read a location.
struct SyncLocation {
    GridClock clock;
    uint64_t version = 0;
};
using SyncMap = std::unordered_map<const void*, SyncLocation>;

/// Is the race check on?
extern bool races_on;

/// The process-wide clock.
uint32_t next_time();

void start_clock(Warp& warp);
void fence(Warp& warp);
/// A strong write to `where`: those who read it know what the warp had fenced.
void publish(Warp& warp, const void* where);
void acquire(Warp& warp, const void* where);
/// __syncwarp(lanes).
void sync_lanes(Warp& warp, Mask lanes);
/// A barrier of warps of one block.
void sync_warps(const std::vector<Warp*>& warps);
/// A barrier of warps of several blocks; also what mbarriers use, one side at a time.
void release_to(Warp& warp, GridClock& clock);
void acquire_from(Warp& warp, const GridClock& clock);

/// One lane's access to check and to record. `owner` is the block whose shared memory it is, or null.
struct LaneAccess {
    Region& region;
    Block* owner;
    uint64_t offset;
    int bytes, lane;
    bool write, strong;
};
void check_race(Warp& warp, const Instruction& in, const LaneAccess& access);
}  // namespace ladder
