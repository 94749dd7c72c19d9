// Barriers of warps, blocks and clusters, and fences.

#include "opcodes/templates.hpp"

namespace ladder {
namespace {
/// bar.warp.sync
void warp_sync(Warp& w, const Instruction& in) {
    together(w, in, in.source[0], [](Warp& warp, const Instruction&) {
        if (races_on) sync_lanes(warp, warp.mask);
    });
}

/// Counts the executing lanes as arrived; a counted barrier takes whole warps.
Barrier& arrive(Warp& w, const Instruction& in, int id_operand, int count_operand, int& id) {
    auto require = [&](bool good, auto... parts) {
        if (!good) stop(w, in, ERROR_LAUNCH_FAILURE, {"bad barrier", say(parts...)});
    };
    id = w.at<int32_t>(id_operand)[w.first()];
    require(id >= 0 && id < CLUSTER_BARRIER, "There are barriers 0 to 15, but not ", id, ".");
    Barrier& b = w.block->barriers[id];
    int expected = count_operand >= 0 ? w.at<int32_t>(count_operand)[w.first()] : 0;
    require(expected % LANES == 0 && expected >= 0 && expected <= 1024,
            "The number of threads at a barrier must be a multiple of 32, not ", expected, ".");
    require(!b.arrived || b.expected == expected, "Threads wait at barrier ", id, " for ", b.expected,
            " threads, and these for ", expected, " (0: all).");
    b.expected = expected;
    b.arrived += expected ? LANES : std::popcount(w.mask);
    b.warps |= 1u << w.id;
    require(!expected || b.arrived <= expected, "More than ", expected, " threads arrive at barrier ", id,
            ".");
    return b;
}

void park_at_barrier(Warp& w, int id) {
    w.park({w.pc, w.mask, w.join, w.frame, PathState::AtBarrier, 0, id});
}

void barrier_sync(Warp& w, const Instruction& in) {
    int id;
    arrive(w, in, in.source[0], in.source[1], id);
    park_at_barrier(w, id);
}
void barrier_arrive(Warp& w, const Instruction& in) {
    int id;
    arrive(w, in, in.source[0], in.source[1], id);
    w.advance();
}
/// bar.red d, id, {count,} p
void barrier_reduce(Warp& w, const Instruction& in) {
    bool counted = in.source[2] >= 0;
    int id;
    Mask p = source_predicate(w, in, counted ? 2 : 1) & w.mask;
    Barrier& b = arrive(w, in, in.source[0], counted ? in.source[1] : -1, id);
    b.count += std::popcount(p);
    b.all &= p == w.mask;
    b.any |= p != 0;
    park_at_barrier(w, id);
}

void cluster_arrive(Warp& w, const Instruction& in) {
    Cluster& c = *w.block->cluster;
    if (races_on && !in.code) release_to(w, c.clock);
    c.arrived += std::popcount(w.mask);
    for_lanes(w.mask, [&](int l) { w.cluster_phase[l] = c.phase; });
    w.advance();
}
void cluster_wait(Warp& w, const Instruction&) {
    Cluster& c = *w.block->cluster;
    if (w.cluster_phase[std::countr_zero(w.mask)] == c.phase) return park_at_barrier(w, CLUSTER_BARRIER);
    if (races_on) acquire_from(w, c.completed);
    w.advance();
}

Handler select_barrier(Opcode& op) {
    bool arrives = op.has("arrive");
    if (op.has("warp")) return control<warp_sync>(op);
    if (op.has("cluster")) {
        op.operands = "";
        op.in.code = op.has("relaxed") && arrives;
        return arrives ? control<cluster_arrive>(op) : control<cluster_wait>(op);
    }
    if (op.has("red")) {
        bool counts = op.has("popc"), four = op.operand_count == 4;
        op.in.code = counts ? 'p' : op.has("and") ? 'a' : 'o';
        op.operands = counts ? (four ? "Uuup" : "Uup") : (four ? "Puup" : "Pup");
        return control<barrier_reduce>(op);
    }
    if (arrives) return control<barrier_arrive>(op);
    return op.has("sync") ? control<barrier_sync>(op) : nullptr;
}
Handler select_fence(Opcode& op) {
    if (op.has("tensormap::generic")) return nullptr;
    return [](Warp& w, const Instruction&) { fence(w); };
}
}  // namespace

std::vector<OpcodeEntry> barrier_opcodes() {
    return {
        {"bar", "u?u", select_barrier},
        {"barrier", "u?u", select_barrier},
        {"membar", "", select_fence},
        {"fence", "", select_fence},
    };
}
}  // namespace ladder
