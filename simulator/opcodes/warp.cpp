// Shuffles, votes and the other exchanges between the lanes of a warp.
#include <algorithm>

#include "machine/undefined.hpp"
#include "opcodes/templates.hpp"

namespace ladder {
void together(Warp& w, const Instruction& in, int mask_operand, Handler f) {
    const uint32_t* named = w.at<uint32_t>(mask_operand);
    Mask everyone = w.mask, left = everyone, complete = 0;
    auto group_of = [&](Mask lanes) {
        uint32_t name = named[std::countr_zero(lanes)];
        Mask group = 0;
        for_lanes(lanes, [&](int l) { group |= static_cast<Mask>(named[l] == name) << l; });
        return group;
    };
    Mask first = group_of(everyone);
    if (first != everyone) {
        for (; left; left &= ~group_of(left))
            if (Mask g = group_of(left); (named[std::countr_zero(g)] & w.alive) == g) complete |= g;
        if (complete == everyone) {
            for (left = everyone; left;) {
                w.mask = group_of(left);
                left &= ~w.mask;
                f(w, in);
            }
            w.mask = everyone;
            return w.advance();
        }
        // Some lanes have to wait for others: from here each group goes its own way.
        if (Mask rest = w.path & ~everyone) w.paths.push_back({w.pc + 1, rest, w.join, w.frame});
        for (left = everyone & ~first; left;) {
            Mask g = group_of(left);
            left &= ~g;
            w.paths.push_back({w.pc, g, w.join, w.frame});
        }
        w.path = w.mask = first;
    }
    if (!w.gather(in, named[std::countr_zero(first)])) return;
    f(w, in);
    w.advance();
}

namespace {
template <char Mode>
void shuffle(Warp& w, const Instruction& in) {
    const uint32_t *a = w.at<uint32_t>(in.source[0]), *b = w.at<uint32_t>(in.source[1]),
                   *c = w.at<uint32_t>(in.source[2]);
    uint32_t t[LANES];
    Mask valid = 0, undefined = 0, before = undefined_lanes(w, in.source[0]);
    for (int l = 0; l < LANES; ++l) {
        int segment = c[l] >> 8 & 31, clamp = c[l] & 31, offset = b[l] & 31;
        int low = l & segment, bound = low | (clamp & ~segment), from;
        bool inside;
        if (Mode == 'u') {
            from = l - offset;
            inside = from >= bound;
        } else {
            from = Mode == 'd' ? l + offset : Mode == 'b' ? l ^ offset : low | (offset & ~segment);
            inside = from <= bound;
        }
        if (Mode == 'i' && (w.mask >> l & 1) && !(w.mask >> from & 1))
            report(w, in, l,
                   {"wrong mask",
                    say("The thread takes its value from lane ", from, ", which does not take part.")});
        t[l] = a[inside ? from : l];
        bool absent = inside && !(w.mask >> from & 1);
        undefined |= static_cast<Mask>(absent || (before >> (inside ? from : l) & 1)) << l;
        valid |= static_cast<Mask>(inside) << l;
    }
    put(w, in.destination, t);
    if (in.destination2 >= 0) put_predicate(w, in.destination2, valid);
    set_undefined(w, in.destination, undefined, in);
    set_undefined(w, in.destination2, 0, in);
}

void put_everywhere(Warp& w, int offset, uint32_t value) {
    for_lanes(w.mask, [&](int l) { w.at<uint32_t>(offset)[l] = value; });
}

void vote(Warp& w, const Instruction& in) {
    Mask p = source_predicate(w, in, 0) & w.mask;
    if (in.code == 'b') return put_everywhere(w, in.destination, p);
    bool yes = in.code == 'a' ? p == w.mask : in.code == 'o' ? p != 0 : p == 0 || p == w.mask;
    put_predicate(w, in.destination, yes ? ~0u : 0);
}

template <class T>
void match(Warp& w, const Instruction& in) {
    const T* a = w.at<T>(in.source[0]);
    uint32_t t[LANES];
    Mask all = 0;
    for_lanes(w.mask, [&](int l) {
        t[l] = 0;
        for_lanes(w.mask, [&](int k) { t[l] |= static_cast<uint32_t>(a[k] == a[l]) << k; });
        if (t[l] == w.mask) all |= 1u << l;
        if (in.code && t[l] != w.mask) t[l] = 0;
    });
    for_lanes(w.mask, [&](int l) { w.at<uint32_t>(in.destination)[l] = t[l]; });
    if (in.destination2 >= 0) put_predicate(w, in.destination2, all);
}

template <class T>
void redux(Warp& w, const Instruction& in) {
    const T* a = w.at<T>(in.source[0]);
    T v = a[w.first()];
    for_lanes(w.mask & (w.mask - 1), [&](int l) {
        switch (in.code) {
            case '+':
                v = static_cast<uint32_t>(v) + static_cast<uint32_t>(a[l]);
                break;
            case '<':
                v = std::min(v, a[l]);
                break;
            case '>':
                v = std::max(v, a[l]);
                break;
            case '&':
                v &= a[l];
                break;
            case '|':
                v |= a[l];
                break;
            default:
                v ^= a[l];
        }
    });
    put_everywhere(w, in.destination, v);
}

void elect(Warp& w, const Instruction& in) {
    put_everywhere(w, in.destination, w.first());
    if (in.destination2 >= 0) put_predicate(w, in.destination2, 1u << w.first());
}

/// An exchange whose result is undefined as soon as one lane's value is.
template <Handler F>
void mixing(Warp& w, const Instruction& in) {
    F(w, in);
    follow_exchange(w, in);
}

/// The handler of a .sync instruction whose operand `MaskOperand` names the lanes that take part.
template <Handler F, int MaskOperand>
Handler exchange(Opcode& op) {
    op.in.control = true;
    if (!op.has("sync")) return nullptr;
    return [](Warp& w, const Instruction& in) { together(w, in, in.source[MaskOperand], F); };
}
Handler select_shfl(Opcode& op) {
    if (op.has("up")) return exchange<shuffle<'u'>, 3>(op);
    if (op.has("down")) return exchange<shuffle<'d'>, 3>(op);
    return op.has("bfly") ? exchange<shuffle<'b'>, 3>(op) : exchange<shuffle<'i'>, 3>(op);
}
Handler select_vote(Opcode& op) {
    op.in.code = op.has("ballot") ? 'b' : op.has("all") ? 'a' : op.has("any") ? 'o' : 'u';
    if (op.in.code == 'b') op.operands = "Upu";
    return exchange<mixing<vote>, 1>(op);
}
Handler select_match(Opcode& op) {
    op.in.code = op.has("all");
    return size_of(op.in.type) == 8 ? exchange<mixing<match<uint64_t>>, 1>(op)
                                    : exchange<mixing<match<uint32_t>>, 1>(op);
}
Handler select_redux(Opcode& op) {
    if (is_float(op.in.type)) return nullptr;
    const std::pair<const char*, char> kinds[] = {
        {"add", '+'}, {"min", '<'}, {"max", '>'}, {"and", '&'}, {"or", '|'}};
    for (auto [name, code] : kinds)
        if (op.has(name)) op.in.code = code;
    return is_signed(op.in.type) ? exchange<mixing<redux<int32_t>>, 1>(op)
                                 : exchange<mixing<redux<uint32_t>>, 1>(op);
}
void activemask(Warp& w, const Instruction& in) {
    put_everywhere(w, in.destination, w.mask);
}
}  // namespace

std::vector<OpcodeEntry> warp_opcodes() {
    return {
        {"shfl", "dtuuu", select_shfl},
        {"vote", "Ppu", select_vote},
        {"match", "Utu", select_match},
        {"redux", "dtu", select_redux},
        {"elect", "Uu", exchange<mixing<elect>, 0>},
        {"activemask", "d", just<activemask>},
    };
}
}  // namespace ladder
