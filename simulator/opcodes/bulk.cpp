// cp.async.bulk: Hopper's copy engine, for bytes and for boxes of a tensor.
//
// What a bulk copy takes it takes when it is issued; it lands when the phase of its mbarrier completes.
#include <algorithm>
#include <cstring>

#include "machine/access.hpp"
#include "machine/tensor_map.hpp"
#include "opcodes/templates.hpp"

namespace ladder {
namespace {
/// cp.async.bulk [shared], [global], size, [mbarrier] and cp.async.bulk [global], [shared], size
template <bool Load>
void bulk_copy(Warp& w, const Instruction& in) {
    Reach to, from, by;
    reach(w, in, 0, 16, to);
    reach(w, in, 1, 16, from);
    if (Load) reach(w, in, 2, 8, by);
    for_lanes(w.mask, [&](int l) {
        size_t bytes = w.at<uint32_t>(in.source[0])[l];
        Region *target = to.region[l], *source = from.region[l];
        bool fits = (Load ? to : from).owner[l] && target && source &&
                    target->contains(to.address[l], bytes) && source->contains(from.address[l], bytes);
        if (!fits || bytes % 16) {
            w.mask = 1u << l;
            stop(w, in, ERROR_ILLEGAL_ADDRESS,
                 {"out of bounds",
                  say("A bulk copy of ", bytes,
                      " bytes does not fit its source or destination (or is no multiple of 16)."),
                  memory().describe((Load ? from : to).address[l])});
        }
        uint64_t to_offset = to.address[l] - target->base, from_offset = from.address[l] - source->base;
        for (size_t at = 0; races_on && at < bytes; at += 16) {
            check_race(w, in, {*source, from.owner[l], from_offset + at, 16, l, false, false});
            if (!Load) check_race(w, in, {*target, nullptr, to_offset + at, 16, l, true, false});
        }
        if (target->tracked) target->written.set(to_offset, bytes);
        if (Load) {
            Mbarrier& m = mbarrier_at(w, in, l, by);
            issue(w, in, l, to.owner[l], to.address[l], from.host[l], bytes, bytes, &m);
            m.transactions -= bytes;
            complete_phase(w, m);
        } else {
            std::memcpy(to.host[l], from.host[l], bytes);
            w.changed_memory = true;
        }
    });
}

/// A box of a tensor: cp.async.bulk.tensor [shared], [map, {x, y, ...}], [mbarrier]; or [map, {x, y,
/// ...}], [shared].
template <bool Load>
void tensor_copy(Warp& w, const Instruction& in) {
    Reach shared, maps, by;
    reach(w, in, Load ? 0 : 1, 16, shared);
    compute_addresses(w, in.address[Load ? 1 : 0], maps);
    if (Load) reach(w, in, 2, 8, by);
    for_lanes(w.mask, [&](int l) {
        auto refuse = [&](const char* what, const std::string& text, const std::string& place) {
            w.mask = 1u << l;
            stop(w, in, ERROR_ILLEGAL_INSTRUCTION, {what, text, place});
        };
        auto touch = [&](Region* region, Block* owner, uint64_t address, int n, bool reads) {
            Reach place;
            place.region[l] = region;
            place.owner[l] = owner;
            place.address[l] = address;
            observe_lane(w, in, place, l, n, reads, !reads);
        };
        TensorMap map = {};
        if (const char* at = host_of(w, l, maps.address[l], sizeof map)) std::memcpy(&map, at, sizeof map);
        if (map.magic != TensorMap::MAGIC || in.list.size() != map.rank)
            refuse("bad tensor map",
                   say("There is no tensor map of ", in.list.size(), " dimensions at this address."),
                   memory().describe(maps.address[l]));
        uint64_t bytes = map.row_bytes() * map.rows();
        Block* block = shared.owner[l];
        if (!block || !block->shared.contains(shared.address[l], bytes) || shared.address[l] % 128)
            refuse(
                "bad box",
                say("A box of ", bytes, " bytes must start at a multiple of 128 and lie in shared memory."),
                "");
        Region* array = memory().find(map.base);
        if (!array || !array->contains(map.base, map.extent()))
            refuse("bad tensor map", say("The array of ", map.extent(), " bytes lies in no allocation."),
                   memory().describe(map.base));

        int64_t first[TensorMap::MOST_DIMENSIONS] = {};
        for (uint32_t i = 0; i < map.rank; ++i) first[i] = w.at<int32_t>(in.list[i])[l];
        Mbarrier* barrier = Load ? &mbarrier_at(w, in, l, by) : nullptr;
        const int per_chunk = static_cast<int>(16 / map.pitches[0]);
        uint64_t box_offset = shared.address[l];
        for (uint64_t row = 0; row < map.rows(); ++row) {
            bool inside = true;
            uint64_t row_offset = map.base - array->base, rest = row;
            for (int i = 1; i < TensorMap::MOST_DIMENSIONS; ++i) {
                int64_t at = first[i] + static_cast<int64_t>(rest % map.box[i]);
                rest /= map.box[i];
                inside = inside && at >= 0 && at < static_cast<int64_t>(map.sides[i]);
                row_offset += at * map.pitches[i];
            }
            for (uint32_t x = 0; x < map.box[0]; x += per_chunk, box_offset += 16) {
                // Of the chunk's elements those in the array: begin..end - 1.
                int64_t begin = std::clamp<int64_t>(-first[0] - x, 0, per_chunk);
                int64_t end =
                    std::clamp<int64_t>(static_cast<int64_t>(map.sides[0]) - first[0] - x, begin, per_chunk);
                if (!inside) end = begin;
                uint64_t skipped = begin * map.pitches[0], n = (end - begin) * map.pitches[0];
                uint64_t offset = row_offset + (first[0] + x + begin) * map.pitches[0];
                uint64_t to = map.swizzled(box_offset);
                if (n) touch(array, nullptr, array->base + offset, n, Load);
                if (n && !Load) touch(&block->shared, block, to + skipped, n, true);
                if (Load) {
                    char chunk[16] = {};
                    if (n) std::memcpy(chunk + skipped, array->data + offset, n);
                    issue(w, in, l, block, to, chunk, 16, 16, barrier);
                    if (block->shared.tracked) block->shared.written.set(to, 16);
                } else if (n) {
                    std::memcpy(array->data + offset, block->shared.data + to + skipped, n);
                }
            }
        }
        if (Load) {
            barrier->transactions -= bytes;
            complete_phase(w, *barrier);
        }
        w.changed_memory = true;
    });
}
}  // namespace

Handler select_bulk(Opcode& op) {
    if (op.has("prefetch") || op.has("commit_group") || op.has("wait_group")) {
        op.operands = op.has("prefetch") ? "mu" : op.has("wait_group") ? "u" : "";
        return nothing;
    }
    if (op.has("multicast::cluster") || op.has("L2::cache_hint") || op.has("im2col") || op.spaces.size() != 2)
        return nullptr;
    bool load = op.spaces[1] == Space::Global;
    if (op.has("tensor")) {  // the map's address is generic
        (load ? op.spaces[1] : op.in.space) = Space::Generic;
        op.operands = load ? "mmm" : "mm";
        return load ? tensor_copy<true> : tensor_copy<false>;
    }
    op.operands = load ? "mmum?l" : "mmu?l";
    return load ? bulk_copy<true> : op.spaces[0] == Space::Global ? bulk_copy<false> : nullptr;
}
}  // namespace ladder
