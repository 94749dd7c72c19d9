// mov, cvt and cvta: between types, widths and address spaces.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "opcodes/templates.hpp"

namespace ladder {
namespace {
template <class T>
constexpr bool is_float_value = !std::is_integral_v<T>;

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

template <class D>
D narrow(double x, char mode) {
    if constexpr (std::is_same_v<D, double>)
        return x;
    else if constexpr (std::is_same_v<D, float>)
        return mode ? static_cast<float>(round_to(x, SINGLE_FORMAT, mode)) : static_cast<float>(x);
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
    char mode = in.rounding;
    if constexpr (is_float_value<S> && !is_float_value<D>) {
        return clamped<D>(to_integral(value_of(s), mode), sizeof(D) == 8 || sizeof(S) == 8);
    } else if constexpr (is_float_value<S>) {
        double x = value_of(s);
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
        uint64_t wide = 0;
        if constexpr (std::is_integral_v<D>)
            wide = static_cast<int64_t>(d);
        else
            std::memcpy(&wide, &d, sizeof(D));
        std::memcpy(to + l * in.register_bytes, &wide, in.register_bytes);
    });
}

/// cvt.rn.f16x2.f32 d, a, b: a becomes the upper half.
template <class H>
Handler cvt_pair(Opcode& op) {
    return lanes<[](const Instruction& in, float a, float b) -> Pair<H> {
        auto half = [&](float x) { return H::from(in.code == 'r' && x <= 0 ? 0 : x, in.rounding); };
        return {half(b), half(a)};
    }>(op);
}
template <char Mode>
Handler cvt_tf32(Opcode& op) {
    return lanes<[](float a) -> float { return round_to(a, TF32_FORMAT, Mode); }>(op);
}

Handler select_cvt(Opcode& op) {
    Instruction& in = op.in;
    for (const char* mode : {"rni", "rzi", "rmi", "rpi"})
        if (op.has(mode)) {
            in.code = 'i';
            in.rounding = mode[1] == 'n' ? 0 : mode[1];
        }
    if (op.types.size() != 2 || op.has("satfinite") || op.has("scaled")) return nullptr;
    if (in.type == Type::F16x2 || in.type == Type::BF16x2) {
        if (in.type2 != Type::F32) return nullptr;
        if (op.has("relu")) in.code = 'r';
        op.operands = "dss";
        return in.type == Type::F16x2 ? cvt_pair<Half>(op) : cvt_pair<Bfloat>(op);
    }
    if (op.has("relu")) return nullptr;
    if (in.type == Type::TF32) {
        op.operands = "ds";
        if (op.has("rna")) return cvt_tf32<'a'>(op);
        return op.has("rz") ? cvt_tf32<'z'>(op) : op.has("rn") ? cvt_tf32<0>(op) : nullptr;
    }
    return for_type(in.type, [&]<class D>(D) {
        return for_type(in.type2, []<class S>(S) -> Handler {
            if constexpr (!is_pair<D> && !is_pair<S>) return cvt<D, S>;
            return nullptr;
        });
    });
}

void mov_predicate(Warp& w, const Instruction& in) {
    put_predicate(w, in.destination, source_predicate(w, in, 0));
}
template <class T>
void mov(Warp& w, const Instruction& in) {
    put(w, in.destination, w.at<T>(in.source[0]));
}

/// mov.b64 d, {a, b}: the parts lie side by side in d. mov.b64 {a, b}, d takes them apart; the whole is
/// copied first, because it may be one of the parts.
template <bool Pack>
void mov_parts(Warp& w, const Instruction& in) {
    int parts = in.list.size(), whole = size_of(in.type), size = whole / parts;
    char copy[LANES * 16], *all = Pack ? w.registers + in.destination : copy;
    if (!Pack) std::memcpy(copy, w.registers + in.source[0], LANES * whole);
    for (int k = 0; k < parts; ++k)
        for_lanes(w.mask, [&](int l) {
            char *part = w.registers + in.list[k] + l * in.register_bytes, *here = all + l * whole + k * size;
            std::memcpy(Pack ? here : part, Pack ? part : here, size);
        });
}

Handler select_mov(Opcode& op) {
    int size = size_of(op.in.type);
    if (op.vector_destination || op.vector_source) {
        op.operands = op.vector_destination ? "*t" : "d*";
        return size < 4 ? nullptr : op.vector_destination ? mov_parts<false> : mov_parts<true>;
    }
    if (op.in.type == Type::Predicate) {
        op.operands = "Pp";
        return mov_predicate;
    }
    if (size == 16) return mov<Bits128>;
    return for_bits(op.in.type, []<class T>(T) -> Handler { return mov<T>; });
}

uint64_t window_of(Space space) {
    bool shared = space == Space::Shared || space == Space::SharedCluster;
    return shared                      ? SHARED_BASE
           : space == Space::Local     ? LOCAL_BASE
           : space == Space::Parameter ? PARAMETER_BASE
                                       : 0;
}
void isspacep(Warp& w, const Instruction& in) {
    const uint64_t *a = w.at<uint64_t>(in.source[0]), base = window_of(in.space);
    Mask m = 0;
    for (int l = 0; l < LANES; ++l) {
        bool window = false;
        for (uint64_t each : {SHARED_BASE, LOCAL_BASE, PARAMETER_BASE}) window |= a[l] - each < WINDOW;
        bool is = base ? a[l] - base < WINDOW : in.space == Space::Global && !window;
        m |= static_cast<Mask>(is) << l;
    }
    put_predicate(w, in.destination, m);
}
/// cvta adds the base of a window to an address that lies in it, cvta.to subtracts it.
Handler select_cvta(Opcode& op) {
    if (size_of(op.in.type) != 8) return nullptr;
    if (op.has("to"))
        return lanes<[](const Instruction& in, uint64_t a) {
            uint64_t base = window_of(in.space);
            return a >= base ? a - base : a;
        }>(op);
    return lanes<[](const Instruction& in, uint64_t a) { return a < WINDOW ? a + window_of(in.space) : a; }>(
        op);
}

/// Counters that only ever grow; they measure nothing.
void read_clock(Warp& w, const Instruction& in) {
    static uint64_t ticks = 0;
    ticks += 10;
    for_lanes(w.mask, [&](int l) {
        if (size_of(in.type) == 8)
            w.at<uint64_t>(in.list[0])[l] = ticks;
        else
            w.at<uint32_t>(in.list[0])[l] = static_cast<uint32_t>(ticks);
    });
}
}  // namespace

std::vector<OpcodeEntry> convert_opcodes() {
    return {
        {"mov", "dt", select_mov},          {"cvt", "vy", select_cvt},          {"cvta", "dt", select_cvta},
        {"isspacep", "Pl", just<isspacep>}, {"%clock", "v.", just<read_clock>},
    };
}
}  // namespace ladder
