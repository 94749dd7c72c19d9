// cp.async, cp.async.bulk without tensors, mbarriers and addresses in a cluster.
//
// The bytes of an asynchronous copy are taken when it is issued and land in shared memory when they are
// waited for, so that a forgotten wait is seen.
#include <algorithm>
#include <bit>
#include <cstring>

#include "access.h"
#include "opcode_templates.h"
#include "report.h"

namespace ladder {
namespace {

constexpr int kErrorIllegalInstruction = 715, kErrorIllegalAddress = 700;

void mark(PendingCopy& c, int step) {
    for (uint64_t word = c.offset / 4; word < (c.offset + static_cast<uint64_t>(c.bytes) + 3) / 4; ++word)
        c.owner->in_flight[word] = static_cast<uint8_t>(c.owner->in_flight[word] + step);
    c.owner->copies_in_flight += step;
}

/// Lands those copies of a warp that `which` selects.
template <class F>
void land(Warp& w, F which) {
    auto landed = std::stable_partition(w.copies.begin(), w.copies.end(), [&](auto& c) { return !which(c); });
    for (auto it = landed; it != w.copies.end(); ++it) {
        mark(*it, -1);
        std::memcpy(it->owner->shared.data + it->offset, it->data, static_cast<size_t>(it->bytes));
        if (races_on && !it->mbarrier)
            check_race(w, *it->in,
                       {it->owner->shared, it->owner, it->offset, it->bytes, it->lane, true, false});
    }
    w.copies.erase(landed, w.copies.end());
    w.changed_memory = true;
}

void issue(Warp& w, const Instruction& in, int lane, const Reach& to, const char* from, int bytes, int valid,
           Mbarrier* by) {
    for (int at = 0; at < bytes; at += 16) {
        PendingCopy c{to.owner[lane],
                      to.address[lane] + static_cast<uint64_t>(at),
                      lane,
                      std::min(16, bytes - at),
                      w.committed[lane],
                      by,
                      &in,
                      {}};
        if (valid > at) std::memcpy(c.data, from + at, static_cast<size_t>(std::min(valid - at, c.bytes)));
        mark(c, 1);
        w.copies.push_back(c);
    }
}

/// cp.async [to], [from], size{, bytes to copy}
void copy_async(Warp& w, const Instruction& in) {
    int bytes = w.at<int32_t>(in.source[0])[std::countr_zero(w.mask)];
    Mask all = w.mask, partial = 0;
    int valid[kLanes];
    for_lanes(all, [&](int l) {
        valid[l] = in.source[1] >= 0 ? std::clamp(w.at<int32_t>(in.source[1])[l], 0, bytes) : bytes;
        partial |= static_cast<Mask>(valid[l] < bytes) << l;
    });
    Reach to, from;
    reach(w, in, 0, bytes, to);
    observe(w, in, to, bytes, false, true);
    count(w, to, bytes, false);
    w.mask = all & ~partial;
    if (w.mask) {
        reach(w, in, 1, bytes, from);
        observe(w, in, from, bytes, true, false);
        count(w, from, bytes, true);
    }
    const Address& a = in.address[1];
    for_lanes(partial, [&](int l) {
        uint64_t address = static_cast<uint64_t>(a.displacement) + (a.bytes == 8 ? w.at<uint64_t>(a.base)[l]
                                                                    : a.bytes    ? w.at<uint32_t>(a.base)[l]
                                                                                 : 0);
        from.host[l] = valid[l] ? host_of(w, l, address, static_cast<size_t>(valid[l])) : to.host[l];
        if (from.host[l]) return;
        report(w, in, l,
               {"out of bounds", "A cp.async reads bytes that lie in no allocation.",
                memory().describe(address)});
        throw LaunchStop{kErrorIllegalAddress};
    });
    w.mask = all;
    for_lanes(all, [&](int l) { issue(w, in, l, to, from.host[l], bytes, valid[l], nullptr); });
}

void commit_group(Warp& w, const Instruction&) {
    for_lanes(w.mask, [&](int l) { ++w.committed[l]; });
}
void wait_group(Warp& w, const Instruction& in) {
    uint32_t keep = w.at<uint32_t>(in.source[0])[0];
    land(w, [&](auto& c) {
        return (w.mask >> c.lane & 1) && !c.mbarrier && c.group + keep < w.committed[c.lane];
    });
}
void wait_all(Warp& w, const Instruction&) {
    land(w, [&](auto& c) { return (w.mask >> c.lane & 1) && !c.mbarrier; });
}

// mbarriers. Their state is kept outside of the shared memory, which holds only a copy for those who look.
Mbarrier& mbarrier_at(Warp& w, const Instruction& in, int lane, Reach& r) {
    Block* owner = r.owner[lane];
    if (owner) {
        auto it = owner->mbarriers.find(r.address[lane]);
        if (it != owner->mbarriers.end()) return it->second;
    }
    report(w, in, lane, {"bad mbarrier", "There is no initialised mbarrier at this address.", ""});
    throw LaunchStop{kErrorIllegalInstruction};
}

void complete_phase(Warp& w, Mbarrier& m) {
    if (m.pending > 0 || m.transactions != 0) return;
    m.phase ^= 1;
    m.pending = m.expected;
    m.completed = std::move(m.clock);
    m.clock.clear();
    for (Block* b : w.block->cluster->blocks)
        for (Warp& other : b->warps) land(other, [&](auto& c) { return c.mbarrier == &m; });
}

uint64_t token(const Mbarrier& m) {
    return static_cast<uint64_t>(m.phase) << 63 | static_cast<uint32_t>(m.pending);
}

/// Calls f(lane, mbarrier) for each lane whose address names one.
template <class F>
void for_mbarriers(Warp& w, const Instruction& in, int which, F f) {
    Reach r;
    reach(w, in, which, 8, r);
    for_lanes(w.mask, [&](int l) {
        Mbarrier& m = mbarrier_at(w, in, l, r);
        if (races_on) check_race(w, in, {*r.region[l], r.owner[l], r.address[l], 8, l, false, true});
        f(l, m);
    });
}

void mbarrier_init(Warp& w, const Instruction& in) {
    Reach r;
    reach(w, in, 0, 8, r);
    for_lanes(w.mask, [&](int l) {
        if (!r.owner[l]) mbarrier_at(w, in, l, r);
        observe_lane(w, in, r, l, 8, false, true);
        Mbarrier& m = r.owner[l]->mbarriers[r.address[l]];
        m = Mbarrier();
        m.expected = m.pending = w.at<int32_t>(in.source[0])[l];
        uint64_t copy = token(m);
        std::memcpy(r.host[l], &copy, 8);
    });
}
void mbarrier_inval(Warp& w, const Instruction& in) {
    Reach r;
    reach(w, in, 0, 8, r);
    for_lanes(w.mask, [&](int l) {
        mbarrier_at(w, in, l, r);
        r.owner[l]->mbarriers.erase(r.address[l]);
    });
}
enum Arrival : uint8_t { Plain = 1, ExpectBytes = 2, Drop = 4, NoArrival = 8, Complete = 16 };
void mbarrier_arrive(Warp& w, const Instruction& in) {
    if (races_on && !in.rounding) fence(w);
    for_mbarriers(w, in, 0, [&](int l, Mbarrier& m) {
        int amount = in.source[0] >= 0 ? w.at<int32_t>(in.source[0])[l] : 1;
        if (in.destination >= 0) w.at<uint64_t>(in.destination)[l] = token(m);
        if (races_on) release_to(w, m.clock);
        if (in.code & ExpectBytes) m.transactions += amount;
        if (in.code & Complete) m.transactions -= amount;
        int arrivals = in.code & NoArrival ? 0 : in.code & ExpectBytes ? 1 : amount;
        m.pending -= arrivals;
        if (in.code & Drop) m.expected -= arrivals;
        if (m.pending < 0) {
            report(w, in, l,
                   {"bad mbarrier", "More threads arrive at the mbarrier than it was initialised for.", ""});
            throw LaunchStop{kErrorIllegalInstruction};
        }
        complete_phase(w, m);
    });
    w.changed_memory = true;
}
template <bool Parity>
void mbarrier_wait(Warp& w, const Instruction& in) {
    Mask done = 0;
    for_mbarriers(w, in, 0, [&](int l, Mbarrier& m) {
        uint64_t phase = Parity ? w.at<uint32_t>(in.source[0])[l] & 1 : w.at<uint64_t>(in.source[0])[l] >> 63;
        if (phase == m.phase) return;
        done |= 1u << l;
        if (races_on) acquire_from(w, m.completed);
    });
    put_predicate(w, in.destination, done);
    if (done != w.mask) w.spinning = true;
}
void mbarrier_pending(Warp& w, const Instruction& in) {
    unary<uint32_t, uint64_t,
          decltype([](uint64_t state) { return static_cast<uint32_t>(state & 0xfffff); })>(w, in);
}

/// cp.async.mbarrier.arrive: the thread's copies so far land when the mbarrier's phase completes.
void copy_arrive(Warp& w, const Instruction& in) {
    for_mbarriers(w, in, 0, [&](int l, Mbarrier& m) {
        for (PendingCopy& c : w.copies)
            if (c.lane == l && !c.mbarrier) c.mbarrier = &m;
        if (races_on) release_to(w, m.clock);
        if (in.code) --m.pending;
        complete_phase(w, m);
    });
}

/// cp.async.bulk [shared], [global], size, [mbarrier]
void bulk_load(Warp& w, const Instruction& in) {
    Reach to, from, by;
    reach(w, in, 0, 16, to);
    reach(w, in, 1, 16, from);
    reach(w, in, 2, 8, by);
    for_lanes(w.mask, [&](int l) {
        size_t bytes = w.at<uint32_t>(in.source[0])[l];
        uint64_t offset = from.region[l] ? from.address[l] - from.region[l]->base : 0;
        bool fits = to.owner[l] && from.region[l] && to.region[l]->contains(to.address[l], bytes) &&
                    from.region[l]->contains(from.address[l], bytes);
        if (!fits || bytes % 16) {
            report(w, in, l,
                   {"out of bounds",
                    "A bulk copy of " + std::to_string(bytes) +
                        " bytes does not fit its source or destination (or is no multiple of 16).",
                    memory().describe(from.address[l])});
            throw LaunchStop{kErrorIllegalAddress};
        }
        Mbarrier& m = mbarrier_at(w, in, l, by);
        for (size_t at = 0; races_on && at < bytes; at += 16)
            check_race(w, in, {*from.region[l], from.owner[l], offset + at, 16, l, false, false});
        to.region[l]->written.set(to.address[l], bytes);
        issue(w, in, l, to, from.host[l], static_cast<int>(bytes), static_cast<int>(bytes), &m);
        m.transactions -= static_cast<int64_t>(bytes);
        complete_phase(w, m);
    });
}
/// cp.async.bulk [global], [shared], size
void bulk_store(Warp& w, const Instruction& in) {
    Reach to, from;
    reach(w, in, 0, 16, to);
    reach(w, in, 1, 16, from);
    for_lanes(w.mask, [&](int l) {
        size_t bytes = w.at<uint32_t>(in.source[0])[l];
        bool fits = from.owner[l] && to.region[l] && to.region[l]->contains(to.address[l], bytes) &&
                    from.region[l]->contains(from.address[l], bytes);
        if (!fits || bytes % 16) {
            report(w, in, l,
                   {"out of bounds", "A bulk copy does not fit its source or destination.",
                    memory().describe(to.address[l])});
            throw LaunchStop{kErrorIllegalAddress};
        }
        uint64_t offset = to.address[l] - to.region[l]->base;
        for (size_t at = 0; races_on && at < bytes; at += 16) {
            check_race(w, in, {*from.region[l], from.owner[l], from.address[l] + at, 16, l, false, false});
            check_race(w, in, {*to.region[l], nullptr, offset + at, 16, l, true, false});
        }
        std::memcpy(to.host[l], from.host[l], bytes);
        if (to.region[l]->tracked) to.region[l]->written.set(offset, bytes);
    });
    w.changed_memory = true;
}

/// mapa: the address of the same variable in another block of the cluster.
template <class T>
void mapa(Warp& w, const Instruction& in) {
    const T* a = w.at<T>(in.source[0]);
    const uint32_t* rank = w.at<uint32_t>(in.source[1]);
    T t[kLanes];
    for (int l = 0; l < kLanes; ++l)
        t[l] = static_cast<T>((a[l] & ~(T{255} << kRankShift)) | static_cast<T>(rank[l] + 1) << kRankShift);
    put(w, in.destination, t);
}
template <class T>
void getctarank(Warp& w, const Instruction& in) {
    const T* a = w.at<T>(in.source[0]);
    uint32_t t[kLanes];
    for (int l = 0; l < kLanes; ++l) {
        uint32_t rank = a[l] >> kRankShift & 255;
        t[l] = rank ? rank - 1 : static_cast<uint32_t>(w.block->rank);
    }
    put(w, in.destination, t);
}

void nothing(Warp&, const Instruction&) {}

Handler select_bulk(Opcode& op) {
    if (op.has("prefetch")) {
        op.operands = "mu";
        return nothing;
    }
    if (op.has("commit_group")) return nothing;
    if (op.has("wait_group")) {
        op.operands = "u";
        return nothing;
    }
    if (op.has("tensor") || op.has("multicast::cluster") || op.spaces.size() != 2) return nullptr;
    bool to_shared = op.spaces[1] == Space::Global;
    op.operands = to_shared ? "mmum?l" : "mmu?l";
    if (!to_shared && op.spaces[0] != Space::Global) return nullptr;
    return to_shared ? bulk_load : bulk_store;
}
Handler select_cp(Opcode& op) {
    if (!op.has("async")) return nullptr;
    if (op.has("bulk")) return select_bulk(op);
    if (op.has("commit_group")) return commit_group;
    if (op.has("wait_all")) return wait_all;
    if (op.has("wait_group")) {
        op.operands = "u";
        return wait_group;
    }
    if (op.has("mbarrier")) {
        op.in.code = op.has("noinc");
        op.operands = "m";
        return copy_arrive;
    }
    op.operands = op.has("L2::cache_hint") ? (op.operand_count == 5 ? "mmuul" : "mmul") : "mmu?u";
    return copy_async;
}
Handler select_mbarrier(Opcode& op) {
    const std::string what = op.part(1);
    op.in.strong = what != "init";
    if (what == "init") {
        op.operands = "mu";
        return mbarrier_init;
    }
    if (what == "inval") {
        op.operands = "m";
        return mbarrier_inval;
    }
    if (what == "test_wait" || what == "try_wait") {
        bool parity = op.has("parity");
        op.operands = parity ? "Pmu?u" : "Pml?u";
        return parity ? mbarrier_wait<true> : mbarrier_wait<false>;
    }
    if (what == "pending_count") {
        op.operands = "Ul";
        return mbarrier_pending;
    }
    if (what == "expect_tx" || what == "complete_tx") {
        op.in.code = NoArrival | (what == "expect_tx" ? ExpectBytes : Complete);
        op.operands = "mu";
        return mbarrier_arrive;
    }
    if (what != "arrive" && what != "arrive_drop") return nullptr;
    op.in.code = static_cast<uint8_t>(Plain | (op.has("expect_tx") ? ExpectBytes : 0) |
                                      (what == "arrive_drop" ? Drop : 0));
    op.operands = "Lm?u";
    return mbarrier_arrive;
}

}  // namespace

std::vector<OpcodeEntry> async_opcodes() {
    return {
        {"cp", "", select_cp},
        {"mbarrier", "", select_mbarrier},
        {"mapa", "dtu",
         [](Opcode& op) { return size_of(op.in.type) == 8 ? Handler(mapa<uint64_t>) : mapa<uint32_t>; }},
        {"getctarank", "Ut",
         [](Opcode& op) {
             return size_of(op.in.type) == 8 ? Handler(getctarank<uint64_t>) : getctarank<uint32_t>;
         }},
    };
}

}  // namespace ladder
