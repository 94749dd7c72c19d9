#include "machine/races.hpp"

#include <algorithm>

#include "machine/machine.hpp"
#include "machine/streams.hpp"

namespace ladder {
bool races_on = true;

namespace {
uint32_t now = 1;

enum Strength : uint8_t { WEAK, VOLATILE, STRONG, ATOMIC, COMPARE_AND_SWAP };

void raise(uint32_t& a, uint32_t b) {
    a = std::max(a, b);
}

void merge(GridClock& into, const GridClock& from) {
    if (into.size() < from.size()) into.resize(from.size());
    for (size_t k = 0; k < from.size(); ++k) into[k].raise(from[k]);
}
void merge(std::shared_ptr<const GridClock>& into, const std::shared_ptr<const GridClock>& from) {
    if (!from || into == from) return;
    if (!into) {
        into = from;
        return;
    }
    auto both = std::make_shared<GridClock>(*into);
    merge(*both, *from);
    into = std::move(both);
}

void merge(Known& into, const Known& from) {
    for (int k = 0; k < WARPS_PER_BLOCK; ++k) into.siblings[k].raise(from.siblings[k]);
    merge(into.others, from.others);
}

uint32_t first_of(const Block& b) {
    return b.index * static_cast<uint32_t>(b.launch->warps_per_block);
}

void new_epoch(Warp& w) {
    w.clock.time = next_time();
    w.clock.lanes_known = w.clock.time;
}

uint32_t known_by_lane(const WarpClock& c, int lane, int other) {
    return c.lane_known ? std::max(c.lanes_known, (*c.lane_known)[lane][other]) : c.lanes_known;
}

std::array<std::array<uint32_t, LANES>, LANES>& lane_clocks(WarpClock& c) {
    if (!c.lane_known) {
        c.lane_known = std::make_unique<std::array<std::array<uint32_t, LANES>, LANES>>();
        for (auto& row : *c.lane_known) row.fill(0);
    }
    return *c.lane_known;
}

/// Is an earlier access known to this lane to be over?
inline bool ordered(const Warp& w, const AccessRecord& x, const LaneAccess& a) {
    const Block& b = *w.block;
    uint32_t base = a.owner ? a.owner->start_time : b.launch->start_time;
    if (x.time < base)
        return a.owner || x.time < b.launch->ordered_before ||
               operations_ordered(x.time, b.launch->operation);
    int warp = x.thread / LANES, lane = x.thread % LANES;
    if (x.block == b.index) {
        if (warp != w.id) return w.clock.known.siblings[warp].knows(x.time, lane);
        return lane == a.lane || x.time < known_by_lane(w.clock, a.lane, lane);
    }
    uint32_t id = x.block * b.launch->warps_per_block + warp;
    auto& others = w.clock.known.others;
    return others && id < others->size() && (*others)[id].knows(x.time, lane);
}

void report_race(Warp& w, const Instruction& in, const LaneAccess& a, const AccessRecord& x,
                 const char* verbs) {
    const Launch& l = *w.block->launch;
    std::string allocation = place_in(a.region, a.offset);
    if (!a.owner && x.time < l.start_time)
        return report(w, in, a.lane,
                      {"stream order",
                       say("The kernel touches memory that ", operation_name(x.time),
                           " uses in another stream, and nothing orders the two."),
                       allocation});
    const unsigned *d = l.block, t = x.thread;
    const Instruction* other = instruction_by_id(x.instruction);
    std::string who = say("thread (", t % d[0], ",", t / d[0] % d[1], ",", t / (d[0] * d[1]), ")",
                          other ? " at " + source_place(*other) : "");
    if (x.block != w.block->index)
        return report(w, in, a.lane,
                      {a.owner ? "race in the cluster" : "race between blocks",
                       say(verbs, " block ", x.block, ", ", who,
                           ": nothing orders the two (an atomic with a fence, or a grid barrier)."),
                       allocation});
    const char* needed = x.thread / LANES == w.id ? "__syncwarp or __syncthreads" : "__syncthreads";
    report(w, in, a.lane,
           {"race", say(verbs, " ", who, ": no ", needed, " lies between the two."), allocation});
}

bool same_warp(const AccessRecord& a, const AccessRecord& b) {
    return a.block == b.block && a.thread / LANES == b.thread / LANES;
}

/// Have two lanes of this warp read the word at this time already? Then another one brings nothing new,
/// unless a lane of the warp itself has just written it.
bool already_seen(const Warp& w, const ShadowWord& s, const AccessRecord& me) {
    auto covers = [&](const AccessRecord& r) {
        return r.time == me.time && same_warp(r, me) && (r.bytes & me.bytes) == me.bytes &&
               r.strong == me.strong;
    };
    return covers(s.read[0]) && covers(s.read[1]) &&
           !(same_warp(s.write, me) && s.write.time >= w.clock.lanes_known);
}

/// Keeps two readers of a word, of different threads where there are such, so that any writer meets
/// another one.
template <class Over>
void remember_read(ShadowWord& s, const AccessRecord& me, Over over) {
    bool first =
        over(s.read[0]) || s.read[0].thread == me.thread || (same_warp(s.read[0], me) && !over(s.read[1]));
    s.read[first ? 0 : 1] = me;
}
/// Makes `me` the last write of its bytes of a word; the last writes of the others stay known.
void remember_write(Shadow& shadow, size_t word, const AccessRecord& me) {
    ShadowWord& s = shadow.word(word);
    const AccessRecord before = s.write;
    s.write = me;
    if (me.bytes == 15 || !before.time || !(before.bytes & ~me.bytes)) return;
    auto& each = shadow.byte_writes[word];
    if (!(before.bytes & OTHER_BYTES)) each = {};
    for (int k = 0; k < 4; ++k) {
        if (me.bytes >> k & 1)
            each[k] = AccessRecord();
        else if (before.bytes >> k & 1)
            (each[k] = before).bytes = 1 << k;
    }
    s.write.bytes |= OTHER_BYTES;
}
}  // namespace

uint32_t next_time() {
    return ++now;
}

void start_clock(Warp& w) {
    w.clock = WarpClock();
    w.clock.time = w.block->start_time;
}

void WarpTime::raise_lane(const WarpTime& other) {
    if (lane_time <= all || lane == other.lane) {
        lane_time = lane_time > all ? std::max(lane_time, other.lane_time) : other.lane_time;
        lane = other.lane;
    } else if (other.lane_time > lane_time) {
        all = std::max(all, lane_time);
        lane_time = other.lane_time;
        lane = other.lane;
    } else {
        all = std::max(all, other.lane_time);
    }
}

// A fence of one lane releases what that lane knows: its own accesses, and the other lanes' up to the last
// __syncwarp or __syncthreads.
void fence(Warp& w) {
    WarpClock& c = w.clock;
    c.time = c.fence_time = next_time();
    c.fenced = true;
    c.fenced_known = c.known;
    const bool alone = std::has_single_bit(w.mask) && w.mask != w.alive && !c.lane_known;
    c.fence.raise(alone ? WarpTime{c.lanes_known, c.time, static_cast<uint32_t>(w.first())}
                        : WarpTime{c.time});
}

namespace {
/// What a warp knows of the others, and its own time, goes to a clock of the grid.
void pass_on(const Warp& w, const Known& known, const WarpTime& time, GridClock& to) {
    uint32_t first = first_of(*w.block), n = w.block->warps.size();
    if (to.size() < first + n) to.resize(first + n);
    for (uint32_t k = 0; k < n; ++k) to[first + k].raise(known.siblings[k]);
    to[w.grid_id].raise(time);
    if (known.others) merge(to, *known.others);
}
}  // namespace

void publish(Warp& w, const void* where) {
    WarpClock& c = w.clock;
    if (!c.fenced || (c.published_to == where && c.published_time == c.fence_time)) return;
    c.published_to = where;
    c.published_time = c.fence_time;
    SyncLocation& s = w.block->launch->sync[where];
    pass_on(w, c.fenced_known, c.fence, s.clock);
    ++s.version;
}

void acquire(Warp& w, const void* where) {
    SyncMap& sync = w.block->launch->sync;
    if (sync.empty()) return;
    auto it = sync.find(where);
    WarpClock& c = w.clock;
    if (it == sync.end() || (c.acquired_from == where && c.acquired_version == it->second.version)) return;
    c.acquired_from = where;
    c.acquired_version = it->second.version;
    acquire_from(w, it->second.clock);
}

void acquire_from(Warp& w, const GridClock& clock) {
    uint32_t first = first_of(*w.block), n = w.block->warps.size();
    for (uint32_t k = 0; k < n && first + k < clock.size(); ++k)
        w.clock.known.siblings[k].raise(clock[first + k]);
    if (w.grid_id < clock.size()) {
        const WarpTime& own = clock[w.grid_id];
        raise(w.clock.lanes_known, own.all);
        if (own.lane_time > w.clock.lanes_known)
            for (auto& known : lane_clocks(w.clock)) raise(known[own.lane], own.lane_time);
    }
    merge(w.clock.known.others, std::make_shared<const GridClock>(clock));
}

void release_to(Warp& w, GridClock& clock) {
    w.clock.time = next_time();
    pass_on(w, w.clock.known, WarpTime{w.clock.time}, clock);
}

void sync_lanes(Warp& w, Mask lanes) {
    WarpClock& c = w.clock;
    if ((lanes & w.alive) == w.alive) return new_epoch(w);
    lane_clocks(c);
    c.time = next_time();
    std::array<uint32_t, LANES> known{};
    for_lanes(lanes, [&](int l) {
        for (int k = 0; k < LANES; ++k) raise(known[k], (*c.lane_known)[l][k]);
    });
    for_lanes(lanes, [&](int l) { known[l] = c.time; });
    for_lanes(lanes, [&](int l) { (*c.lane_known)[l] = known; });
}

void sync_warps(const std::vector<Warp*>& warps) {
    if (!races_on) return;
    Known all, fenced;
    bool any_fenced = false;
    for (Warp* w : warps) {
        merge(all, w->clock.known);
        any_fenced |= w->clock.fenced;
    }
    uint32_t time = next_time();
    for (Warp* w : warps) {
        all.siblings[w->id] = WarpTime{time};
        // What one thread has fenced counts for those that meet it at a barrier and then publish.
        if (any_fenced) {
            merge(fenced, w->clock.fenced_known);
            fenced.siblings[w->id].raise(w->clock.fence);
        }
    }
    for (Warp* w : warps) {
        w->clock.time = w->clock.lanes_known = time;
        w->clock.known = all;
        if (!any_fenced) continue;
        w->clock.fenced = true;
        w->clock.published_to = nullptr;
        w->clock.fenced_known = fenced;
        w->clock.fence.raise(fenced.siblings[w->id]);
        raise(w->clock.fence_time, std::max(w->clock.fence.all, w->clock.fence.lane_time));
    }
}

// Two strong accesses never race, except that lanes of one warp get no exemption in shared memory for
// volatile: that is how warp-synchronous code of old is recognised.
void check_race(Warp& w, const Instruction& in, const LaneAccess& a) {
    bool atomic = in.code != 0 && a.strong;
    AccessRecord me;
    me.time =
        a.strong && w.clock.fenced && atomic ? std::min(w.clock.time, w.clock.fence_time - 1) : w.clock.time;
    me.block = w.block->index;
    me.instruction = in.id;
    me.thread = w.id * LANES + a.lane;
    me.strong = !a.strong                                   ? WEAK
                : in.is_volatile                            ? VOLATILE
                : !atomic                                   ? STRONG
                : in.text.find(".cas") == std::string::npos ? ATOMIC
                                                            : COMPARE_AND_SWAP;
    uint32_t base = a.owner ? a.owner->start_time : w.block->launch->start_time;
    me.time = std::max(me.time, base);
    uint64_t stop = a.offset + a.bytes;
    for (uint64_t word = a.offset / 4; word * 4 < stop; ++word) {
        uint64_t from = std::max(a.offset, word * 4) - word * 4, to = std::min(stop, word * 4 + 4) - word * 4;
        me.bytes = ((1u << to) - 1) & ~((1u << from) - 1);
        ShadowWord& s = a.region.shadow.word(word);
        if (!a.write && already_seen(w, s, me)) continue;
        auto conflicts = [&](const AccessRecord& x, bool x_writes) {
            if (!x.time || !(x.bytes & me.bytes) || ordered(w, x, a)) return false;
            // A plain load before a loop of compare-and-swaps is the common way to write one: it may
            // read anything.
            bool reads = !x_writes || !a.write;
            if (reads && (x.strong == COMPARE_AND_SWAP || me.strong == COMPARE_AND_SWAP)) return false;
            if (!x.strong || !me.strong) return true;
            return a.owner && same_warp(x, me) && x.strong == VOLATILE && me.strong == VOLATILE;
        };
        const AccessRecord* written = conflicts(s.write, true) ? &s.write : nullptr;
        if (!written && s.write.bytes & OTHER_BYTES)
            for (const AccessRecord& x : a.region.shadow.byte_writes[word])
                if (conflicts(x, true)) written = &x;
        if (written)
            report_race(w, in, a, *written,
                        a.write ? "It overwrites what was written by" : "It reads what was written by");
        if (a.write) {
            for (AccessRecord& r : s.read)
                if (conflicts(r, false)) {
                    report_race(w, in, a, r, "It overwrites what is read by");
                    break;
                }
            remember_write(a.region.shadow, word, me);
            for (AccessRecord& r : s.read)
                if (!a.strong && !(r.bytes & ~me.bytes)) r.time = 0;
        } else {
            remember_read(
                s, me, [&](const AccessRecord& x) { return !x.time || x.time < base || ordered(w, x, a); });
        }
    }
}
}  // namespace ladder
