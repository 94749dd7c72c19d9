// Floating-point arithmetic, and the opcodes that integers and floats share.
#include <algorithm>
#include <cfenv>
#include <cmath>
#include <string_view>

#include "opcodes/templates.hpp"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace ladder {
namespace {
bool wide_float(Type t) {
    return t == Type::F32 || t == Type::F64;
}

/// The same arithmetic for all float types: f works on float or double, shorter types go through float.
template <class T, class F, class... S>
T apply(F f, S... a) {
    if constexpr (std::is_floating_point_v<T>)
        return f(a...);
    else if constexpr (is_pair<T>)
        return {apply<typename T::Half>(f, a.low...), apply<typename T::Half>(f, a.high...)};
    else
        return T::from_single(f(a.value()...));
}
template <auto F>
Handler floats(Opcode& op) {
    if (op.has("relu") || op.has("xorsign")) return nullptr;
    return with_rounding(op, for_float(op.in.type, []<class T>(T) {
                             if constexpr (std::is_invocable_v<decltype(F), float>)
                                 return mapped_for<[]<class X>(X a) { return apply<X>(F, a); }, T>();
                             else
                                 return mapped_for<[]<class X>(X a, X b) { return apply<X>(F, a, b); }, T>();
                         }));
}
/// sqrt, rsqrt and rcp. Of doubles, .approx.ftz takes only the upper 32 bits and sets the lower ones to zero.
template <auto F>
Handler root(Opcode& op) {
    if (op.in.type != Type::F64 || !op.has("approx") || !op.has("ftz")) return floats<F>(op);
    return lanes<[](uint64_t a) {
        constexpr uint64_t upper = 0xffffffff00000000;
        return std::bit_cast<uint64_t>(F(std::bit_cast<double>(a & upper))) & upper;
    }>(op);
}

template <bool Relu, class T>
T fma_of(T a, T b, T c) {
    if constexpr (is_pair<T>) {
        return {fma_of<Relu>(a.low, b.low, c.low), fma_of<Relu>(a.high, b.high, c.high)};
    } else if constexpr (std::is_floating_point_v<T>) {
        T r = std::fma(a, b, c);
        return Relu && r < 0 ? 0 : r;
    } else {
        T r = T::from(short_fma(a.value(), b.value(), c.value()));
        return Relu && r.value() < 0 ? T{0} : r;
    }
}
template <bool Relu>
Handler fma_handler(Opcode& op) {
    return for_float(op.in.type, []<class T>(T) {
        return mapped_for<[]<class X>(X a, X b, X c) { return fma_of<Relu>(a, b, c); }, T>();
    });
}
Handler select_fma(Opcode& op) {
    return op.has("relu") ? fma_handler<true>(op) : with_rounding(op, fma_handler<false>(op));
}

/// The smaller (or greater) number; -0 is below +0, and a NaN loses unless it propagates.
template <bool Greatest, bool Propagate, class T>
T extreme(T a, T b) {
    if (a != a) return Propagate ? a : b;
    if (b != b) return Propagate ? b : a;
    if (a == b) return std::signbit(a) == Greatest ? b : a;
    return (a < b) == Greatest ? b : a;
}
template <bool Greatest, class T>
Pair<T> extreme_pair(Pair<T> a, Pair<T> b) {
    auto pick = [](T x, T y) { return Greatest ? std::max(x, y) : std::min(x, y); };
    return {pick(a.low, b.low), pick(a.high, b.high)};
}
template <bool Greatest>
Handler select_extreme(Opcode& op) {
    if (op.has("s16x2"))
        return lanes<[](Pair<int16_t> a, Pair<int16_t> b) { return extreme_pair<Greatest>(a, b); }>(op);
    if (op.has("u16x2"))
        return lanes<[](Pair<uint16_t> a, Pair<uint16_t> b) { return extreme_pair<Greatest>(a, b); }>(op);
    if (!is_float(op.in.type)) return Greatest ? integer_max(op) : integer_min(op);
    if (op.has("abs")) return nullptr;
    return op.has("NaN") ? floats<[]<class T>(T a, T b) { return extreme<Greatest, true>(a, b); }>(op)
                         : floats<[]<class T>(T a, T b) { return extreme<Greatest, false>(a, b); }>(op);
}
Handler select_add(Opcode& op) {
    if (is_float(op.in.type)) return floats<[]<class T>(T a, T b) { return a + b; }>(op);
    if (!op.has("s16x2") && !op.has("u16x2")) return integer_add(op);
    if (op.in.saturate) return nullptr;
    return lanes<[](uint32_t a, uint32_t b) {
        return ((a & 0xffff0000) + (b & 0xffff0000)) | ((a + b) & 0xffff);
    }>(op);
}

/// abs and neg: signs are bits, so NaNs and zeros keep theirs exactly.
template <bool Clear>
Handler select_sign(Opcode& op) {
    if (!is_float(op.in.type)) return Clear ? integer_abs(op) : integer_neg(op);
    op.in.code = op.in.type == Type::F16x2 || op.in.type == Type::BF16x2;
    return bits<[]<class T>(const Instruction& in, T a) -> T {
        T sign = static_cast<T>(T{1} << (8 * sizeof(T) - 1) | (in.code ? 0x8000 : 0));
        return Clear ? a & ~sign : a ^ sign;
    }>(op);
}
bool has_property(double a, bool subnormal, uint8_t code) {
    switch (code) {
        case 0:
            return std::isfinite(a);
        case 1:
            return std::isinf(a);
        case 2:
            return !std::isnan(a);
        case 3:
            return std::isnan(a);
        case 4:
            return std::isfinite(a) && !subnormal;
        default:
            return subnormal;
    }
}
template <class T>
void testp(Warp& w, const Instruction& in) {
    Mask m = 0;
    for (int l = 0; l < LANES; ++l) {
        T a = w.at<T>(in.source[0])[l];
        m |= static_cast<Mask>(has_property(a, std::fpclassify(a) == FP_SUBNORMAL, in.code)) << l;
    }
    put_predicate(w, in.destination, m);
}
Handler select_testp(Opcode& op) {
    static const std::string_view names[] = {"finite",     "infinite", "number",
                                             "notanumber", "normal",   "subnormal"};
    auto at = std::find(std::begin(names), std::end(names), op.part(1));
    if (at == std::end(names) || !wide_float(op.in.type)) return nullptr;
    op.in.code = at - std::begin(names);
    return op.in.type == Type::F32 ? testp<float> : testp<double>;
}

template <class T>
void saturate(Warp& w, const Instruction& in) {
    T* d = w.at<T>(in.destination);
    for_lanes(w.mask, [&](int l) { d[l] = d[l] > T(0) ? std::min(d[l], T(1)) : T(0); });
}
void rounded(Warp& w, const Instruction& in) {
    if (in.rounding)
        std::fesetround(in.rounding == 'z' ? FE_TOWARDZERO : in.rounding == 'm' ? FE_DOWNWARD : FE_UPWARD);
#if defined(__SSE2__)
    constexpr unsigned FLUSH = 0x8040;
    unsigned control = _mm_getcsr();
    if (in.source_bytes) _mm_setcsr(control | FLUSH);
#endif
    in.inner(w, in);
#if defined(__SSE2__)
    if (in.source_bytes) _mm_setcsr(control);
#endif
    if (in.rounding) std::fesetround(FE_TONEAREST);
    if (in.saturate) in.type == Type::F32 ? saturate<float>(w, in) : saturate<double>(w, in);
}
}  // namespace

Handler with_rounding(Opcode& op, Handler inner) {
    bool flush = op.has("ftz") && op.in.type == Type::F32;
    if (!inner || (!op.in.rounding && !flush && !op.in.saturate)) return inner;
    if (!wide_float(op.in.type)) return nullptr;
    op.in.inner = inner;
    op.in.source_bytes = flush;
    return rounded;
}

std::vector<OpcodeEntry> float_opcodes() {
    return {
        {"add", "dtt", select_add},
        {"sub", "dtt",
         [](Opcode& op) {
             return is_float(op.in.type) ? floats<[]<class T>(T a, T b) { return a - b; }>(op)
                                         : integer_sub(op);
         }},
        {"mul", "dtt",
         [](Opcode& op) {
             return is_float(op.in.type) ? floats<[]<class T>(T a, T b) { return a * b; }>(op)
                                         : integer_mul(op);
         }},
        {"mad", "dttt", [](Opcode& op) { return is_float(op.in.type) ? select_fma(op) : integer_mad(op); }},
        {"fma", "dttt", select_fma},
        {"div", "dtt",
         [](Opcode& op) {
             if (!is_float(op.in.type)) return integer_div(op);
             return wide_float(op.in.type) ? floats<[]<class T>(T a, T b) { return a / b; }>(op) : nullptr;
         }},
        {"min", "dtt", select_extreme<false>},
        {"max", "dtt", select_extreme<true>},
        {"neg", "dt", select_sign<false>},
        {"abs", "dt", select_sign<true>},
        {"copysign", "dtt",
         [](Opcode& op) {
             bool wide = wide_float(op.in.type);
             return wide ? floats<[]<class T>(T a, T b) { return std::copysign(b, a); }>(op) : nullptr;
         }},
        {"testp", "Pt", select_testp},
        {"sqrt", "dt", root<[]<class T>(T a) { return std::sqrt(a); }>},
        {"rsqrt", "dt", root<[]<class T>(T a) -> T { return 1 / std::sqrt(static_cast<double>(a)); }>},
        {"rcp", "dt", root<[]<class T>(T a) { return 1 / a; }>},
        {"ex2", "dt", floats<[]<class T>(T a) { return std::exp2(a); }>},
        {"lg2", "dt", floats<[]<class T>(T a) { return std::log2(a); }>},
        {"sin", "dt", floats<[]<class T>(T a) { return std::sin(a); }>},
        {"cos", "dt", floats<[]<class T>(T a) { return std::cos(a); }>},
        {"tanh", "dt", floats<[]<class T>(T a) { return std::tanh(a); }>},
    };
}
}  // namespace ladder
