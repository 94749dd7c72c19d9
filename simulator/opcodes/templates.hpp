// Handlers made of a lambda: d = f(sources) for each lane, and the choice of a C++ type for a PTX type.
#pragma once
#include <type_traits>
#include <utility>

#include "machine/machine.hpp"
#include "opcodes/opcodes.hpp"
#include "opcodes/small_float.hpp"

namespace ladder {
template <class D, class F, class... S>
void map_lanes(Warp& w, const Instruction& in, F f, const S*... sources) {
    D t[LANES];
    for (int l = 0; l < LANES; ++l) t[l] = f(sources[l]...);
    put(w, in.destination, t);
}
template <class D, class... S, class F, size_t... K>
void map_sources(Warp& w, const Instruction& in, F f, std::index_sequence<K...>) {
    map_lanes<D>(w, in, f, w.at<S>(in.source[K])...);
}

/// The handler of a lambda; the types of its parameters and result are those of the operands. Its first
/// parameter may be the instruction.
template <auto F, class C, class D, class... S>
Handler mapped(D (C::*)(S...) const) {
    return [](Warp& w, const Instruction& in) {
        map_sources<D, S...>(w, in, F, std::index_sequence_for<S...>());
    };
}
template <auto F, class C, class D, class... S>
Handler mapped(D (C::*)(const Instruction&, S...) const) {
    return [](Warp& w, const Instruction& in) {
        auto f = [&in](S... s) { return F(in, s...); };
        map_sources<D, S...>(w, in, f, std::index_sequence_for<S...>());
    };
}
/// The same for a lambda with a template parameter; null if its constraints exclude T.
template <auto F, class T>
Handler mapped_for() {
    if constexpr (requires { &decltype(F)::template operator()<T>; })
        return mapped<F>(&decltype(F)::template operator()<T>);
    return nullptr;
}

/// Calls g with a value of the C++ type that stands for `type`, or returns null.
template <class G>
Handler for_type(Type type, G g) {
    switch (type) {
        case Type::B8:
        case Type::U8:
            return g(uint8_t());
        case Type::S8:
            return g(int8_t());
        case Type::B16:
        case Type::U16:
            return g(uint16_t());
        case Type::S16:
            return g(int16_t());
        case Type::B32:
        case Type::U32:
            return g(uint32_t());
        case Type::S32:
            return g(int32_t());
        case Type::B64:
        case Type::U64:
            return g(uint64_t());
        case Type::S64:
            return g(int64_t());
        case Type::F32:
            return g(float());
        case Type::F64:
            return g(double());
        case Type::F16:
            return g(Half());
        case Type::BF16:
            return g(Bfloat());
        case Type::F16x2:
            return g(Pair<Half>());
        case Type::BF16x2:
            return g(Pair<Bfloat>());
        default:
            return nullptr;
    }
}
/// The same for integers of 16 bits and more, and for the others.
template <class G>
Handler for_integer(Type type, G g) {
    return for_type(type, [&]<class T>(T v) -> Handler {
        if constexpr (std::is_integral_v<T> && sizeof(T) > 1) return g(v);
        return nullptr;
    });
}
template <class G>
Handler for_float(Type type, G g) {
    return for_type(type, [&]<class T>(T v) -> Handler {
        if constexpr (!std::is_integral_v<T>) return g(v);
        return nullptr;
    });
}
/// The same by size alone.
template <class G>
Handler for_bits(Type type, G g) {
    int size = size_of(type);
    return size == 2 ? g(uint16_t()) : size == 4 ? g(uint32_t()) : size == 8 ? g(uint64_t()) : nullptr;
}

// For the opcode table: handlers of lambdas without a template parameter, or with one for the integer type.
template <auto F>
Handler lanes(Opcode&) {
    return mapped<F>(&decltype(F)::operator());
}
template <auto F>
Handler integers(Opcode& op) {
    return for_integer(op.in.type, []<class T>(T) { return mapped_for<F, T>(); });
}
template <auto F>
Handler bits(Opcode& op) {
    return for_bits(op.in.type, []<class T>(T) { return mapped_for<F, T>(); });
}
template <Handler F>
Handler just(Opcode&) {
    return F;
}
inline void nothing(Warp&, const Instruction&) {}
/// For handlers that change the program counter themselves.
template <Handler F>
Handler control(Opcode& op) {
    op.in.control = true;
    return F;
}

struct Bits128 {
    uint64_t low, high;
};

/// Runs f once for each set of lanes that name each other in their mask operand, when all of a set are here.
void together(Warp& w, const Instruction& in, int mask_operand, Handler f);
/// For instructions of the whole warp (.aligned).
template <Handler F>
void whole_warp(Warp& w, const Instruction& in) {
    if (!w.gather(in, w.alive)) return;
    F(w, in);
    w.advance();
}

/// The unsigned type in which arithmetic on T wraps without undefined behaviour.
template <class T>
using Wrapping = std::conditional_t<sizeof(T) < 4, uint32_t, std::make_unsigned_t<T>>;

/// Makes the arithmetic of `inner` round and flush as the opcode asks (.rz, .rm, .rp, .ftz).
Handler with_rounding(Opcode& op, Handler inner);
}  // namespace ladder
