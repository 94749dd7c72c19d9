// Shapes of handlers: 32 lanes of one, two or three operands, and the choice of a C++ type for a PTX type.
#pragma once
#include <type_traits>

#include "machine.h"
#include "opcodes.h"

namespace ladder {

template <class D, class S, class F>
void unary(Warp& w, const Instruction& in) {
    const S* a = w.at<S>(in.source[0]);
    D t[kLanes];
    F f;
    for (int l = 0; l < kLanes; ++l) t[l] = f(a[l]);
    put(w, in.destination, t);
}
template <class D, class A, class B, class F>
void binary(Warp& w, const Instruction& in) {
    const A* a = w.at<A>(in.source[0]);
    const B* b = w.at<B>(in.source[1]);
    D t[kLanes];
    F f;
    for (int l = 0; l < kLanes; ++l) t[l] = f(a[l], b[l]);
    put(w, in.destination, t);
}
template <class D, class A, class B, class C, class F>
void ternary(Warp& w, const Instruction& in) {
    const A* a = w.at<A>(in.source[0]);
    const B* b = w.at<B>(in.source[1]);
    const C* c = w.at<C>(in.source[2]);
    D t[kLanes];
    F f;
    for (int l = 0; l < kLanes; ++l) t[l] = f(a[l], b[l], c[l]);
    put(w, in.destination, t);
}

/// Calls g with a value of the integer type that stands for `type`, or returns null.
template <class G>
Handler for_integer(Type type, G g) {
    switch (type) {
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
        default:
            return nullptr;
    }
}

/// The unsigned type in which arithmetic on T wraps without undefined behaviour.
template <class T>
using Wrapping = std::conditional_t<sizeof(T) < 4, uint32_t, std::make_unsigned_t<T>>;

template <class F>
Handler integer_unary(Type type, F) {
    return for_integer(type, [](auto v) -> Handler { return unary<decltype(v), decltype(v), F>; });
}
template <class F>
Handler integer_binary(Type type, F) {
    return for_integer(type,
                       [](auto v) -> Handler { return binary<decltype(v), decltype(v), decltype(v), F>; });
}

/// Makes the arithmetic of `inner` round and flush as the opcode asks (.rz, .rm, .rp, .ftz).
Handler with_rounding(Opcode& op, Handler inner);

}  // namespace ladder
