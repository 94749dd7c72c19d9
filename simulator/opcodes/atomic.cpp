// atom and red: one lane after the other, in the order of the lanes.
#include <algorithm>
#include <cstring>
#include <type_traits>

#include "machine/access.hpp"
#include "opcodes/templates.hpp"

namespace ladder {
namespace {
enum Operation : uint8_t { None, Add, Min, Max, And, Or, Xor, Exch, Cas, Inc, Dec };

template <class T>
T combine(uint8_t operation, T old, T value) {
    if constexpr (std::is_integral_v<T>) {
        using U = Wrapping<T>;
        switch (operation) {
            case Add:
                return static_cast<T>(static_cast<U>(old) + static_cast<U>(value));
            case Min:
                return std::min(old, value);
            case Max:
                return std::max(old, value);
            case And:
                return old & value;
            case Or:
                return old | value;
            case Xor:
                return old ^ value;
            case Inc:
                return old >= value ? T{0} : static_cast<T>(old + 1);
            case Dec:
                return old == 0 || old > value ? value : static_cast<T>(old - 1);
            default:
                return value;
        }
    } else if constexpr (std::is_same_v<T, Bits128>) {
        return value;
    } else if constexpr (is_pair<T>) {
        return {combine(operation, old.low, value.low), combine(operation, old.high, value.high)};
    } else {
        auto a = value_of(old), b = value_of(value);
        if (operation == Min) return b < a || a != a ? value : old;
        if (operation == Max) return b > a || a != a ? value : old;
        if (operation != Add) return value;
        if constexpr (std::is_floating_point_v<T>)
            return a + b;
        else
            return T::from_single(a + b);
    }
}

/// The lists: destinations (atom only), operands, and for cas the new values; one of each for every element.
template <class T>
void atom(Warp& w, const Instruction& in) {
    int lists = in.source_bytes + (in.code == Cas ? 2 : 1), elements = in.list.size() / lists;
    int bytes = sizeof(T) * elements;
    const int *destination = in.source_bytes ? in.list.data() : nullptr,
              *operand = in.list.data() + (destination ? elements : 0);
    Reach r;
    reach(w, in, 0, bytes, r);
    if (in.release) fence(w);
    bool changed = false;
    uint64_t seen = 0;
    for_lanes(w.mask, [&](int l) {
        if (races_on) acquire(w, r.host[l]);
        observe_lane(w, in, r, l, bytes, true, true);
        for (int k = 0; k < elements; ++k) {
            T old, fresh, value = w.at<T>(operand[k])[l];
            char* at = r.host[l] + k * sizeof(T);
            std::memcpy(&old, at, sizeof(T));
            if (in.code == Cas)
                fresh = std::memcmp(&old, &value, sizeof(T)) == 0 ? w.at<T>(operand[elements + k])[l] : old;
            else
                fresh = combine(in.code, old, value);
            changed |= std::memcmp(&old, &fresh, sizeof(T)) != 0;
            std::memcpy(at, &fresh, sizeof(T));
            if (destination) std::memcpy(w.registers + destination[k] + l * sizeof(T), &old, sizeof(T));
            std::memcpy(&seen, &old, std::min<size_t>(8, sizeof(T)));
        }
        if (races_on) publish(w, r.host[l]);
    });
    w.changed_memory |= changed;
    if (!changed) w.note_poll(in, seen ^ r.address[w.first()] * 0x9e3779b97f4a7c15);
}

uint8_t operation_of(const Opcode& op) {
    static const char* names[] = {"", "add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec"};
    for (uint8_t k = Add; k <= Dec; ++k)
        if (op.has(names[k])) return k;
    return None;
}

template <bool Returns>
Handler select_atom(Opcode& op) {
    Instruction& in = op.in;
    in.code = operation_of(op);
    in.strong = true;
    in.source_bytes = Returns;
    if (in.code == None || op.has("async") || op.types.size() != 1) return nullptr;
    op.operands = !Returns ? "mx?l" : in.code == Cas ? "vmxx?l" : "vmx?l";
    bool swaps = in.code == Exch || in.code == Cas;
    switch (in.type) {
        case Type::F32:
            return in.code == Add ? atom<float> : nullptr;
        case Type::F64:
            return in.code == Add ? atom<double> : nullptr;
        case Type::F16:
            return atom<Half>;
        case Type::BF16:
            return atom<Bfloat>;
        case Type::F16x2:
            return atom<Pair<Half>>;
        case Type::BF16x2:
            return atom<Pair<Bfloat>>;
        case Type::B128:
            return swaps ? atom<Bits128> : nullptr;
        case Type::B16:
            return swaps ? atom<uint16_t> : nullptr;
        default:
            break;
    }
    if (size_of(in.type) < 4) return nullptr;
    return for_integer(in.type, []<class T>(T) -> Handler { return atom<T>; });
}
}  // namespace

std::vector<OpcodeEntry> atomic_opcodes() {
    return {{"atom", "vmx", select_atom<true>}, {"red", "mx", select_atom<false>}};
}
}  // namespace ladder
