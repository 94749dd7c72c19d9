// Integer and logic instructions.
#include <algorithm>
#include <limits>

#include "opcodes/templates.hpp"

namespace ladder {
namespace {
template <class T>
using Wide = std::conditional_t<
    sizeof(T) == 2, std::conditional_t<std::is_signed_v<T>, int32_t, uint32_t>,
    std::conditional_t<sizeof(T) == 4, std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>,
                       std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>>>;
template <class T>
concept Narrow = sizeof(T) < 8;
template <class T>
concept Word = sizeof(T) == 4;
template <class T>
concept Long = sizeof(T) >= 4;

template <class T>
T high_product(T a, T b) {
    return static_cast<T>((static_cast<Wide<T>>(a) * static_cast<Wide<T>>(b)) >> (8 * sizeof(T)));
}
// In unsigned types, which wrap.
template <class T>
T sum(T a, T b) {
    return static_cast<T>(static_cast<Wrapping<T>>(a) + static_cast<Wrapping<T>>(b));
}
template <class T>
T difference(T a, T b) {
    return static_cast<T>(static_cast<Wrapping<T>>(a) - static_cast<Wrapping<T>>(b));
}
template <class T>
T product(T a, T b) {
    return static_cast<T>(static_cast<Wrapping<T>>(a) * static_cast<Wrapping<T>>(b));
}
template <class T>
T shifted_left(T a, uint32_t n) {
    return static_cast<T>(static_cast<Wrapping<T>>(a) << n);
}
template <class T>
T saturated(__int128 v) {
    using Limits = std::numeric_limits<T>;
    return static_cast<T>(std::clamp<__int128>(v, Limits::min(), Limits::max()));
}

// add.cc, addc, addc.cc and the same of sub and mad. in.code: bit 0 takes the carry, 1 sets it, 2 is .hi.
template <class T, class F>
void with_carry(Warp& w, const Instruction& in, F f) {
    T t[LANES];
    Mask carry = 0;
    for (int l = 0; l < LANES; ++l) {
        unsigned __int128 sum = f(l, in.code & 1 ? w.carry >> l & 1 : 0);
        t[l] = static_cast<T>(sum);
        carry |= static_cast<Mask>(sum >> (8 * sizeof(T)) & 1) << l;
    }
    put(w, in.destination, t);
    if (in.code & 2) w.carry = (w.carry & ~w.mask) | (carry & w.mask);
}
template <bool Subtract, class T>
void carry_sum(Warp& w, const Instruction& in) {
    const T *a = w.at<T>(in.source[0]), *b = w.at<T>(in.source[1]);
    with_carry<T>(w, in, [&](int l, unsigned __int128 c) {
        unsigned __int128 x = a[l], y = b[l];
        return Subtract ? x - y - c : x + y + c;
    });
}
template <class T>
void carry_product(Warp& w, const Instruction& in) {
    const T *a = w.at<T>(in.source[0]), *b = w.at<T>(in.source[1]), *c = w.at<T>(in.source[2]);
    with_carry<T>(w, in, [&](int l, unsigned __int128 carry) {
        unsigned __int128 product = static_cast<unsigned __int128>(a[l]) * b[l];
        return static_cast<T>(in.code & 4 ? product >> (8 * sizeof(T)) : product) + carry + c[l];
    });
}
void set_carry_code(Opcode& op) {
    op.in.code = (op.parts[0].back() == 'c') | op.has("cc") << 1 | op.has("hi") << 2;
}
template <bool Subtract>
Handler select_carry_sum(Opcode& op) {
    set_carry_code(op);
    if (size_of(op.in.type) < 4) return nullptr;
    return size_of(op.in.type) == 8 ? carry_sum<Subtract, uint64_t> : carry_sum<Subtract, uint32_t>;
}
Handler select_carry_product(Opcode& op) {
    set_carry_code(op);
    if (op.has("hi") && is_signed(op.in.type)) return nullptr;
    return size_of(op.in.type) == 8 ? carry_product<uint64_t> : carry_product<uint32_t>;
}

/// A lambda for masks: of predicates the lanes' bits, of integers each lane's.
template <auto F>
Handler logic(Opcode& op) {
    if (op.in.type != Type::Predicate) return integers<F>(op);
    return [](Warp& w, const Instruction& in) {
        if constexpr (std::is_invocable_v<decltype(F), Mask>)
            put_predicate(w, in.destination, F(w.predicate(in.source[0])));
        else
            put_predicate(w, in.destination, F(w.predicate(in.source[0]), w.predicate(in.source[1])));
    };
}

uint32_t permute_bytes(uint32_t a, uint32_t b, uint32_t pick) {
    uint64_t both = static_cast<uint64_t>(b) << 32 | a;
    uint32_t result = 0;
    for (int k = 0; k < 4; ++k) {
        uint32_t choice = pick >> 4 * k & 15, byte = both >> 8 * (choice & 7) & 255;
        if (choice & 8) byte = byte & 128 ? 255 : 0;
        result |= byte << 8 * k;
    }
    return result;
}
Handler select_prmt(Opcode& op) {
    for (const char* mode : {"f4e", "b4e", "rc8", "ecl", "ecr", "rc16"})
        if (op.has(mode)) return nullptr;
    return lanes<[](uint32_t a, uint32_t b, uint32_t c) { return permute_bytes(a, b, c); }>(op);
}
void lop3(Warp& w, const Instruction& in) {
    uint32_t table = w.at<uint32_t>(in.source[3])[0], t[LANES] = {};
    const uint32_t *a = w.at<uint32_t>(in.source[0]), *b = w.at<uint32_t>(in.source[1]);
    const uint32_t* c = w.at<uint32_t>(in.source[2]);
    for (uint32_t k = 0; k < 8; ++k) {
        if (!(table >> k & 1)) continue;
        for (int l = 0; l < LANES; ++l)
            t[l] |= (k & 4 ? a[l] : ~a[l]) & (k & 2 ? b[l] : ~b[l]) & (k & 1 ? c[l] : ~c[l]);
    }
    put(w, in.destination, t);
}
/// The n-th set bit of a mask from a start lane, upwards or downwards.
uint32_t find_nth_set(uint32_t mask, uint32_t base, int32_t n) {
    base &= 31;
    if (n == 0) return mask >> base & 1 ? base : ~0u;
    int step = n > 0 ? 1 : -1, left = n > 0 ? n : -n;
    for (int at = base; at >= 0 && at < 32; at += step)
        if ((mask >> at & 1) && --left == 0) return at;
    return ~0u;
}
uint32_t dot_product(const Instruction& in, uint32_t a, uint32_t b, uint32_t sum) {
    auto part = [](uint32_t x, int k, Type t) -> int {
        return t == Type::S32 ? static_cast<int8_t>(x >> 8 * k) : static_cast<uint8_t>(x >> 8 * k);
    };
    for (int k = 0; k < 4; ++k) sum += part(a, k, in.type) * part(b, k, in.type2);
    return sum;
}
template <class T>
T extract_bits(T a, uint32_t from, uint32_t length) {
    constexpr uint32_t bits = 8 * sizeof(T);
    from &= 255;
    length &= 255;
    if (length == 0) return 0;
    if (from >= bits) return a < 0 ? -1 : 0;
    length = std::min(length, bits - from);
    return static_cast<T>(shifted_left(a, bits - from - length) >> (bits - length));
}
template <class T>
T insert_bits(T a, T b, uint32_t from, uint32_t length) {
    from &= 255;
    length &= 255;
    if (from >= 8 * sizeof(T)) return b;
    T field = static_cast<T>((length >= 64 ? ~uint64_t{0} : (uint64_t{1} << length) - 1) << from);
    return (b & ~field) | (shifted_left(a, from) & field);
}
}  // namespace

Handler integer_add(Opcode& op) {
    if (op.has("cc")) return select_carry_sum<false>(op);
    if (op.in.saturate) return integers<[]<class T>(T a, T b) { return saturated<T>(__int128{a} + b); }>(op);
    return integers<[]<class T>(T a, T b) { return sum(a, b); }>(op);
}
Handler integer_sub(Opcode& op) {
    if (op.has("cc")) return select_carry_sum<true>(op);
    if (op.in.saturate) return integers<[]<class T>(T a, T b) { return saturated<T>(__int128{a} - b); }>(op);
    return integers<[]<class T>(T a, T b) { return difference(a, b); }>(op);
}
Handler integer_mul(Opcode& op) {
    if (op.has("wide")) {
        op.operands = "Dtt";
        return integers<[]<Narrow T>(T a, T b) { return product<Wide<T>>(a, b); }>(op);
    }
    if (op.has("hi")) return integers<[]<class T>(T a, T b) { return high_product(a, b); }>(op);
    return integers<[]<class T>(T a, T b) { return product(a, b); }>(op);
}
Handler integer_mad(Opcode& op) {
    if (op.has("cc")) return select_carry_product(op);
    if (op.has("wide")) {
        op.operands = "Dttw";
        return integers<[]<Narrow T>(T a, T b, Wide<T> c) { return sum(product<Wide<T>>(a, b), c); }>(op);
    }
    if (op.has("hi")) return integers<[]<class T>(T a, T b, T c) { return sum(high_product(a, b), c); }>(op);
    return integers<[]<class T>(T a, T b, T c) { return sum(product(a, b), c); }>(op);
}
// Division by zero gives all ones, and the most negative number divided by -1 itself, as on the chip.
Handler integer_div(Opcode& op) {
    return integers<[]<class T>(T a, T b) -> T {
        if (b == 0) return static_cast<T>(-1);
        return std::is_signed_v<T> && b == static_cast<T>(-1) ? difference<T>(0, a) : a / b;
    }>(op);
}
Handler integer_min(Opcode& op) {
    return integers<[]<class T>(T a, T b) { return std::min(a, b); }>(op);
}
Handler integer_max(Opcode& op) {
    return integers<[]<class T>(T a, T b) { return std::max(a, b); }>(op);
}
Handler integer_neg(Opcode& op) {
    return integers<[]<class T>(T a) { return difference<T>(0, a); }>(op);
}
Handler integer_abs(Opcode& op) {
    return integers<[]<class T>(T a) { return a < 0 ? difference<T>(0, a) : a; }>(op);
}

std::vector<OpcodeEntry> integer_opcodes() {
    return {
        {"addc", "dtt", select_carry_sum<false>},
        {"subc", "dtt", select_carry_sum<true>},
        {"madc", "dttt", select_carry_product},
        // 24-bit products, which nvcc no longer writes but inline PTX may.
        {"mul24", "dtt",
         [](Opcode& op) -> Handler {
             if (!op.has("lo")) return nullptr;
             return integers<[]<Word T>(T a, T b) {
                 return product<T>(shifted_left(a, 8) >> 8, shifted_left(b, 8) >> 8);
             }>(op);
         }},
        {"rem", "dtt", integers<[]<class T>(T a, T b) -> T {
             return b == 0 ? a : std::is_signed_v<T> && b == static_cast<T>(-1) ? 0 : a % b;
         }>},
        {"and", "dtt", logic<[]<class T>(T a, T b) -> T { return a & b; }>},
        {"or", "dtt", logic<[]<class T>(T a, T b) -> T { return a | b; }>},
        {"xor", "dtt", logic<[]<class T>(T a, T b) -> T { return a ^ b; }>},
        {"not", "dt", logic<[]<class T>(T a) -> T { return ~a; }>},
        {"cnot", "dt", integers<[]<class T>(T a) -> T { return a == 0; }>},
        {"shl", "dtu",
         integers<[]<class T>(T a, uint32_t n) -> T { return n >= 8 * sizeof(T) ? 0 : shifted_left(a, n); }>},
        {"shr", "dtu", integers<[]<class T>(T a, uint32_t n) -> T {
             constexpr uint32_t bits = 8 * sizeof(T);
             return n < bits ? (a >> n) : std::is_signed_v<T> ? (a >> (bits - 1)) : 0;
         }>},
        {"shf", "dttu",
         [](Opcode& op) {
             op.in.code = op.has("l") | op.has("wrap") << 1;
             return lanes<[](const Instruction& in, uint32_t a, uint32_t b, uint32_t c) -> uint32_t {
                 uint64_t both = static_cast<uint64_t>(b) << 32 | a;
                 uint32_t n = in.code & 2 ? c & 31 : std::min(c, 32u);
                 return in.code & 1 ? (both << n >> 32) : (both >> n);
             }>(op);
         }},
        {"popc", "Ut", bits<[]<Long T>(T a) -> uint32_t { return std::popcount(a); }>},
        {"clz", "Ut", bits<[]<Long T>(T a) -> uint32_t { return std::countl_zero(a); }>},
        {"brev", "dt", bits<[]<class T>(T a) {
             T r = 0;
             for (size_t k = 0; k < 8 * sizeof(T); ++k) r = static_cast<T>(r << 1 | (a >> k & 1));
             return r;
         }>},
        {"bfind", "Ut",
         [](Opcode& op) {
             op.in.code = op.has("shiftamt");
             return integers<[]<class T>(const Instruction& in, T a) -> uint32_t {
                 int above = std::countl_zero(static_cast<std::make_unsigned_t<T>>(a < 0 ? ~a : a));
                 int bits = 8 * sizeof(T);
                 return above == bits ? -1 : in.code ? above : bits - 1 - above;
             }>(op);
         }},
        {"bfe", "dtuu", integers<[]<class T>(T a, uint32_t b, uint32_t c) { return extract_bits(a, b, c); }>},
        {"bfi", "dttuu",
         bits<[]<class T>(T a, T b, uint32_t c, uint32_t d) { return insert_bits(a, b, c, d); }>},
        {"bmsk", "dtt",
         [](Opcode& op) {
             if (op.has("wrap"))
                 return lanes<[](uint32_t from, uint32_t n) -> uint32_t {
                     return ((1u << (n & 31)) - 1) << (from & 31);
                 }>(op);
             return lanes<[](uint32_t from, uint32_t n) -> uint32_t {
                 return from >= 32 ? 0 : ((uint64_t{1} << std::min(n, 32u)) - 1) << from;
             }>(op);
         }},
        {"prmt", "dttt", select_prmt},
        {"lop3", "dtttu",
         [](Opcode& op) -> Handler { return op.has("and") || op.has("or") ? nullptr : lop3; }},
        {"fns", "dttu",
         lanes<[](uint32_t mask, uint32_t base, int32_t n) { return find_nth_set(mask, base, n); }>},
        {"sad", "dttt", integers<[]<class T>(T a, T b, T c) {
             return sum(c, a > b ? difference(a, b) : difference(b, a));
         }>},
        {"dp4a", "Utsu", lanes<[](const Instruction& in, uint32_t a, uint32_t b, uint32_t c) {
             return dot_product(in, a, b, c);
         }>},
    };
}
}  // namespace ladder
