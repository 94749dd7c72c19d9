#include "machine/access.hpp"

#include <algorithm>

namespace ladder {
namespace {
size_t local_index(uint64_t offset, int lane) {
    return (offset / 16 * LANES + static_cast<uint64_t>(lane)) * 16 + offset % 16;
}

Space window_of(uint64_t address) {
    if (address - SHARED_BASE < WINDOW) return Space::Shared;
    if (address - LOCAL_BASE < WINDOW) return Space::Local;
    if (address - PARAMETER_BASE < WINDOW) return Space::Parameter;
    return Space::Global;
}

struct Trouble {
    Mask lanes = 0;
    Fault fault;  ///< of the first of them
};

/// Global memory, if one region holds all bytes.
bool reach_global(Warp& w, uint64_t address, int bytes, int l, Reach& r) {
    Region* region = memory().find(address);
    if (!region || !region->contains(address, bytes)) return false;
    w.block->launch->last_region = region;
    r.region[l] = region;
    r.host[l] = region->data + (address - region->base);
    return true;
}

/// One lane on its own; false if it cannot reach its address.
bool reach_lane(Warp& w, Space space, int bytes, int l, Reach& r, Trouble& t) {
    uint64_t a = r.address[l];
    if (space == Space::Generic) space = window_of(a);
    Block& own = *w.block;
    auto bad = [&](const char* kind, const std::string& sentence, const std::string& allocation) {
        if (!t.lanes) t.fault = {kind, sentence, allocation};
        t.lanes |= 1u << l;
        return false;
    };
    auto touches = [&](const char* what) { return say("The thread touches ", bytes, " bytes ", what, "."); };
    r.region[l] = nullptr;
    r.owner[l] = nullptr;
    if (space == Space::Shared || space == Space::SharedCluster) {
        if (a >= SHARED_BASE) a -= SHARED_BASE;
        uint64_t rank = a >> RANK_SHIFT, offset = a & ((1u << RANK_SHIFT) - 1);
        auto& all = own.cluster->blocks;
        Block* block = rank == 0 ? &own : rank <= all.size() ? all[rank - 1] : nullptr;
        if (!block || !block->shared.contains(offset, bytes))
            return bad("out of bounds", touches("outside of the block's shared memory"),
                       say("shared memory of ", own.launch->shared_bytes, " bytes, offset ",
                           static_cast<int64_t>(rank ? offset : a)));
        if (!block->shared.in_one_variable(offset, bytes))
            return bad("out of bounds", touches("that lie in no variable of shared memory"),
                       place_in(block->shared, offset));
        if (block->ended)
            return bad(
                "use after end",
                "The block whose shared memory this is has ended: a cluster barrier must keep it alive.",
                say("shared memory of block ", block->index));
        r.address[l] = offset;
        r.region[l] = &block->shared;
        r.owner[l] = block;
        r.host[l] = block->shared.data + offset;
        return true;
    }
    if (space == Space::Local) {
        if (a >= LOCAL_BASE) a -= LOCAL_BASE;
        if (a >= w.local.size() || local_index(a + bytes - 1, l) >= w.local.size())
            return bad("out of bounds", touches("outside of its local memory"), "local memory");
        r.host[l] = &w.local[local_index(a, l)];
        return true;
    }
    if (space == Space::Parameter) {
        if (a >= PARAMETER_BASE) a -= PARAMETER_BASE;
        auto& all = own.launch->parameters;
        if (a > all.size() || all.size() - a < static_cast<size_t>(bytes))
            return bad("out of bounds", touches("outside of the kernel's parameters"), "parameters");
        r.host[l] = all.data() + a;
        return true;
    }
    if (reach_global(w, a, bytes, l, r)) return true;
    if (a < 4096) return bad("null pointer", touches("through a null pointer"), memory().describe(a));
    std::string freed = memory().freed(a);
    return freed.empty() ? bad("out of bounds", touches("that lie in no allocation"), memory().describe(a))
                         : bad("use after free", touches("of memory that was freed"), freed);
}

/// The common case: all lanes in one region. False if any lane must be looked at on its own.
bool reach_together(Warp& w, Space space, int bytes, Reach& r) {
    uint64_t low = ~uint64_t{0}, high = 0;
    for (int l = 0; l < LANES; ++l) {
        bool on = w.mask >> l & 1;
        low = std::min(low, on ? r.address[l] : ~uint64_t{0});
        high = std::max(high, on ? r.address[l] : 0);
    }
    if (space == Space::Generic) {
        space = window_of(low);
        if (space != window_of(high)) return false;
    }
    Region* region = nullptr;
    Block* owner = nullptr;
    size_t n = bytes;
    if (space == Space::Shared || space == Space::SharedCluster) {
        uint64_t window = low >= SHARED_BASE ? SHARED_BASE : 0;
        region = &w.block->shared;
        owner = w.block;
        if (!region->contains(low - window, n) || !region->contains(high - window, n)) return false;
        if (!region->in_one_variable(low - window, high - low + n)) return false;
        for (int l = 0; window && l < LANES; ++l) r.address[l] -= window;
        space = Space::Shared;
    } else if (space == Space::Global || space == Space::Constant) {
        region = w.block->launch->last_region;
        if (!region || !region->contains(low, n)) region = memory().find(low);
        if (!region || !region->contains(low, n) || !region->contains(high, n)) return false;
        w.block->launch->last_region = region;
    } else {
        return false;
    }
    uint64_t shift =
        reinterpret_cast<uint64_t>(region->data) - region->base;  // inactive lanes may point anywhere
    for (int l = 0; l < LANES; ++l) {
        r.host[l] = reinterpret_cast<char*>(shift + r.address[l]);
        r.region[l] = region;
        r.owner[l] = owner;
    }
    r.space = space;
    return true;
}

void check_in_flight(Warp& w, const Instruction& in, Reach& r, int l, int bytes) {
    Block& b = *r.owner[l];
    auto first = b.in_flight.begin() + r.address[l] / 4,
         last = b.in_flight.begin() + (r.address[l] + bytes - 1) / 4;
    if (std::all_of(first, last + 1, [](uint8_t copies) { return copies == 0; })) return;
    report(w, in, l,
           {"copy in flight",
            "A cp.async to these bytes has not landed: the thread that issued it must wait for it "
            "(cp.async.wait_group or an mbarrier), and a barrier must follow, before anyone touches them.",
            place_in(b.shared, r.address[l])});
}
}  // namespace

void compute_addresses(Warp& w, const Address& a, Reach& r) {
    auto add = [&](const auto* base) {
        for (int l = 0; l < LANES; ++l) r.address[l] = base[l] + static_cast<uint64_t>(a.displacement);
    };
    if (a.bytes == 8)
        add(w.at<uint64_t>(a.base));
    else if (a.bytes == 4)
        add(w.at<uint32_t>(a.base));
    else
        std::fill_n(r.address, LANES, a.displacement);
}

void reach(Warp& w, const Instruction& in, int which, int bytes, Reach& r) {
    compute_addresses(w, in.address[which], r);
    resolve(w, in, in.address[which].space, bytes, r);
}

void resolve(Warp& w, const Instruction& in, Space space, int bytes, Reach& r) {
    uint64_t bits = 0;
    for (int l = 0; l < LANES; ++l) bits |= w.mask >> l & 1 ? r.address[l] : 0;
    if (bits & (bytes - 1)) {
        for_lanes(w.mask, [&](int l) { w.mask &= ~(static_cast<Mask>(!(r.address[l] & (bytes - 1))) << l); });
        uint64_t a = r.address[w.first()];
        Region* region = space == Space::Shared ? &w.block->shared : memory().find(a);
        stop(w, in, ERROR_MISALIGNED,
             {"misaligned access",
              say("An access of ", bytes, " bytes needs an address that is a multiple of ", bytes, "."),
              region ? place_in(*region, a - region->base) : memory().describe(a)},
             std::popcount(w.mask));
    }
    if (reach_together(w, space, bytes, r)) return;
    Trouble trouble;
    for_lanes(w.mask, [&](int l) { reach_lane(w, space, bytes, l, r, trouble); });
    if (trouble.lanes) {
        w.mask = trouble.lanes;
        stop(w, in, ERROR_ILLEGAL_ADDRESS, trouble.fault, std::popcount(trouble.lanes));
    }
    int first = w.first();
    r.space = space != Space::Generic && space != Space::SharedCluster ? space
              : r.owner[first]                                         ? Space::Shared
              : r.region[first]                                        ? Space::Global
                                                                       : Space::Local;
}

void observe_lane(Warp& w, const Instruction& in, Reach& r, int l, int bytes, bool reads, bool writes) {
    Region* region = r.region[l];
    if (!region || region->kind == RegionKind::Constant) return;
    uint64_t offset = r.address[l] - region->base;
    if (reads && region->uninitialised(offset, bytes)) {
        report(w, in, l,
               {"uninitialised read", say("The thread reads ", bytes, " bytes that nothing has written."),
                place_in(*region, offset)});
        if (region->tracked) region->written.set(offset, bytes);
    }
    if (writes && region->tracked) region->written.set(offset, bytes);
    if (r.owner[l] && r.owner[l]->copies_in_flight) check_in_flight(w, in, r, l, bytes);
    if (races_on && r.owner[l] && r.owner[l] != w.block)
        r.owner[l]->remote[w.grid_id] = {&w, &in, l, w.clock.time};
    if (races_on && region->kind != RegionKind::Internal && region->kind != RegionKind::Heap)
        check_race(w, in, {*region, r.owner[l], offset, bytes, l, writes, in.strong});
}

void observe(Warp& w, const Instruction& in, Reach& r, int bytes, bool reads, bool writes) {
    for_lanes(w.mask, [&](int l) { observe_lane(w, in, r, l, bytes, reads, writes); });
}

Mask unwritten_local(Warp& w, const Reach& r, int at, int bytes) {
    Mask unwritten = 0;
    for_lanes(w.mask, [&](int l) {
        bool none = !r.region[l] && w.local_written.none(r.host[l] - w.local.data() + at, bytes);
        unwritten |= static_cast<Mask>(none) << l;
    });
    return unwritten;
}
void write_local(Warp& w, const Reach& r, int at, int bytes, Mask undefined) {
    for_lanes(w.mask, [&](int l) {
        size_t index = r.host[l] - w.local.data() + at;
        if (r.region[l]) return;
        if (undefined >> l & 1)
            w.local_written.clear(index, bytes);
        else
            w.local_written.set(index, bytes);
    });
}
void forget_local(Warp& w, size_t begin, size_t end) {
    for_lanes(w.mask, [&](int l) {
        for (size_t at = begin; at < end; at += 16) w.local_written.clear(local_index(at, l), 16);
    });
}

void count(Warp& w, const Reach& r, int bytes, bool load) {
    if (r.space == Space::Shared)
        w.tally().add(load ? Traffic::SharedLoad : Traffic::SharedStore, r.address, w.mask, bytes);
    else if (r.space == Space::Global)
        w.tally().add(load ? Traffic::GlobalLoad : Traffic::GlobalStore, r.address, w.mask, bytes);
}

void access(Warp& w, const Instruction& in, int which, int bytes, bool load, Reach& r) {
    reach(w, in, which, bytes, r);
    observe(w, in, r, bytes, load, !load);
    count(w, r, bytes, load);
}

char* host_of(Warp& w, int lane, uint64_t generic, size_t bytes) {
    Reach r;
    Trouble trouble;
    r.address[lane] = generic;
    return reach_lane(w, Space::Generic, bytes, lane, r, trouble) ? r.host[lane] : nullptr;
}
}  // namespace ladder
