// cp.async, mbarriers and addresses in a cluster.
//
// The bytes of an asynchronous copy are taken when it is issued and land in shared memory when they are
// waited for, so that a forgotten wait is seen.
#include <algorithm>
#include <cstring>

#include "machine/access.hpp"
#include "opcodes/templates.hpp"

namespace ladder {
namespace {
void mark(PendingCopy& c, int step) {
    for (uint64_t word = c.offset / 4; word < (c.offset + c.bytes + 3) / 4; ++word)
        c.owner->in_flight[word] += step;
    c.owner->copies_in_flight += step;
}

/// Lands those copies of a warp that `which` selects.
template <class F>
void land(Warp& w, F which) {
    auto landed = std::stable_partition(w.copies.begin(), w.copies.end(), [&](auto& c) { return !which(c); });
    for (auto it = landed; it != w.copies.end(); ++it) {
        mark(*it, -1);
        std::memcpy(it->owner->shared.data + it->offset, it->data, it->bytes);
        if (races_on && !it->mbarrier)
            check_race(w, *it->in,
                       {it->owner->shared, it->owner, it->offset, it->bytes, it->lane, true, false});
    }
    w.copies.erase(landed, w.copies.end());
    w.changed_memory = true;
}
}  // namespace

void issue(Warp& w, const Instruction& in, int lane, Block* to, uint64_t offset, const char* from, int bytes,
           int valid, Mbarrier* by) {
    for (int at = 0; at < bytes; at += 16) {
        PendingCopy c{to, offset + at, lane, std::min(16, bytes - at)};
        c.group = w.committed[lane];
        c.mbarrier = by;
        c.in = &in;
        if (valid > at) std::memcpy(c.data, from + at, std::min(valid - at, c.bytes));
        mark(c, 1);
        w.copies.push_back(c);
    }
}

namespace {
/// cp.async [to], [from], size{, bytes to copy}
void copy_async(Warp& w, const Instruction& in) {
    int bytes = w.at<int32_t>(in.source[0])[w.first()], valid[LANES];
    Mask all = w.mask, partial = 0;
    for_lanes(all, [&](int l) {
        valid[l] = in.source[1] >= 0 ? std::clamp(w.at<int32_t>(in.source[1])[l], 0, bytes) : bytes;
        partial |= static_cast<Mask>(valid[l] < bytes) << l;
    });
    Reach to, from;
    access(w, in, 0, bytes, false, to);
    w.mask = all & ~partial;
    if (w.mask) access(w, in, 1, bytes, true, from);
    w.mask = all;
    if (partial) {
        Reach part;
        compute_addresses(w, in.address[1], part);
        for_lanes(partial, [&](int l) {
            from.host[l] = valid[l] ? host_of(w, l, part.address[l], valid[l]) : to.host[l];
            if (from.host[l]) return;
            w.mask = 1u << l;
            stop(w, in, ERROR_ILLEGAL_ADDRESS,
                 {"out of bounds", "A cp.async reads bytes that lie in no allocation.",
                  memory().describe(part.address[l])});
        });
    }
    for_lanes(all, [&](int l) {
        issue(w, in, l, to.owner[l], to.address[l], from.host[l], bytes, valid[l], nullptr);
    });
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
}  // namespace

// mbarriers. Their state is kept outside of the shared memory, which holds only a copy for those who look.
Mbarrier& mbarrier_at(Warp& w, const Instruction& in, int lane, Reach& r) {
    if (Block* owner = r.owner[lane]) {
        auto it = owner->mbarriers.find(r.address[lane]);
        if (it != owner->mbarriers.end()) return it->second;
    }
    w.mask = 1u << lane;
    stop(w, in, ERROR_ILLEGAL_INSTRUCTION,
         {"bad mbarrier", "There is no initialised mbarrier at this address."});
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

namespace {
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
    if (races_on) fence(w);
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
            w.mask = 1u << l;
            stop(w, in, ERROR_ILLEGAL_INSTRUCTION,
                 {"bad mbarrier", "More threads arrive at the mbarrier than it was initialised for."});
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
    if (done == w.mask) return;
    w.spinning = true;
    w.poll = &in;
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
    op.operands = !op.has("L2::cache_hint") ? "mmu?u" : op.operand_count == 5 ? "mmuul" : "mmul";
    return copy_async;
}
Handler select_mbarrier(Opcode& op) {
    struct Row {
        const char *name, *operands;
        Handler handler;
        int code;
    };
    static const Row rows[] = {{"init", "mu", mbarrier_init, 0},
                               {"inval", "m", mbarrier_inval, 0},
                               {"test_wait", "Pml?u", mbarrier_wait<false>, 0},
                               {"try_wait", "Pml?u", mbarrier_wait<false>, 0},
                               {"expect_tx", "mu", mbarrier_arrive, NoArrival | ExpectBytes},
                               {"complete_tx", "mu", mbarrier_arrive, NoArrival | Complete},
                               {"arrive", "Lm?u", mbarrier_arrive, Plain},
                               {"arrive_drop", "Lm?u", mbarrier_arrive, Plain | Drop}};
    if (op.part(1) == "pending_count") {
        op.operands = "Ul";
        return lanes<[](uint64_t state) -> uint32_t { return state & 0xfffff; }>(op);
    }
    for (const Row& row : rows) {
        if (op.part(1) != row.name) continue;
        op.in.strong = row.handler != mbarrier_init;
        op.operands = op.has("parity") ? "Pmu?u" : row.operands;
        op.in.code = row.code | (op.has("expect_tx") ? ExpectBytes : 0);
        return op.has("parity") ? mbarrier_wait<true> : row.handler;
    }
    return nullptr;
}
}  // namespace

std::vector<OpcodeEntry> async_opcodes() {
    return {
        {"cp", "", select_cp},
        {"mbarrier", "", select_mbarrier},
        // The address of the same variable in another block of the cluster, and the block of an address.
        {"mapa", "dtu", bits<[]<class T>(T a, uint32_t rank) -> T {
             return (a & ~(T{255} << RANK_SHIFT)) | static_cast<T>(rank + 1) << RANK_SHIFT;
         }>},
        {"getctarank", "Ut",
         [](Opcode& op) {
             return for_bits(op.in.type, []<class T>(T) -> Handler {
                 return [](Warp& w, const Instruction& in) {
                     auto rank = [&w](T a) -> uint32_t {
                         return a >> RANK_SHIFT & 255 ? (a >> RANK_SHIFT & 255) - 1 : w.block->rank;
                     };
                     map_lanes<uint32_t>(w, in, rank, w.at<T>(in.source[0]));
                 };
             });
         }},
    };
}
}  // namespace ladder
