// mov, cvt and cvta: between types, widths and address spaces.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "opcode_templates.h"
#include "small_float.h"

namespace ladder {
namespace {

template <class T>
constexpr bool is_float_value =
    std::is_floating_point_v<T> || std::is_same_v<T, Half> || std::is_same_v<T, Bfloat>;

double to_integral(double x, char mode) {
    switch (mode) {
        case 'z':
            return std::trunc(x);
        case 'm':
            return std::floor(x);
        case 'p':
            return std::ceil(x);
        default:
            return std::nearbyint(x);
    }
}

template <class T>
double widen(T v) {
    if constexpr (std::is_arithmetic_v<T>)
        return static_cast<double>(v);
    else
        return v.value();
}
template <class D>
D narrow(double x, char mode) {
    if constexpr (std::is_same_v<D, double>)
        return x;
    else if constexpr (std::is_same_v<D, float>)
        return mode ? static_cast<float>(round_to(x, kSingleFormat, mode)) : static_cast<float>(x);
    else
        return D::from(x, mode);
}

template <class D>
D clamped(double x, bool wide) {
    constexpr double low = static_cast<double>(std::numeric_limits<D>::min()),
                     high = static_cast<double>(std::numeric_limits<D>::max());
    if (std::isnan(x)) return wide ? static_cast<D>(uint64_t{1} << (8 * sizeof(D) - 1)) : D{0};
    if (x <= low) return std::numeric_limits<D>::min();
    return x >= high ? std::numeric_limits<D>::max() : static_cast<D>(x);
}

/// 64-bit integers do not fit a double: rounding them to a float goes by their own digits.
template <class D, class S>
D from_integer(S v, char mode) {
    if constexpr (sizeof(S) == 8 && !std::is_same_v<D, double>) {
        if (mode == 0) return narrow<D>(static_cast<double>(static_cast<float>(v)), 0);
    }
    double x = static_cast<double>(v);
    if (sizeof(S) == 8 && mode) {
        __int128 back = static_cast<__int128>(x), exact = v;
        if (mode == 'z' && ((x > 0 && back > exact) || (x < 0 && back < exact))) x = std::nextafter(x, 0.0);
        if (mode == 'm' && back > exact) x = std::nextafter(x, -INFINITY);
        if (mode == 'p' && back < exact) x = std::nextafter(x, INFINITY);
    }
    return narrow<D>(x, mode);
}

// in.code: 'i' rounds to an integral value (.rni and its like); in.rounding says how.
template <class D, class S>
D convert(S s, const Instruction& in) {
    char mode = static_cast<char>(in.rounding);
    if constexpr (is_float_value<S> && !is_float_value<D>) {
        return clamped<D>(to_integral(widen(s), mode), sizeof(D) == 8 || sizeof(S) == 8);
    } else if constexpr (is_float_value<S>) {
        double x = widen(s);
        if (in.code == 'i') x = to_integral(x, mode);
        if (in.saturate) x = x > 0 ? std::min(x, 1.0) : 0.0;
        return narrow<D>(x, in.code == 'i' ? 0 : mode);
    } else if constexpr (is_float_value<D>) {
        return from_integer<D>(s, mode);
    } else if (in.saturate) {
        using Limits = std::numeric_limits<D>;
        return static_cast<D>(std::clamp<__int128>(s, Limits::min(), Limits::max()));
    } else {
        return static_cast<D>(s);
    }
}

template <class D, class S>
void cvt(Warp& w, const Instruction& in) {
    const char* from = w.registers + in.source[0];
    char* to = w.registers + in.list[0];
    for_lanes(w.mask, [&](int l) {
        S s;
        std::memcpy(&s, from + l * in.source_bytes, sizeof(S));
        D d = convert<D, S>(s, in);
        // A destination wider than the type is extended by sign or with zeros.
        if constexpr (std::is_integral_v<D>) {
            int64_t wide = static_cast<int64_t>(d);
            std::memcpy(to + l * in.register_bytes, &wide, in.register_bytes);
        } else {
            std::memset(to + l * in.register_bytes, 0, in.register_bytes);
            std::memcpy(to + l * in.register_bytes, &d, sizeof(D));
        }
    });
}

template <class G>
Handler for_any(Type type, G g) {
    switch (type) {
        case Type::B8:
        case Type::U8:
            return g(uint8_t());
        case Type::S8:
            return g(int8_t());
        case Type::F16:
            return g(Half());
        case Type::BF16:
            return g(Bfloat());
        case Type::F32:
            return g(float());
        case Type::F64:
            return g(double());
        default:
            return for_integer(type, g);
    }
}

/// cvt.rn.f16x2.f32 d, a, b: a becomes the upper half.
template <class H>
void cvt_pair(Warp& w, const Instruction& in) {
    const float *a = w.at<float>(in.source[0]), *b = w.at<float>(in.source[1]);
    char mode = static_cast<char>(in.rounding);
    uint32_t t[kLanes];
    auto relu = [&](float x) { return in.code == 'r' && !(x > 0) && x == x ? 0.0f : x; };
    for (int l = 0; l < kLanes; ++l)
        t[l] = static_cast<uint32_t>(H::from(relu(a[l]), mode).bits) << 16 | H::from(relu(b[l]), mode).bits;
    put(w, in.destination, t);
}
template <char Mode>
void cvt_tf32(Warp& w, const Instruction& in) {
    unary<float, float, decltype([](float a) { return static_cast<float>(round_to(a, kTf32Format, Mode)); })>(
        w, in);
}

Handler select_cvt(Opcode& op) {
    Instruction& in = op.in;
    for (const std::string& p : op.parts)
        if (p.size() == 3 && p[0] == 'r' && p[2] == 'i' && in.code == 0) {
            in.code = 'i';
            in.rounding = static_cast<uint8_t>(p[1] == 'n' ? 0 : p[1]);
        }
    if (op.types.size() != 2 || op.has("satfinite") || op.has("scaled")) return nullptr;
    if (in.type == Type::F16x2 || in.type == Type::BF16x2) {
        if (in.type2 != Type::F32) return nullptr;
        if (op.has("relu")) in.code = 'r';
        op.operands = "dss";
        return in.type == Type::F16x2 ? cvt_pair<Half> : cvt_pair<Bfloat>;
    }
    if (op.has("relu")) return nullptr;
    if (in.type == Type::TF32) {
        op.operands = "ds";
        return op.has("rna")  ? cvt_tf32<'a'>
               : op.has("rz") ? cvt_tf32<'z'>
               : op.has("rn") ? cvt_tf32<0>
                              : nullptr;
    }
    Type from = in.type2;
    return for_any(in.type, [&](auto d) -> Handler {
        using D = decltype(d);
        return for_any(from, [](auto s) -> Handler { return cvt<D, decltype(s)>; });
    });
}

void mov_predicate(Warp& w, const Instruction& in) {
    Mask p = w.predicate(in.source[0]);
    put_predicate(w, in.destination, in.predicate_negated ? ~p : p);
}
template <class T>
void mov(Warp& w, const Instruction& in) {
    put(w, in.destination, w.at<T>(in.source[0]));
}

struct Bits128 {
    uint64_t low, high;
};

/// mov.b64 d, {a, b}: the parts lie side by side in d.
void pack(Warp& w, const Instruction& in) {
    int parts = static_cast<int>(in.list.size()), size = size_of(in.type) / parts, whole = size_of(in.type);
    for (int k = 0; k < parts; ++k)
        for_lanes(w.mask, [&](int l) {
            std::memcpy(w.registers + in.destination + l * whole + k * size,
                        w.registers + in.list[k] + l * in.register_bytes, size);
        });
}
/// mov.b64 {a, b}, d. The source is copied first: it may be one of the parts.
void unpack(Warp& w, const Instruction& in) {
    int parts = static_cast<int>(in.list.size()), whole = size_of(in.type), size = whole / parts;
    char from[kLanes * 16];
    std::memcpy(from, w.registers + in.source[0], static_cast<size_t>(kLanes * whole));
    for (int k = 0; k < parts; ++k)
        for_lanes(w.mask, [&](int l) {
            std::memcpy(w.registers + in.list[k] + l * in.register_bytes, from + l * whole + k * size, size);
        });
}

Handler select_mov(Opcode& op) {
    if (op.vector_destination || op.vector_source) {
        if (size_of(op.in.type) < 4) return nullptr;
        op.in.code = op.vector_destination ? 'u' : 'p';
        op.operands = op.vector_destination ? "*t" : "d*";
        return op.vector_destination ? unpack : pack;
    }
    if (op.in.type == Type::Predicate) {
        op.operands = "Pp";
        return mov_predicate;
    }
    switch (size_of(op.in.type)) {
        case 2:
            return mov<uint16_t>;
        case 4:
            return mov<uint32_t>;
        case 8:
            return mov<uint64_t>;
        case 16:
            return mov<Bits128>;
        default:
            return nullptr;
    }
}

/// cvta adds the base of a window to an address that lies in it, cvta.to subtracts it.
template <bool ToSpace, class T>
void cvta(Warp& w, const Instruction& in) {
    uint64_t base = in.space == Space::Shared || in.space == Space::SharedCluster ? kSharedBase
                    : in.space == Space::Local                                    ? kLocalBase
                    : in.space == Space::Parameter                                ? kParameterBase
                                                                                  : 0;
    const T* a = w.at<T>(in.source[0]);
    T t[kLanes];
    for (int l = 0; l < kLanes; ++l) {
        uint64_t x = a[l];
        t[l] = static_cast<T>(ToSpace ? (x >= base ? x - base : x) : (x < kWindow ? x + base : x));
    }
    put(w, in.destination, t);
}
Handler select_cvta(Opcode& op) {
    if (size_of(op.in.type) != 8) return nullptr;
    return op.has("to") ? cvta<true, uint64_t> : cvta<false, uint64_t>;
}
void isspacep(Warp& w, const Instruction& in) {
    const uint64_t* a = w.at<uint64_t>(in.source[0]);
    Mask m = 0;
    for (int l = 0; l < kLanes; ++l) {
        bool shared = a[l] - kSharedBase < kWindow, local = a[l] - kLocalBase < kWindow,
             parameter = a[l] - kParameterBase < kWindow;
        bool is = in.space == Space::Shared || in.space == Space::SharedCluster ? shared
                  : in.space == Space::Local                                    ? local
                  : in.space == Space::Parameter                                ? parameter
                  : in.space == Space::Global ? !shared && !local && !parameter
                                              : false;
        m |= static_cast<Mask>(is) << l;
    }
    put_predicate(w, in.destination, m);
}

/// Counters that only ever grow; they measure nothing.
void read_clock(Warp& w, const Instruction& in) {
    static uint64_t ticks = 0;
    ticks += 10;
    bool wide = size_of(in.type) == 8;
    for_lanes(w.mask, [&](int l) {
        if (wide)
            w.at<uint64_t>(in.list[0])[l] = ticks;
        else
            w.at<uint32_t>(in.list[0])[l] = static_cast<uint32_t>(ticks);
    });
}

}  // namespace

std::vector<OpcodeEntry> convert_opcodes() {
    return {
        {"mov", "dt", select_mov},
        {"cvt", "vy", select_cvt},
        {"cvta", "dt", select_cvta},
        {"isspacep", "Pl", [](Opcode&) -> Handler { return isspacep; }},
        {"%clock", "v.", [](Opcode&) -> Handler { return read_clock; }},
    };
}

}  // namespace ladder
