// Integer and logic instructions.
#include <algorithm>
#include <bit>
#include <limits>

#include "opcode_templates.h"

namespace ladder {
namespace {

template <class T>
using Wide = std::conditional_t<
    sizeof(T) == 2, std::conditional_t<std::is_signed_v<T>, int32_t, uint32_t>,
    std::conditional_t<sizeof(T) == 4, std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>,
                       std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>>>;

template <class T>
T high_product(T a, T b) {
    return static_cast<T>((static_cast<Wide<T>>(a) * static_cast<Wide<T>>(b)) >> (8 * sizeof(T)));
}
template <class T>
T wrapped_add(T a, T b) {
    return static_cast<T>(static_cast<Wrapping<T>>(a) + static_cast<Wrapping<T>>(b));
}
template <class T>
T wrapped_product(T a, T b) {
    return static_cast<T>(static_cast<Wrapping<T>>(a) * static_cast<Wrapping<T>>(b));
}

template <class T>
T saturated(__int128 v) {
    using Limits = std::numeric_limits<T>;
    return static_cast<T>(std::clamp<__int128>(v, Limits::min(), Limits::max()));
}

Handler select_add(Opcode& op) {
    if (op.in.saturate)
        return for_integer(op.in.type, [](auto v) -> Handler {
            using T = decltype(v);
            auto f = [](T a, T b) { return saturated<T>(static_cast<__int128>(a) + b); };
            return binary<T, T, T, decltype(f)>;
        });
    return integer_binary(op.in.type, [](auto a, auto b) { return wrapped_add(a, b); });
}
Handler select_sub(Opcode& op) {
    if (op.in.saturate)
        return for_integer(op.in.type, [](auto v) -> Handler {
            using T = decltype(v);
            auto f = [](T a, T b) { return saturated<T>(static_cast<__int128>(a) - b); };
            return binary<T, T, T, decltype(f)>;
        });
    return integer_binary(op.in.type, [](auto a, auto b) {
        using T = decltype(a);
        return static_cast<T>(static_cast<Wrapping<T>>(a) - static_cast<Wrapping<T>>(b));
    });
}

Handler select_mul(Opcode& op) {
    if (op.has("wide")) {
        op.operands = "Dtt";
        return for_integer(op.in.type, [](auto v) -> Handler {
            using T = decltype(v);
            if constexpr (sizeof(T) < 8) {
                auto f = [](T a, T b) { return wrapped_product<Wide<T>>(a, b); };
                return binary<Wide<T>, T, T, decltype(f)>;
            }
            return nullptr;
        });
    }
    if (op.has("hi")) return integer_binary(op.in.type, [](auto a, auto b) { return high_product(a, b); });
    return integer_binary(op.in.type, [](auto a, auto b) { return wrapped_product(a, b); });
}

Handler select_mad(Opcode& op) {
    if (op.has("wide")) {
        op.operands = "Dttw";
        return for_integer(op.in.type, [](auto v) -> Handler {
            using T = decltype(v);
            using W = Wide<T>;
            if constexpr (sizeof(T) < 8) {
                auto f = [](T a, T b, W c) { return wrapped_add<W>(wrapped_product<W>(a, b), c); };
                return ternary<W, T, T, W, decltype(f)>;
            }
            return nullptr;
        });
    }
    bool high = op.has("hi");
    return for_integer(op.in.type, [high](auto v) -> Handler {
        using T = decltype(v);
        auto hi = [](T a, T b, T c) { return wrapped_add(high_product(a, b), c); };
        auto lo = [](T a, T b, T c) { return wrapped_add(wrapped_product(a, b), c); };
        return high ? ternary<T, T, T, T, decltype(hi)> : ternary<T, T, T, T, decltype(lo)>;
    });
}

// 24-bit products, which nvcc no longer writes but inline PTX may.
Handler select_mul24(Opcode& op) {
    if (!op.has("lo")) return nullptr;
    return for_integer(op.in.type, [](auto v) -> Handler {
        using T = decltype(v);
        auto f = [](T a, T b) {
            auto cut = [](T x) {
                return static_cast<T>(static_cast<T>(static_cast<Wrapping<T>>(x) << 8) >> 8);
            };
            return wrapped_product(cut(a), cut(b));
        };
        if constexpr (sizeof(T) == 4) return binary<T, T, T, decltype(f)>;
        return nullptr;
    });
}

// Division by zero gives all ones, and the most negative number divided by -1 itself, as on the chip.
Handler select_div(Opcode& op) {
    return integer_binary(op.in.type, [](auto a, auto b) {
        using T = decltype(a);
        if (b == 0) return static_cast<T>(-1);
        if (std::is_signed_v<T> && b == static_cast<T>(-1))
            return static_cast<T>(0 - static_cast<Wrapping<T>>(a));
        return static_cast<T>(a / b);
    });
}
Handler select_rem(Opcode& op) {
    return integer_binary(op.in.type, [](auto a, auto b) {
        using T = decltype(a);
        if (b == 0) return a;
        return std::is_signed_v<T> && b == static_cast<T>(-1) ? T{0} : static_cast<T>(a % b);
    });
}

template <int Step, bool Subtract, class T>
void carry_sum(Warp& w, const Instruction& in) {
    const T *a = w.at<T>(in.source[0]), *b = w.at<T>(in.source[1]);
    T t[kLanes];
    Mask carry = 0;
    for (int l = 0; l < kLanes; ++l) {
        unsigned __int128 x = a[l], y = b[l], c = (Step & 1) ? w.carry >> l & 1 : 0;
        unsigned __int128 sum = Subtract ? x - y - c : x + y + c;
        t[l] = static_cast<T>(sum);
        carry |= static_cast<Mask>(sum >> (8 * sizeof(T)) & 1) << l;
    }
    put(w, in.destination, t);
    if (Step & 2) w.carry = (w.carry & ~w.mask) | (carry & w.mask);
}
template <class T>
void carry_product(Warp& w, const Instruction& in) {
    const T *a = w.at<T>(in.source[0]), *b = w.at<T>(in.source[1]), *c = w.at<T>(in.source[2]);
    bool high = in.code & 4, takes = in.code & 1;
    T t[kLanes];
    Mask carry = 0;
    for (int l = 0; l < kLanes; ++l) {
        unsigned __int128 product = static_cast<unsigned __int128>(a[l]) * b[l];
        unsigned __int128 sum = static_cast<T>(high ? product >> (8 * sizeof(T)) : product);
        sum += static_cast<unsigned __int128>(c[l]) + (takes ? w.carry >> l & 1 : 0);
        t[l] = static_cast<T>(sum);
        carry |= static_cast<Mask>(sum >> (8 * sizeof(T)) & 1) << l;
    }
    put(w, in.destination, t);
    if (in.code & 2) w.carry = (w.carry & ~w.mask) | (carry & w.mask);
}

/// add.cc, addc, addc.cc and the same of sub: bit 0 takes the carry, bit 1 sets it.
template <bool Subtract>
Handler select_carry_sum(Opcode& op) {
    bool takes = op.parts[0].back() == 'c', sets = op.has("cc"), wide = size_of(op.in.type) == 8;
    if (is_signed(op.in.type) && size_of(op.in.type) < 4) return nullptr;
    if (takes && sets) return wide ? carry_sum<3, Subtract, uint64_t> : carry_sum<3, Subtract, uint32_t>;
    if (takes) return wide ? carry_sum<1, Subtract, uint64_t> : carry_sum<1, Subtract, uint32_t>;
    return wide ? carry_sum<2, Subtract, uint64_t> : carry_sum<2, Subtract, uint32_t>;
}
Handler select_carry_product(Opcode& op) {
    bool takes = op.parts[0] == "madc";
    op.in.code = static_cast<uint8_t>((takes ? 1 : 0) | (op.has("cc") ? 2 : 0) | (op.has("hi") ? 4 : 0));
    if (op.has("hi") && is_signed(op.in.type)) return nullptr;
    return size_of(op.in.type) == 8 ? carry_product<uint64_t> : carry_product<uint32_t>;
}

template <class F>
void predicate_logic(Warp& w, const Instruction& in) {
    Mask b = in.source[1] < 0 ? 0 : w.predicate(in.source[1]);
    put_predicate(w, in.destination, F()(w.predicate(in.source[0]), b));
}
template <class F>
Handler logic(Opcode& op, F f) {
    if (op.in.type == Type::Predicate) return predicate_logic<F>;
    return integer_binary(op.in.type, f);
}
Handler select_not(Opcode& op) {
    auto f = [](Mask a, Mask) { return ~a; };
    if (op.in.type == Type::Predicate) return predicate_logic<decltype(f)>;
    return integer_unary(op.in.type, [](auto a) { return static_cast<decltype(a)>(~a); });
}

Handler select_shl(Opcode& op) {
    return for_integer(op.in.type, [](auto v) -> Handler {
        using T = decltype(v);
        auto f = [](T a, uint32_t n) {
            return n >= 8 * sizeof(T) ? T{0} : static_cast<T>(static_cast<Wrapping<T>>(a) << n);
        };
        return binary<T, T, uint32_t, decltype(f)>;
    });
}
Handler select_shr(Opcode& op) {
    return for_integer(op.in.type, [](auto v) -> Handler {
        using T = decltype(v);
        auto f = [](T a, uint32_t n) {
            constexpr uint32_t bits = 8 * sizeof(T);
            if (n < bits) return static_cast<T>(a >> n);
            return std::is_signed_v<T> ? static_cast<T>(a >> (bits - 1)) : T{0};
        };
        return binary<T, T, uint32_t, decltype(f)>;
    });
}
Handler select_shf(Opcode& op) {
    op.in.code = static_cast<uint8_t>((op.has("l") ? 1 : 0) | (op.has("wrap") ? 2 : 0));
    return [](Warp& w, const Instruction& in) {
        const uint32_t *a = w.at<uint32_t>(in.source[0]), *b = w.at<uint32_t>(in.source[1]);
        const uint32_t* c = w.at<uint32_t>(in.source[2]);
        uint32_t t[kLanes];
        for (int l = 0; l < kLanes; ++l) {
            uint64_t both = static_cast<uint64_t>(b[l]) << 32 | a[l];
            uint32_t n = in.code & 2 ? c[l] & 31 : std::min(c[l], 32u);
            t[l] = static_cast<uint32_t>(in.code & 1 ? both << n >> 32 : both >> n);
        }
        put(w, in.destination, t);
    };
}

template <class F>
Handler count_bits(Opcode& op, F) {
    if (size_of(op.in.type) == 8) return unary<uint32_t, uint64_t, F>;
    return size_of(op.in.type) == 4 ? unary<uint32_t, uint32_t, F> : nullptr;
}
Handler select_brev(Opcode& op) {
    return integer_unary(op.in.type, [](auto a) {
        using T = decltype(a);
        std::make_unsigned_t<T> from = static_cast<std::make_unsigned_t<T>>(a), to = 0;
        for (size_t k = 0; k < 8 * sizeof(T); ++k) to = static_cast<decltype(to)>(to << 1 | (from >> k & 1));
        return static_cast<T>(to);
    });
}
Handler select_bfind(Opcode& op) {
    op.in.code = op.has("shiftamt");
    return for_integer(op.in.type, [](auto v) -> Handler {
        using T = decltype(v);
        return [](Warp& w, const Instruction& in) {
            const T* a = w.at<T>(in.source[0]);
            uint32_t t[kLanes];
            for (int l = 0; l < kLanes; ++l) {
                auto x = static_cast<std::make_unsigned_t<T>>(a[l] < 0 ? ~a[l] : a[l]);
                int bits = 8 * sizeof(T), at = bits - 1 - std::countl_zero(x);
                t[l] = static_cast<uint32_t>(at < 0 ? -1 : in.code ? bits - 1 - at : at);
            }
            put(w, in.destination, t);
        };
    });
}
Handler select_bfe(Opcode& op) {
    return for_integer(op.in.type, [](auto v) -> Handler {
        using T = decltype(v);
        auto f = [](T a, uint32_t from, uint32_t length) {
            constexpr uint32_t bits = 8 * sizeof(T);
            from &= 255;
            length &= 255;
            if (length == 0) return T{0};
            if (from >= bits) return static_cast<T>(a < 0 ? -1 : 0);
            length = std::min(length, bits - from);
            T up = static_cast<T>(static_cast<Wrapping<T>>(a) << (bits - from - length));
            return static_cast<T>(up >> (bits - length));
        };
        return ternary<T, T, uint32_t, uint32_t, decltype(f)>;
    });
}
Handler select_bfi(Opcode& op) {
    return for_integer(op.in.type, [](auto v) -> Handler {
        using T = std::make_unsigned_t<decltype(v)>;
        return [](Warp& w, const Instruction& in) {
            const T *a = w.at<T>(in.source[0]), *b = w.at<T>(in.source[1]);
            const uint32_t *c = w.at<uint32_t>(in.source[2]), *d = w.at<uint32_t>(in.source[3]);
            constexpr uint32_t bits = 8 * sizeof(T);
            T t[kLanes];
            for (int l = 0; l < kLanes; ++l) {
                uint32_t from = c[l] & 255, length = d[l] & 255;
                uint64_t ones = length >= 64 ? ~uint64_t{0} : (uint64_t{1} << length) - 1;
                T field = from >= bits ? T{0} : static_cast<T>(ones << from);
                T value = from >= bits ? T{0} : static_cast<T>(static_cast<uint64_t>(a[l]) << from);
                t[l] = static_cast<T>((b[l] & ~field) | (value & field));
            }
            put(w, in.destination, t);
        };
    });
}
Handler select_bmsk(Opcode& op) {
    bool wrap = op.has("wrap");
    auto clamp = [](uint32_t from, uint32_t n) {
        return from >= 32 ? 0u : static_cast<uint32_t>(((uint64_t{1} << std::min(n, 32u)) - 1) << from);
    };
    auto wraps = [](uint32_t from, uint32_t n) {
        return static_cast<uint32_t>(((uint64_t{1} << (n & 31)) - 1) << (from & 31));
    };
    if (wrap) return binary<uint32_t, uint32_t, uint32_t, decltype(wraps)>;
    return binary<uint32_t, uint32_t, uint32_t, decltype(clamp)>;
}

Handler select_prmt(Opcode& op) {
    static const char* modes[] = {"f4e", "b4e", "rc8", "ecl", "ecr", "rc16"};
    if (std::any_of(std::begin(modes), std::end(modes), [&](auto m) { return op.has(m); })) return nullptr;
    auto f = [](uint32_t a, uint32_t b, uint32_t pick) {
        uint64_t both = static_cast<uint64_t>(b) << 32 | a;
        uint32_t result = 0;
        for (int k = 0; k < 4; ++k) {
            uint32_t choice = pick >> 4 * k & 15, byte = both >> 8 * (choice & 7) & 255;
            if (choice & 8) byte = byte & 128 ? 255 : 0;
            result |= byte << 8 * k;
        }
        return result;
    };
    return ternary<uint32_t, uint32_t, uint32_t, uint32_t, decltype(f)>;
}
Handler select_lop3(Opcode& op) {
    if (op.has("and") || op.has("or")) return nullptr;
    return [](Warp& w, const Instruction& in) {
        const uint32_t *a = w.at<uint32_t>(in.source[0]), *b = w.at<uint32_t>(in.source[1]);
        const uint32_t* c = w.at<uint32_t>(in.source[2]);
        uint32_t table = w.at<uint32_t>(in.source[3])[0], t[kLanes] = {};
        for (uint32_t k = 0; k < 8; ++k) {
            if (!(table >> k & 1)) continue;
            for (int l = 0; l < kLanes; ++l)
                t[l] |= (k & 4 ? a[l] : ~a[l]) & (k & 2 ? b[l] : ~b[l]) & (k & 1 ? c[l] : ~c[l]);
        }
        put(w, in.destination, t);
    };
}
/// The n-th set bit of a mask from a start lane, upwards or downwards.
uint32_t find_nth_set(uint32_t mask, uint32_t base, int32_t n) {
    if (n == 0) return mask >> (base & 31) & 1 ? base & 31 : ~0u;
    int step = n > 0 ? 1 : -1, left = n > 0 ? n : -n;
    for (int at = static_cast<int>(base & 31); at >= 0 && at < 32; at += step)
        if ((mask >> at & 1) && --left == 0) return static_cast<uint32_t>(at);
    return ~0u;
}
Handler select_sad(Opcode& op) {
    return for_integer(op.in.type, [](auto v) -> Handler {
        using T = decltype(v);
        auto f = [](T a, T b, T c) {
            auto x = static_cast<Wrapping<T>>(a), y = static_cast<Wrapping<T>>(b);
            return wrapped_add(c, static_cast<T>(a > b ? x - y : y - x));
        };
        return ternary<T, T, T, T, decltype(f)>;
    });
}
Handler select_dp4a(Opcode& op) {
    bool a_signed = op.in.type == Type::S32, b_signed = op.in.type2 == Type::S32;
    op.in.code = static_cast<uint8_t>((a_signed ? 1 : 0) | (b_signed ? 2 : 0));
    return [](Warp& w, const Instruction& in) {
        const uint32_t *a = w.at<uint32_t>(in.source[0]), *b = w.at<uint32_t>(in.source[1]);
        const uint32_t* c = w.at<uint32_t>(in.source[2]);
        auto part = [](uint32_t x, int k, bool sign) {
            return sign ? static_cast<int8_t>(x >> 8 * k) : static_cast<int>(x >> 8 * k & 255);
        };
        uint32_t t[kLanes];
        for (int l = 0; l < kLanes; ++l) {
            t[l] = c[l];
            for (int k = 0; k < 4; ++k)
                t[l] += static_cast<uint32_t>(part(a[l], k, in.code & 1) * part(b[l], k, in.code & 2));
        }
        put(w, in.destination, t);
    };
}

}  // namespace

Handler select_integer_add(Opcode& op) {
    return op.has("cc") ? select_carry_sum<false>(op) : select_add(op);
}
Handler select_integer_sub(Opcode& op) {
    return op.has("cc") ? select_carry_sum<true>(op) : select_sub(op);
}
Handler select_integer_mul(Opcode& op) {
    return select_mul(op);
}
Handler select_integer_mad(Opcode& op) {
    return op.has("cc") ? select_carry_product(op) : select_mad(op);
}
Handler select_integer_div(Opcode& op) {
    return select_div(op);
}
Handler select_integer_min(Opcode& op) {
    return integer_binary(op.in.type, [](auto a, auto b) { return std::min(a, b); });
}
Handler select_integer_max(Opcode& op) {
    return integer_binary(op.in.type, [](auto a, auto b) { return std::max(a, b); });
}
Handler select_integer_neg(Opcode& op) {
    return integer_unary(op.in.type, [](auto a) {
        return static_cast<decltype(a)>(0 - static_cast<Wrapping<decltype(a)>>(a));
    });
}
Handler select_integer_abs(Opcode& op) {
    return integer_unary(op.in.type, [](auto a) {
        return a < 0 ? static_cast<decltype(a)>(0 - static_cast<Wrapping<decltype(a)>>(a)) : a;
    });
}

std::vector<OpcodeEntry> integer_opcodes() {
    return {
        {"addc", "dtt", select_carry_sum<false>},
        {"subc", "dtt", select_carry_sum<true>},
        {"madc", "dttt", select_carry_product},
        {"mul24", "dtt", select_mul24},
        {"rem", "dtt", select_rem},
        {"and", "dtt",
         [](Opcode& op) {
             return logic(op, [](auto a, auto b) { return static_cast<decltype(a)>(a & b); });
         }},
        {"or", "dtt",
         [](Opcode& op) {
             return logic(op, [](auto a, auto b) { return static_cast<decltype(a)>(a | b); });
         }},
        {"xor", "dtt",
         [](Opcode& op) {
             return logic(op, [](auto a, auto b) { return static_cast<decltype(a)>(a ^ b); });
         }},
        {"not", "dt", select_not},
        {"cnot", "dt",
         [](Opcode& op) {
             return integer_unary(op.in.type, [](auto a) { return static_cast<decltype(a)>(a == 0); });
         }},
        {"shl", "dtu", select_shl},
        {"shr", "dtu", select_shr},
        {"shf", "dttu", select_shf},
        {"popc", "Ut",
         [](Opcode& op) {
             return count_bits(op, [](auto a) { return static_cast<uint32_t>(std::popcount(a)); });
         }},
        {"clz", "Ut",
         [](Opcode& op) {
             return count_bits(op, [](auto a) { return static_cast<uint32_t>(std::countl_zero(a)); });
         }},
        {"brev", "dt", select_brev},
        {"bfind", "Ut", select_bfind},
        {"bfe", "dtuu", select_bfe},
        {"bfi", "dttuu", select_bfi},
        {"bmsk", "dtt", select_bmsk},
        {"prmt", "dttt", select_prmt},
        {"lop3", "dtttu", select_lop3},
        {"fns", "dttu",
         [](Opcode&) -> Handler {
             return ternary<uint32_t, uint32_t, uint32_t, int32_t,
                            decltype(
                                [](uint32_t m, uint32_t b, int32_t n) { return find_nth_set(m, b, n); })>;
         }},
        {"sad", "dttt", select_sad},
        {"dp4a", "Utsu", select_dp4a},
    };
}

}  // namespace ladder
