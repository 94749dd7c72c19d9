// Floating-point arithmetic, comparisons and selections; also the opcodes that integers and floats share.
#include <algorithm>
#include <bit>
#include <cfenv>
#include <cmath>
#include <string_view>

#include "opcode_templates.h"
#include "small_float.h"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace ladder {

Handler select_integer_add(Opcode& op);
Handler select_integer_sub(Opcode& op);
Handler select_integer_mul(Opcode& op);
Handler select_integer_mad(Opcode& op);
Handler select_integer_div(Opcode& op);
Handler select_integer_min(Opcode& op);
Handler select_integer_max(Opcode& op);
Handler select_integer_neg(Opcode& op);
Handler select_integer_abs(Opcode& op);

namespace {

bool wide_float(Type t) {
    return t == Type::F32 || t == Type::F64;
}

/// Two short floats in one register.
template <class H>
struct Pair {
    H low, high;
};

// The same arithmetic for all float types: f works on float or double, shorter types go through float.
template <class T, class F>
T apply(F f, T a) {
    if constexpr (std::is_floating_point_v<T>)
        return f(a);
    else
        return T::from_single(static_cast<float>(f(a.value())));
}
template <class H, class F>
Pair<H> apply(F f, Pair<H> a) {
    return {apply(f, a.low), apply(f, a.high)};
}
template <class T, class F>
T apply(F f, T a, T b) {
    if constexpr (std::is_floating_point_v<T>)
        return f(a, b);
    else
        return T::from_single(static_cast<float>(f(a.value(), b.value())));
}
template <class H, class F>
Pair<H> apply(F f, Pair<H> a, Pair<H> b) {
    return {apply(f, a.low, b.low), apply(f, a.high, b.high)};
}

struct Fma {
    float operator()(float a, float b, float c) const { return std::fma(a, b, c); }
    double operator()(double a, double b, double c) const { return std::fma(a, b, c); }
    template <class H>
    H operator()(H a, H b, H c) const {
        return H::from(short_fma(a.value(), b.value(), c.value()));
    }
    template <class H>
    Pair<H> operator()(Pair<H> a, Pair<H> b, Pair<H> c) const {
        return {(*this)(a.low, b.low, c.low), (*this)(a.high, b.high, c.high)};
    }
};

template <class G>
Handler for_float(Type type, G g) {
    switch (type) {
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
template <class F>
Handler float_unary(Opcode& op, F) {
    return with_rounding(op, for_float(op.in.type, [](auto v) -> Handler {
                             using T = decltype(v);
                             return unary<T, T, decltype([](T a) { return apply(F(), a); })>;
                         }));
}
template <class F>
Handler float_binary(Opcode& op, F) {
    if (op.has("relu") || op.has("xorsign")) return nullptr;
    return with_rounding(op, for_float(op.in.type, [](auto v) -> Handler {
                             using T = decltype(v);
                             return binary<T, T, T, decltype([](T a, T b) { return apply(F(), a, b); })>;
                         }));
}
/// Only for f32 and f64.
template <class F>
Handler function(Opcode& op, F f) {
    bool high_half = op.in.type == Type::F64 && op.has("approx") && op.has("ftz");
    if (!high_half) return float_unary(op, f);
    // The chip computes these from the upper 32 bits, and the lower ones of the result are zero.
    return unary<double, double, decltype([](double a) {
                     constexpr uint64_t upper = 0xffffffff00000000;
                     double r = F()(std::bit_cast<double>(std::bit_cast<uint64_t>(a) & upper));
                     return std::bit_cast<double>(std::bit_cast<uint64_t>(r) & upper);
                 })>;
}

/// fma.relu: negative results become zero.
struct FmaRelu {
    template <class T>
    T operator()(T a, T b, T c) const {
        T r = Fma()(a, b, c);
        if constexpr (std::is_floating_point_v<T>)
            return r < 0 ? T(0) : r;
        else
            return r.value() < 0 ? T{0} : r;
    }
    template <class H>
    Pair<H> operator()(Pair<H> a, Pair<H> b, Pair<H> c) const {
        return {(*this)(a.low, b.low, c.low), (*this)(a.high, b.high, c.high)};
    }
};

Handler select_fma(Opcode& op) {
    if (op.has("relu"))
        return for_float(op.in.type, [](auto v) -> Handler {
            using T = decltype(v);
            return ternary<T, T, T, T, FmaRelu>;
        });
    return with_rounding(op, for_float(op.in.type, [](auto v) -> Handler {
                             using T = decltype(v);
                             return ternary<T, T, T, T, Fma>;
                         }));
}

/// The smaller (or greater) number; -0 is below +0, and a NaN loses unless it propagates.
template <bool Greatest, bool Propagate>
struct Extreme {
    template <class T>
    T operator()(T a, T b) const {
        if (a != a) return Propagate ? a : b;
        if (b != b) return Propagate ? b : a;
        if (a == b) return std::signbit(a) == Greatest ? b : a;
        return (a < b) == Greatest ? b : a;
    }
};
template <class T>
struct ShortPair {
    T low, high;
};
template <bool Greatest>
struct ShortExtreme {
    template <class T>
    ShortPair<T> operator()(ShortPair<T> a, ShortPair<T> b) const {
        auto pick = [](T x, T y) { return Greatest ? std::max(x, y) : std::min(x, y); };
        return {pick(a.low, b.low), pick(a.high, b.high)};
    }
};
template <bool Greatest>
Handler select_extreme(Opcode& op) {
    if (op.has("s16x2"))
        return binary<ShortPair<int16_t>, ShortPair<int16_t>, ShortPair<int16_t>, ShortExtreme<Greatest>>;
    if (op.has("u16x2"))
        return binary<ShortPair<uint16_t>, ShortPair<uint16_t>, ShortPair<uint16_t>, ShortExtreme<Greatest>>;
    if (!is_float(op.in.type)) return Greatest ? select_integer_max(op) : select_integer_min(op);
    if (op.has("abs")) return nullptr;
    return op.has("NaN") ? float_binary(op, Extreme<Greatest, true>())
                         : float_binary(op, Extreme<Greatest, false>());
}

Handler select_add(Opcode& op) {
    if (op.has("s16x2") || op.has("u16x2"))
        return op.in.saturate ? nullptr
                              : binary<uint32_t, uint32_t, uint32_t, decltype([](uint32_t a, uint32_t b) {
                                           return ((a & 0xffff0000) + (b & 0xffff0000)) | ((a + b) & 0xffff);
                                       })>;
    if (!is_float(op.in.type)) return select_integer_add(op);
    return float_binary(op, [](auto a, auto b) { return a + b; });
}
Handler select_sub(Opcode& op) {
    if (!is_float(op.in.type)) return select_integer_sub(op);
    return float_binary(op, [](auto a, auto b) { return a - b; });
}
Handler select_mul(Opcode& op) {
    if (!is_float(op.in.type)) return select_integer_mul(op);
    return float_binary(op, [](auto a, auto b) { return a * b; });
}
Handler select_mad(Opcode& op) {
    return is_float(op.in.type) ? select_fma(op) : select_integer_mad(op);
}
Handler select_div(Opcode& op) {
    if (!is_float(op.in.type)) return select_integer_div(op);
    return wide_float(op.in.type) ? float_binary(op, [](auto a, auto b) { return a / b; }) : nullptr;
}

// Signs are bits: NaNs and zeros keep theirs exactly.
template <class T, T Sign, bool Clear>
void change_sign(Warp& w, const Instruction& in) {
    unary<T, T, decltype([](T a) { return static_cast<T>(Clear ? a & ~Sign : a ^ Sign); })>(w, in);
}
template <bool Clear>
Handler select_sign(Opcode& op) {
    switch (op.in.type) {
        case Type::F32:
            return change_sign<uint32_t, 0x80000000u, Clear>;
        case Type::F64:
            return change_sign<uint64_t, 0x8000000000000000u, Clear>;
        case Type::F16:
        case Type::BF16:
            return change_sign<uint16_t, 0x8000, Clear>;
        case Type::F16x2:
        case Type::BF16x2:
            return change_sign<uint32_t, 0x80008000u, Clear>;
        default:
            return Clear ? select_integer_abs(op) : select_integer_neg(op);
    }
}
Handler select_copysign(Opcode& op) {
    if (!wide_float(op.in.type)) return nullptr;
    return float_binary(op, [](auto a, auto b) { return std::copysign(b, a); });
}
Handler select_testp(Opcode& op) {
    const std::string what = op.part(1);
    static const std::string_view names[] = {"finite",     "infinite", "number",
                                             "notanumber", "normal",   "subnormal"};
    auto at = std::find(std::begin(names), std::end(names), what);
    if (at == std::end(names) || !wide_float(op.in.type)) return nullptr;
    op.in.code = static_cast<uint8_t>(at - std::begin(names));
    return for_float(op.in.type, [](auto v) -> Handler {
        using T = decltype(v);
        return [](Warp& w, const Instruction& in) {
            Mask m = 0;
            for (int l = 0; l < kLanes; ++l) {
                if constexpr (std::is_floating_point_v<T>) {
                    T a = w.at<T>(in.source[0])[l];
                    bool sub = std::fpclassify(a) == FP_SUBNORMAL, normal = std::isnormal(a) || a == 0;
                    bool is[] = {bool(std::isfinite(a)),
                                 bool(std::isinf(a)),
                                 !std::isnan(a),
                                 bool(std::isnan(a)),
                                 normal,
                                 sub};
                    m |= static_cast<Mask>(is[in.code]) << l;
                }
            }
            put_predicate(w, in.destination, m);
        };
    });
}

// Comparisons. The names with u are true when either side is a NaN; the others are false.
template <class T>
bool unordered(T a, T b) {
    return a != a || b != b;
}
#define LADDER_COMPARISONS(X)                                                                      \
    X(eq, a == b)                                                                                  \
    X(ne, a != b && !unordered(a, b))                                                              \
    X(lt, a < b)                                                                                   \
    X(le, a <= b) X(gt, a > b) X(ge, a >= b) X(lo, a < b) X(ls, a <= b) X(hi, a > b) X(hs, a >= b) \
        X(equ, a == b || unordered(a, b)) X(neu, a != b) X(ltu, !(a >= b)) X(leu, !(a > b))        \
            X(gtu, !(a <= b)) X(geu, !(a < b)) X(num, !unordered(a, b)) X(nan, unordered(a, b))
#define LADDER_DEFINE_COMPARISON(name, expression) \
    struct Compare_##name {                        \
        template <class T>                         \
        bool operator()(T a, T b) const {          \
            return static_cast<bool>(expression);  \
        }                                          \
    };
LADDER_COMPARISONS(LADDER_DEFINE_COMPARISON)

template <class T, class F>
bool compare(F f, T a, T b) {
    if constexpr (std::is_arithmetic_v<T>)
        return f(a, b);
    else
        return f(a.value(), b.value());
}
/// Calls g with the comparison that the name stands for.
template <class G>
Handler for_comparison(const std::string& name, G g) {
#define LADDER_PICK_COMPARISON(spelled, expression) \
    if (name == #spelled) return g(Compare_##spelled());
    LADDER_COMPARISONS(LADDER_PICK_COMPARISON)
    return nullptr;
}
template <class G>
Handler for_scalar(Type type, G g) {
    switch (type) {
        case Type::F32:
            return g(float());
        case Type::F64:
            return g(double());
        case Type::F16:
            return g(Half());
        case Type::BF16:
            return g(Bfloat());
        default:
            return for_integer(type, g);
    }
}

/// p | q = the comparison and its opposite, each combined with a third predicate where the opcode says so.
void put_comparison(Warp& w, const Instruction& in, Mask m) {
    Mask inverse = ~m;
    if (in.code) {
        Mask p = w.predicate(in.source[2]);
        if (in.predicate_negated) p = ~p;
        auto combine = [&](Mask x) { return in.code == 'a' ? x & p : in.code == 'o' ? x | p : x ^ p; };
        m = combine(m);
        inverse = combine(inverse);
    }
    put_predicate(w, in.destination, m);
    if (in.destination2 >= 0) put_predicate(w, in.destination2, inverse);
}
template <class T, class F>
void set_predicate(Warp& w, const Instruction& in) {
    const T *a = w.at<T>(in.source[0]), *b = w.at<T>(in.source[1]);
    Mask m = 0;
    F f;
    for (int l = 0; l < kLanes; ++l) m |= static_cast<Mask>(compare(f, a[l], b[l])) << l;
    put_comparison(w, in, m);
}
template <class H, class F>
void set_predicate_pair(Warp& w, const Instruction& in) {
    const Pair<H>*a = w.at<Pair<H>>(in.source[0]), *b = w.at<Pair<H>>(in.source[1]);
    Mask low = 0, high = 0;
    for (int l = 0; l < kLanes; ++l) {
        low |= static_cast<Mask>(compare(F(), a[l].low, b[l].low)) << l;
        high |= static_cast<Mask>(compare(F(), a[l].high, b[l].high)) << l;
    }
    put_predicate(w, in.destination, low);
    if (in.destination2 >= 0) put_predicate(w, in.destination2, high);
}
Handler select_setp(Opcode& op) {
    op.in.code = op.has("and") ? 'a' : op.has("or") ? 'o' : op.has("xor") ? 'x' : 0;
    op.operands = op.in.code ? "Pttp" : "Ptt";
    return for_comparison(op.part(1), [&](auto comparison) -> Handler {
        using F = decltype(comparison);
        if (op.in.type == Type::F16x2) return op.in.code ? nullptr : set_predicate_pair<Half, F>;
        if (op.in.type == Type::BF16x2) return op.in.code ? nullptr : set_predicate_pair<Bfloat, F>;
        return for_scalar(op.in.type, [](auto v) -> Handler { return set_predicate<decltype(v), F>; });
    });
}
/// set: all ones, or 1.0, where the comparison holds.
template <class D, class T, class F>
void set_value(Warp& w, const Instruction& in) {
    const T *a = w.at<T>(in.source[0]), *b = w.at<T>(in.source[1]);
    uint32_t one = in.type == Type::F32    ? 0x3f800000
                   : in.type == Type::F16  ? 0x3c00
                   : in.type == Type::BF16 ? 0x3f80
                                           : ~0u;
    D t[kLanes];
    for (int l = 0; l < kLanes; ++l) t[l] = static_cast<D>(compare(F(), a[l], b[l]) ? one : 0);
    put(w, in.destination, t);
}
template <class H, class F>
void set_pair(Warp& w, const Instruction& in) {
    const Pair<H>*a = w.at<Pair<H>>(in.source[0]), *b = w.at<Pair<H>>(in.source[1]);
    uint32_t one = in.type == Type::F16x2 ? 0x3c00 : in.type == Type::BF16x2 ? 0x3f80 : 0xffff, t[kLanes];
    for (int l = 0; l < kLanes; ++l)
        t[l] = (compare(F(), a[l].low, b[l].low) ? one : 0) |
               (compare(F(), a[l].high, b[l].high) ? one << 16 : 0);
    put(w, in.destination, t);
}
Handler select_set(Opcode& op) {
    int size = size_of(op.in.type);
    if (op.has("and") || op.has("or") || op.has("xor") || size > 4) return nullptr;
    return for_comparison(op.part(1), [&](auto comparison) -> Handler {
        using F = decltype(comparison);
        if (op.in.type2 == Type::F16x2) return set_pair<Half, F>;
        if (op.in.type2 == Type::BF16x2) return set_pair<Bfloat, F>;
        return for_scalar(op.in.type2, [&](auto v) -> Handler {
            return size == 2 ? Handler(set_value<uint16_t, decltype(v), F>)
                             : set_value<uint32_t, decltype(v), F>;
        });
    });
}

template <class T>
void select_by_predicate(Warp& w, const Instruction& in) {
    const T *a = w.at<T>(in.source[0]), *b = w.at<T>(in.source[1]);
    Mask p = w.predicate(in.source[2]);
    if (in.predicate_negated) p = ~p;
    T t[kLanes];
    for (int l = 0; l < kLanes; ++l) t[l] = p >> l & 1 ? a[l] : b[l];
    put(w, in.destination, t);
}
template <class T, class C>
void select_by_sign(Warp& w, const Instruction& in) {
    ternary<T, T, T, C, decltype([](T a, T b, C c) { return c >= 0 ? a : b; })>(w, in);
}
Handler by_size(Type type, Handler two, Handler four, Handler eight) {
    int size = size_of(type);
    return size == 2 ? two : size == 4 ? four : size == 8 ? eight : nullptr;
}
Handler select_selp(Opcode& op) {
    return by_size(op.in.type, select_by_predicate<uint16_t>, select_by_predicate<uint32_t>,
                   select_by_predicate<uint64_t>);
}
Handler select_slct(Opcode& op) {
    if (op.in.type2 == Type::F32)
        return by_size(op.in.type, select_by_sign<uint16_t, float>, select_by_sign<uint32_t, float>,
                       select_by_sign<uint64_t, float>);
    return by_size(op.in.type, select_by_sign<uint16_t, int32_t>, select_by_sign<uint32_t, int32_t>,
                   select_by_sign<uint64_t, int32_t>);
}

template <class T>
void saturate(Warp& w, const Instruction& in) {
    T* d = w.at<T>(in.destination);
    for_lanes(w.mask, [&](int l) { d[l] = d[l] > T(0) ? std::min(d[l], T(1)) : T(0); });
}
void rounded(Warp& w, const Instruction& in) {
    int mode = in.rounding == 'z'   ? FE_TOWARDZERO
               : in.rounding == 'm' ? FE_DOWNWARD
               : in.rounding == 'p' ? FE_UPWARD
                                    : FE_TONEAREST;
    if (in.rounding) std::fesetround(mode);
#if defined(__SSE2__)
    constexpr unsigned kFlush = 0x8040;
    unsigned control = _mm_getcsr();
    if (in.source_bytes) _mm_setcsr(control | kFlush);
#endif
    in.inner(w, in);
#if defined(__SSE2__)
    if (in.source_bytes) _mm_setcsr(control);
#endif
    if (in.rounding) std::fesetround(FE_TONEAREST);
    if (!in.saturate) return;
    if (in.type == Type::F32) saturate<float>(w, in);
    if (in.type == Type::F64) saturate<double>(w, in);
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
        {"sub", "dtt", select_sub},
        {"mul", "dtt", select_mul},
        {"mad", "dttt", select_mad},
        {"fma", "dttt", select_fma},
        {"div", "dtt", select_div},
        {"min", "dtt", select_extreme<false>},
        {"max", "dtt", select_extreme<true>},
        {"neg", "dt", select_sign<false>},
        {"abs", "dt", select_sign<true>},
        {"copysign", "dtt", select_copysign},
        {"testp", "Pt", select_testp},
        {"setp", "Ptt", select_setp},
        {"set", "dss", select_set},
        {"selp", "dttp", select_selp},
        {"slct", "dtts", select_slct},
        {"sqrt", "dt", [](Opcode& op) { return function(op, [](auto a) { return std::sqrt(a); }); }},
        {"rsqrt", "dt",
         [](Opcode& op) {
             return function(
                 op, [](auto a) { return static_cast<decltype(a)>(1 / std::sqrt(static_cast<double>(a))); });
         }},
        {"rcp", "dt", [](Opcode& op) { return function(op, [](auto a) { return 1 / a; }); }},
        {"ex2", "dt", [](Opcode& op) { return float_unary(op, [](auto a) { return std::exp2(a); }); }},
        {"lg2", "dt", [](Opcode& op) { return float_unary(op, [](auto a) { return std::log2(a); }); }},
        {"sin", "dt", [](Opcode& op) { return float_unary(op, [](auto a) { return std::sin(a); }); }},
        {"cos", "dt", [](Opcode& op) { return float_unary(op, [](auto a) { return std::cos(a); }); }},
        {"tanh", "dt", [](Opcode& op) { return float_unary(op, [](auto a) { return std::tanh(a); }); }},
    };
}

}  // namespace ladder
