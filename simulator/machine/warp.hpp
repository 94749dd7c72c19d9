// A warp's paths: how they split, where they wait for each other, and which one runs.
#pragma once
#include <bit>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "counts/counts.hpp"
#include "machine/races.hpp"
#include "ptx/program.hpp"

namespace ladder {
struct Block;

// Windows of the generic address space that are not host addresses.
constexpr uint64_t SHARED_BASE = 0x6f0000000000, LOCAL_BASE = 0x6f8000000000, PARAMETER_BASE = 0x6f9000000000;
constexpr uint64_t WINDOW = uint64_t{1} << 32;
constexpr int RANK_SHIFT = 24;  ///< of a cluster's block number, plus one, in a shared address

/// The lanes in which a register of a frame has a value that nothing has defined, and the instruction that
/// left it so.
struct Undefined {
    int offset;
    Mask lanes;
    const Instruction* by;
};

struct Frame {
    const Function* function = nullptr;
    char* registers = nullptr;
    std::unique_ptr<char, void (*)(void*)> storage{nullptr, nullptr};
    size_t capacity = 0;
    const Instruction* call = nullptr;
    Frame* caller = nullptr;
    int return_pc = 0, local_base = 0, depth = 0;
    Tally* tallies = nullptr;
    std::vector<Undefined> undefined;
};

constexpr int RETURN = -1;
constexpr int CLUSTER_BARRIER = 16;
/// Where diverged lanes wait for each other. With pc RETURN it is the end of a function's frame.
struct Join {
    int pc;
    Mask expected, arrived;
    int parent;
    Frame* frame;
};

enum class PathState : uint8_t { Ready, AtWarpSync, AtBarrier };
/// Lanes that run together.
struct Path {
    int pc;
    Mask mask;
    int join;
    Frame* frame;
    PathState state = PathState::Ready;
    Mask named = 0;    ///< AtWarpSync: the lanes that the instruction names
    int barrier = -1;  ///< AtBarrier: its number, or CLUSTER_BARRIER
    const Instruction& instruction() const { return frame->function->code[pc]; }
    bool waits_like(const Path& other) const {
        return state == PathState::AtWarpSync && pc == other.pc && frame == other.frame;
    }
};

/// A cp.async whose data have not landed.
struct PendingCopy {
    Block* owner;  ///< whose shared memory it goes to
    uint64_t offset;
    int lane, bytes;
    uint32_t group = 0;
    struct Mbarrier* mbarrier = nullptr;  ///< lands when this one's phase completes, if not null
    const Instruction* in = nullptr;
    char data[16] = {};
};

struct Warp {
    Block* block = nullptr;
    int id = 0;
    uint32_t grid_id = 0;
    // The path that runs now.
    bool running = false;
    int pc = 0, join = -1, join_pc = 0;
    Mask path = 0, mask = 0;  ///< mask: the lanes that execute this instruction
    Frame* frame = nullptr;
    char* registers = nullptr;
    const Instruction* code = nullptr;
    Tally* tallies = nullptr;

    Mask alive = 0;
    std::vector<Path> paths;  ///< those that do not run now
    std::vector<Join> joins;
    std::vector<int> free_joins;
    std::vector<std::unique_ptr<Frame>> frames, spare_frames;
    std::vector<char> local;
    ByteBits local_written;
    bool any_undefined = false;  ///< may a frame have undefined registers?
    Mask carry = 0;
    bool forced = false;  ///< the lanes that a warp instruction waits for cannot come
    bool spinning = false, changed_memory = false;
    const Instruction* poll = nullptr;
    uint64_t poll_value = 0;
    WarpClock clock;
    std::vector<PendingCopy> copies;
    uint32_t committed[LANES] = {};
    uint8_t cluster_phase[LANES] = {};
    uint16_t barriers_used = 0;  ///< one bit for each barrier of the whole block

    template <class T>
    T* at(int offset) {
        return reinterpret_cast<T*>(registers + offset);
    }
    Mask& predicate(int offset) { return *reinterpret_cast<Mask*>(registers + offset); }
    Tally& tally() { return tallies[pc]; }
    int first() const { return std::countr_zero(mask); }

    void start(Block& owner, int number, Mask lanes);
    void enter(const Function& function, const Instruction* call);
    /// Runs up to `budget` instructions, until the warp waits, spins or ends. Returns how many.
    uint64_t run(uint64_t budget);
    void jump(int to);
    void branch(Mask taken, int target, int reconvergence);
    void split(const std::map<int, Mask>& targets, int reconvergence);
    void leave(Mask lanes, bool exit);
    /// Parks the executing lanes; lanes whose guard is false go on.
    void park(Path where);
    /// True if all lanes that `named` has are here, so that the instruction may execute.
    bool gather(const Instruction& in, Mask named);
    void advance() { jump(pc + 1); }
    void resume_barrier(int barrier);
    bool release_joins();
    void note_poll(const Instruction& in, uint64_t value);
    bool done() const { return !running && paths.empty(); }
    bool runnable() const;

 private:
    void load(const Path& path);
    void arrive();
    void pick();
    void meet(int join, Mask lanes);
    void complete(int join);
    void remove(int join, Mask lanes);
    void report_stuck();
    int new_join(int pc, Mask expected, int parent, Frame* frame);
    Frame* new_frame(const Function& function);
    void drop_frame(Frame* frame);
    std::vector<Path> gathered_;
};

/// Calls f(lane) for each lane of a mask.
template <class F>
void for_lanes(Mask mask, F f) {
    if (mask == ~0u) {
        for (int l = 0; l < LANES; ++l) f(l);
        return;
    }
    for (; mask; mask &= mask - 1) f(__builtin_ctz(mask));
}

/// Writes a result for the executing lanes.
template <class T>
void put(Warp& w, int offset, const T* value) {
    T* to = w.at<T>(offset);
    if (w.mask == ~0u) {
        __builtin_memcpy(to, value, sizeof(T) * LANES);
        return;
    }
    for (int l = 0; l < LANES; ++l) to[l] = w.mask >> l & 1 ? value[l] : to[l];
}
/// A source predicate with its negation.
inline Mask source_predicate(Warp& w, const Instruction& in, int which) {
    Mask p = w.predicate(in.source[which]);
    return in.predicate_negated ? ~p : p;
}
inline void put_predicate(Warp& w, int offset, Mask value) {
    Mask& p = w.predicate(offset);
    p = (p & ~w.mask) | (value & w.mask);
}
}  // namespace ladder
