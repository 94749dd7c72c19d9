// Instructions that the lanes of a mask execute together.
#pragma once
#include <bit>

#include "machine.h"

namespace ladder {

/// Runs f once for each set of lanes that name each other in their mask operand, when all of a set are here.
template <class F>
void together(Warp& w, const Instruction& in, int mask_operand, F f) {
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

/// For instructions of the whole warp (.aligned).
template <Handler F>
void whole_warp(Warp& w, const Instruction& in) {
    if (!w.gather(in, w.alive)) return;
    F(w, in);
    w.advance();
}

}  // namespace ladder
