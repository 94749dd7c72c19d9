// Loads, stores and prefetches.
#include <cstring>

#include "machine/access.hpp"
#include "machine/undefined.hpp"
#include "opcodes/templates.hpp"

namespace ladder {
namespace {
uint64_t extended(uint64_t v, int bytes, bool sign) {
    int shift = 64 - 8 * bytes;
    return sign ? static_cast<uint64_t>(static_cast<int64_t>(v << shift) >> shift) : v;
}

/// Between the lanes' memory and registers that may be wider than the type.
template <bool Load, class T>
void move_words(Warp& w, char* const* host, size_t at, T* registers) {
    for_lanes(w.mask, [&](int l) {
        std::memcpy(Load ? static_cast<void*>(&registers[l]) : host[l] + at,
                    Load ? host[l] + at : static_cast<void*>(&registers[l]), sizeof(T));
    });
}
template <bool Load>
void move_registers(Warp& w, const Instruction& in, char* const* host) {
    int n = size_of(in.type), wide = in.register_bytes;
    for (size_t k = 0, at = 0; k < in.list.size(); ++k, at += n) {
        if (n == wide && n == 4)
            move_words<Load>(w, host, at, w.at<uint32_t>(in.list[k]));
        else if (n == wide && n == 8)
            move_words<Load>(w, host, at, w.at<uint64_t>(in.list[k]));
        else
            for_lanes(w.mask, [&](int l) {
                char *lane = w.registers + in.list[k] + l * wide, *memory = host[l] + at;
                if (!Load || n > 8) {
                    std::memcpy(Load ? lane : memory, Load ? memory : lane, n);
                    return;
                }
                uint64_t v = 0;
                std::memcpy(&v, memory, n);
                v = extended(v, n, is_signed(in.type));
                std::memcpy(lane, &v, std::min(wide, 8));
            });
    }
}

/// A call's parameters lie in the frame, one copy for each lane.
template <bool Load>
bool moved_call_parameter(Warp& w, const Instruction& in) {
    if (in.space != Space::CallParameter) return false;
    const Address& a = in.address[0];
    char* host[LANES];
    for (int l = 0; l < LANES; ++l) host[l] = w.registers + a.displacement + l * a.stride;
    move_registers<Load>(w, in, host);
    return true;
}

void ld(Warp& w, const Instruction& in) {
    Reach r;
    int bytes = size_of(in.type) * in.list.size();
    reach(w, in, 0, bytes, r);
    if (r.space == Space::Shared || r.space == Space::Global) {
        if (in.strong && races_on) for_lanes(w.mask, [&](int l) { acquire(w, r.host[l]); });
        observe(w, in, r, bytes, true, false);
        count(w, r, bytes, true);
    }
    move_registers<true>(w, in, r.host);
    if (r.space == Space::Local)
        for (size_t k = 0, n = size_of(in.type); k < in.list.size(); ++k)
            set_undefined(w, in.list[k], unwritten_local(w, r, k * n, n), in);
    if (!in.strong) return;
    uint64_t value = 0;
    std::memcpy(&value, r.host[w.first()], std::min(bytes, 8));
    w.note_poll(in, value ^ r.address[w.first()] * 0x9e3779b97f4a7c15);
}
void ld_parameter(Warp& w, const Instruction& in) {
    if (!moved_call_parameter<true>(w, in)) ld(w, in);
}

void st(Warp& w, const Instruction& in) {
    Reach r;
    int bytes = size_of(in.type) * in.list.size();
    reach(w, in, 0, bytes, r);
    if (in.release) fence(w);
    observe(w, in, r, bytes, false, true);
    count(w, r, bytes, false);
    const bool local = r.space == Space::Local;
    if (local || w.any_undefined)
        for (size_t k = 0, n = size_of(in.type); k < in.list.size(); ++k) {
            Mask undefined = store_undefined(w, in, in.list[k], !local);
            if (local) write_local(w, r, k * n, n, undefined);
        }
    move_registers<false>(w, in, r.host);
    w.changed_memory = true;
    if (in.strong && races_on) for_lanes(w.mask, [&](int l) { publish(w, r.host[l]); });
}
void st_parameter(Warp& w, const Instruction& in) {
    if (!moved_call_parameter<false>(w, in)) st(w, in);
}

Handler select_ld(Opcode& op) {
    if (op.in.type == Type::None) return nullptr;
    return op.in.space == Space::Parameter ? ld_parameter : ld;
}
Handler select_st(Opcode& op) {
    if (op.in.type == Type::None || op.has("async")) return nullptr;
    return op.in.space == Space::Parameter ? st_parameter : st;
}

Handler nothing(Opcode& op) {
    return op.has("tensormap") ? nullptr : Handler([](Warp&, const Instruction&) {});
}
}  // namespace

std::vector<OpcodeEntry> memory_opcodes() {
    return {
        {"ld", "vm?l", select_ld},
        {"ldu", "vm", select_ld},
        {"st", "mx?l", select_st},
        {"prefetch", "m", nothing},
        {"prefetchu", "m", nothing},
        {"applypriority", "m.", nothing},
        {"discard", "m.", nothing},
        // A policy for the caches, which are not simulated.
        {"createpolicy", "L?.",
         [](Opcode& op) {
             return op.has("fractional") ? lanes<[]() -> uint64_t { return 0; }>(op) : nullptr;
         }},
    };
}
}  // namespace ladder
