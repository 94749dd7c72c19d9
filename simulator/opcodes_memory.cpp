// Loads, stores and prefetches.
#include <bit>
#include <cstring>

#include "access.h"
#include "opcode_templates.h"

namespace ladder {
namespace {

uint64_t extended(uint64_t v, int bytes, bool sign) {
    int shift = 64 - 8 * bytes;
    return sign ? static_cast<uint64_t>(static_cast<int64_t>(v << shift) >> shift) : v;
}

template <class T>
void gather_words(Warp& w, char* const* host, size_t at, char* to) {
    T* t = reinterpret_cast<T*>(to);
    for_lanes(w.mask, [&](int l) { std::memcpy(&t[l], host[l] + at, sizeof(T)); });
}
template <class T>
void scatter_words(Warp& w, char* const* host, size_t at, const char* from) {
    const T* t = reinterpret_cast<const T*>(from);
    for_lanes(w.mask, [&](int l) { std::memcpy(host[l] + at, &t[l], sizeof(T)); });
}

/// From the lanes' memory to registers that may be wider than the type.
void load_registers(Warp& w, const Instruction& in, char* const* host) {
    int n = size_of(in.type), wide = in.register_bytes;
    for (size_t k = 0; k < in.list.size(); ++k) {
        char* to = w.registers + in.list[k];
        size_t at = k * static_cast<size_t>(n);
        if (n == wide && n == 4)
            gather_words<uint32_t>(w, host, at, to);
        else if (n == wide && n == 8)
            gather_words<uint64_t>(w, host, at, to);
        else
            for_lanes(w.mask, [&](int l) {
                if (n > 8) {
                    std::memcpy(to + l * wide, host[l] + at, static_cast<size_t>(n));
                    return;
                }
                uint64_t v = 0;
                std::memcpy(&v, host[l] + at, static_cast<size_t>(n));
                v = extended(v, n, is_signed(in.type));
                std::memcpy(to + l * wide, &v, static_cast<size_t>(std::min(wide, 8)));
            });
    }
}
void store_registers(Warp& w, const Instruction& in, char* const* host) {
    int n = size_of(in.type), wide = in.register_bytes;
    for (size_t k = 0; k < in.list.size(); ++k) {
        const char* from = w.registers + in.list[k];
        size_t at = k * static_cast<size_t>(n);
        if (n == wide && n == 4)
            scatter_words<uint32_t>(w, host, at, from);
        else if (n == wide && n == 8)
            scatter_words<uint64_t>(w, host, at, from);
        else
            for_lanes(w.mask,
                      [&](int l) { std::memcpy(host[l] + at, from + l * wide, static_cast<size_t>(n)); });
    }
}

/// A call's parameters lie in the frame, one copy for each lane.
void call_parameter_hosts(Warp& w, const Instruction& in, char** host) {
    const Address& a = in.address[0];
    for (int l = 0; l < kLanes; ++l)
        host[l] = w.registers + a.displacement + static_cast<int64_t>(l) * a.stride;
}

int access_bytes(const Instruction& in) {
    return size_of(in.type) * static_cast<int>(in.list.size());
}

void ld(Warp& w, const Instruction& in) {
    Reach r;
    int bytes = access_bytes(in);
    reach(w, in, 0, bytes, r);
    if (r.space == Space::Shared || r.space == Space::Global) {
        if (in.strong && races_on) for_lanes(w.mask, [&](int l) { acquire(w, r.host[l]); });
        observe(w, in, r, bytes, true, false);
        count(w, r, bytes, true);
    }
    load_registers(w, in, r.host);
    if (!in.strong) return;
    int first = std::countr_zero(w.mask);
    uint64_t value = 0;
    std::memcpy(&value, r.host[first], static_cast<size_t>(std::min(bytes, 8)));
    w.note_poll(in, value ^ r.address[first] * 0x9e3779b97f4a7c15);
}
void ld_parameter(Warp& w, const Instruction& in) {
    if (in.space == Space::CallParameter) {
        char* host[kLanes];
        call_parameter_hosts(w, in, host);
        return load_registers(w, in, host);
    }
    ld(w, in);
}

void st(Warp& w, const Instruction& in) {
    Reach r;
    int bytes = access_bytes(in);
    reach(w, in, 0, bytes, r);
    if (in.release) fence(w);
    observe(w, in, r, bytes, false, true);
    count(w, r, bytes, false);
    store_registers(w, in, r.host);
    w.changed_memory = true;
    if (in.strong && races_on) for_lanes(w.mask, [&](int l) { publish(w, r.host[l]); });
}
void st_parameter(Warp& w, const Instruction& in) {
    if (in.space != Space::CallParameter) return st(w, in);
    char* host[kLanes];
    call_parameter_hosts(w, in, host);
    store_registers(w, in, host);
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
        {"createpolicy", "L?tt",
         [](Opcode& op) -> Handler {
             if (!op.has("fractional")) return nullptr;
             op.operands = "L?.";
             return [](Warp& w, const Instruction& in) {
                 uint64_t t[kLanes] = {};
                 put(w, in.destination, t);
             };
         }},
    };
}

}  // namespace ladder
