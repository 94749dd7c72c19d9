// Comparisons and selections: setp, set, selp, slct.
#include "opcodes/templates.hpp"

namespace ladder {
namespace {
// Every comparison is one of these, perhaps with its sides exchanged, perhaps negated: the names that end in
// u are true when either side is a NaN, the others are false.
enum Relation : uint8_t { Less, LessEqual, Equal, Different, Number };
struct Comparison {
    const char* name;
    Relation relation;
    bool exchanged, negated;
};
const Comparison COMPARISONS[] = {
    {"eq", Equal, false, false},     {"ne", Different, false, false}, {"lt", Less, false, false},
    {"le", LessEqual, false, false}, {"gt", Less, true, false},       {"ge", LessEqual, true, false},
    {"lo", Less, false, false},      {"ls", LessEqual, false, false}, {"hi", Less, true, false},
    {"hs", LessEqual, true, false},  {"equ", Different, false, true}, {"neu", Equal, false, true},
    {"ltu", LessEqual, true, true},  {"leu", Less, true, true},       {"gtu", LessEqual, false, true},
    {"geu", Less, false, true},      {"num", Number, false, false},   {"nan", Number, false, true}};

/// Which lanes the comparison of two operands holds for; `part` chooses the elements of a pair.
template <class T, class Part>
Mask compare(Warp& w, const Instruction& in, Part part) {
    const Comparison& c = COMPARISONS[in.relation];
    const T *a = w.at<T>(in.source[c.exchanged]), *b = w.at<T>(in.source[!c.exchanged]);
    auto holds = [&](auto f) {
        Mask m = 0;
        for (int l = 0; l < LANES; ++l)
            m |= static_cast<Mask>(f(value_of(part(a[l])), value_of(part(b[l])))) << l;
        return c.negated ? ~m : m;
    };
    switch (c.relation) {
        case Less:
            return holds([](auto x, auto y) { return x < y; });
        case LessEqual:
            return holds([](auto x, auto y) { return x <= y; });
        case Equal:
            return holds([](auto x, auto y) { return x == y; });
        case Different:
            return holds([](auto x, auto y) { return x < y || x > y; });
        default:
            return holds([](auto x, auto y) { return x == x && y == y; });
    }
}
/// The masks of a comparison: of both elements of a pair, or twice the same.
template <class T>
std::pair<Mask, Mask> compared(Warp& w, const Instruction& in) {
    if constexpr (is_pair<T>) {
        return {compare<T>(w, in, [](T v) { return v.low; }), compare<T>(w, in, [](T v) { return v.high; })};
    } else {
        Mask m = compare<T>(w, in, [](T v) { return v; });
        return {m, m};
    }
}

/// p | q = the comparison and its opposite, each combined with a third predicate where the opcode says so;
/// of pairs, the comparisons of the lower and upper elements.
template <class T>
void setp(Warp& w, const Instruction& in) {
    auto [m, inverse] = compared<T>(w, in);
    if (!is_pair<T>) inverse = ~m;
    if (in.code) {
        Mask p = source_predicate(w, in, 2);
        auto combine = [&](Mask x) { return in.code == 'a' ? x & p : in.code == 'o' ? x | p : x ^ p; };
        m = combine(m);
        inverse = combine(inverse);
    }
    put_predicate(w, in.destination, m);
    if (in.destination2 >= 0) put_predicate(w, in.destination2, inverse);
}
/// set: all ones, or 1.0, where the comparison holds.
template <class D, class T>
void set(Warp& w, const Instruction& in) {
    auto [low, high] = compared<T>(w, in);
    uint32_t one = in.type == Type::F32                               ? 0x3f800000
                   : in.type == Type::F16 || in.type == Type::F16x2   ? 0x3c00
                   : in.type == Type::BF16 || in.type == Type::BF16x2 ? 0x3f80
                   : is_pair<T>                                       ? 0xffff
                                                                      : ~0u;
    D t[LANES];
    for (int l = 0; l < LANES; ++l)
        t[l] = static_cast<D>((low >> l & 1 ? one : 0) | (is_pair<T> && high >> l & 1 ? one << 16 : 0));
    put(w, in.destination, t);
}

bool set_relation(Opcode& op) {
    for (const Comparison& c : COMPARISONS)
        if (op.part(1) == c.name) {
            op.in.relation = static_cast<uint8_t>(&c - COMPARISONS);
            return true;
        }
    return false;
}
Handler select_setp(Opcode& op) {
    op.in.code = op.has("and") ? 'a' : op.has("or") ? 'o' : op.has("xor") ? 'x' : 0;
    if (op.in.code) op.operands = "Pttp";
    bool pair = op.in.type == Type::F16x2 || op.in.type == Type::BF16x2;
    if (!set_relation(op) || (pair && op.in.code)) return nullptr;
    return for_type(op.in.type, []<class T>(T) -> Handler { return setp<T>; });
}
Handler select_set(Opcode& op) {
    int size = size_of(op.in.type);
    if (op.has("and") || op.has("or") || op.has("xor") || size > 4 || !set_relation(op)) return nullptr;
    return for_type(op.in.type2,
                    [&]<class T>(T) -> Handler { return size == 2 ? set<uint16_t, T> : set<uint32_t, T>; });
}

template <class T>
void selp(Warp& w, const Instruction& in) {
    const T *a = w.at<T>(in.source[0]), *b = w.at<T>(in.source[1]);
    Mask p = source_predicate(w, in, 2);
    T t[LANES];
    for (int l = 0; l < LANES; ++l) t[l] = p >> l & 1 ? a[l] : b[l];
    put(w, in.destination, t);
}
}  // namespace

std::vector<OpcodeEntry> compare_opcodes() {
    return {
        {"setp", "Ptt", select_setp},
        {"set", "dss", select_set},
        {"selp", "dttp",
         [](Opcode& op) { return for_bits(op.in.type, []<class T>(T) -> Handler { return selp<T>; }); }},
        {"slct", "dtts",
         [](Opcode& op) {
             if (op.in.type2 == Type::F32)
                 return bits<[]<class T>(T a, T b, float c) { return c >= 0 ? a : b; }>(op);
             return bits<[]<class T>(T a, T b, int32_t c) { return c >= 0 ? a : b; }>(op);
         }},
    };
}
}  // namespace ladder
