// Barriers of warps, blocks and clusters, and fences.
#include <bit>

#include "opcode_templates.h"
#include "report.h"
#include "warp_sync.h"

namespace ladder {
namespace {

constexpr int kErrorLaunchFailure = 719;

/// bar.warp.sync
void warp_sync(Warp& w, const Instruction& in) {
    together(w, in, in.source[0], [](Warp& warp, const Instruction&) {
        if (races_on) sync_lanes(warp, warp.mask);
    });
}

[[noreturn]] void bad_barrier(Warp& w, const Instruction& in, const std::string& sentence) {
    report(w, in, std::countr_zero(w.mask), {"bad barrier", sentence, ""});
    throw LaunchStop{kErrorLaunchFailure};
}

/// Counts the executing lanes as arrived; a counted barrier takes whole warps.
Barrier& arrive(Warp& w, const Instruction& in, int id_operand, int count_operand, int& id) {
    int first = std::countr_zero(w.mask);
    id = w.at<int32_t>(id_operand)[first];
    if (id < 0 || id >= kClusterBarrier)
        bad_barrier(w, in, "There are barriers 0 to 15, but not " + std::to_string(id) + ".");
    Barrier& b = w.block->barriers[id];
    int expected = count_operand >= 0 ? w.at<int32_t>(count_operand)[first] : 0;
    if (expected % kLanes || expected < 0 || expected > 1024)
        bad_barrier(w, in,
                    "The number of threads at a barrier must be a multiple of 32, not " +
                        std::to_string(expected) + ".");
    if (b.arrived && b.expected != expected)
        bad_barrier(w, in,
                    "Threads wait at barrier " + std::to_string(id) + " for " + std::to_string(b.expected) +
                        " threads, and these for " + std::to_string(expected) + " (0: all).");
    b.expected = expected;
    b.arrived += expected ? kLanes : std::popcount(w.mask);
    b.warps |= 1u << w.id;
    if (expected && b.arrived > expected)
        bad_barrier(w, in,
                    "More than " + std::to_string(expected) + " threads arrive at barrier " +
                        std::to_string(id) + ".");
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
    Mask p = w.predicate(in.source[counted ? 2 : 1]);
    if (in.predicate_negated) p = ~p;
    p &= w.mask;
    Barrier& b = arrive(w, in, in.source[0], counted ? in.source[1] : -1, id);
    b.count += static_cast<uint32_t>(std::popcount(p));
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
    if (w.cluster_phase[std::countr_zero(w.mask)] == c.phase) return park_at_barrier(w, kClusterBarrier);
    if (races_on) acquire_from(w, c.completed);
    w.advance();
}

Handler control(Opcode& op, Handler handler) {
    op.in.control = true;
    return handler;
}
Handler select_barrier(Opcode& op) {
    if (op.has("warp")) return control(op, warp_sync);
    if (op.has("cluster")) {
        op.operands = "";
        op.in.code = op.has("relaxed") && op.has("arrive");
        return control(op, op.has("arrive") ? cluster_arrive : cluster_wait);
    }
    if (op.has("red")) {
        op.in.code = op.has("popc") ? 'p' : op.has("and") ? 'a' : 'o';
        bool counts = op.in.code == 'p';
        op.operands = op.operand_count == 4 ? (counts ? "Uuup" : "Puup") : counts ? "Uup" : "Pup";
        return control(op, barrier_reduce);
    }
    return control(op, op.has("arrive") ? barrier_arrive : op.has("sync") ? barrier_sync : nullptr);
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
