#include "machine/undefined.hpp"

#include <algorithm>

#include "machine/machine.hpp"

namespace ladder {
namespace {
Undefined* find(const Warp& w, int offset) {
    auto& all = w.frame->undefined;
    auto it = std::find_if(all.begin(), all.end(), [&](const Undefined& u) { return u.offset == offset; });
    return it == all.end() ? nullptr : &*it;
}

/// Reports the use of a register in those of `lanes` in which it is undefined.
void use(Warp& w, const Instruction& in, int offset, Mask lanes, const char* how) {
    Undefined* u = offset < 0 ? nullptr : find(w, offset);
    lanes &= u ? u->lanes : 0;
    if (!lanes) return;
    const bool shuffled = u->by->text.starts_with("shfl");
    report(w, in, std::countr_zero(lanes),
           {"undefined value", say("The thread ", how, " a value that the ", shuffled ? "shuffle" : "load",
                                   " at ", source_place(*u->by),
                                   shuffled ? " took from a lane that does not take part."
                                            : " took from a local variable before it was written.")},
           std::popcount(lanes));
    u->lanes &= ~lanes;  // once is enough
}

/// What an instruction's operands make undefined, and by which instruction.
struct Source {
    Mask lanes = 0;
    const Instruction* by = nullptr;
    void add(const Warp& w, int offset, Mask which = ~0u) {
        Undefined* u = offset < 0 ? nullptr : find(w, offset);
        if (!u || !(u->lanes & which)) return;
        lanes |= u->lanes & which;
        by = u->by;
    }
};
}  // namespace

Mask undefined_lanes(const Warp& w, int offset) {
    const Undefined* u = find(w, offset);
    return u ? u->lanes : 0;
}

void set_undefined(Warp& w, int offset, Mask lanes, const Instruction& by) {
    if (offset < 0) return;
    lanes &= w.mask;
    if (Undefined* u = find(w, offset)) {
        u->lanes = (u->lanes & ~w.mask) | lanes;
        if (lanes) u->by = &by;
        if (!u->lanes) w.frame->undefined.erase(w.frame->undefined.begin() + (u - w.frame->undefined.data()));
    } else if (lanes) {
        w.frame->undefined.push_back({offset, lanes, &by});
        w.any_undefined = true;
    }
}

void follow_undefined(Warp& w, const Instruction& in) {
    if (w.frame->undefined.empty()) {
        if (w.frames.size() == 1) w.any_undefined = false;
        return;
    }
    Source made;
    if (in.guard >= 0) {
        if (in.control || in.flow == Flow::Store || in.flow == Flow::Atomic)
            use(w, in, in.guard, w.path, "branches on");
        else
            made.add(w, in.guard, w.path);
    }
    for (const Address& a : in.address) use(w, in, a.base, w.mask, "uses as an address");
    auto define = [&](int offset) {
        if (offset >= 0) set_undefined(w, offset, made.lanes, made.by ? *made.by : in);
    };
    switch (in.flow) {
        case Flow::Store:
        case Flow::Exchange:
            return;
        case Flow::Atomic: {
            bool compares =
                in.text.find(".cas") != std::string::npos;  // of three lists, the first is the result
            size_t results = in.source_bytes ? in.list.size() / (compares ? 3 : 2) : 0;
            for (size_t k = 0; k < in.list.size(); ++k)
                if (k >= results) use(w, in, in.list[k], w.mask, "uses in an atomic operation");
            for (size_t k = 0; k < results; ++k) define(in.list[k]);
            return;
        }
        case Flow::Select: {
            Mask chosen = source_predicate(w, in, 2);
            made.add(w, in.source[0], chosen);
            made.add(w, in.source[1], ~chosen);
            made.add(w, in.source[2]);
            return define(in.destination);
        }
        case Flow::Value: {
            for (int offset : in.source) made.add(w, offset);
            bool gathers = in.destination >= 0;  // mov d, {a, b}; otherwise the list is what is made
            for (int offset : in.list)
                if (gathers) made.add(w, offset);
            for (int offset : in.list)
                if (!gathers) define(offset);
            define(in.destination);
            return define(in.destination2);
        }
        case Flow::Load:
        case Flow::Other:
            for (int offset : in.list) define(offset);
            for (int offset : in.results) define(offset);
            define(in.destination);
            define(in.destination2);
    }
}

void follow_exchange(Warp& w, const Instruction& in) {
    if (!w.any_undefined) return;
    Source made;
    made.add(w, in.source[0], w.mask);
    for (int offset : {in.destination, in.destination2})
        set_undefined(w, offset, made.lanes ? w.mask : 0, made.by ? *made.by : in);
}

Mask store_undefined(Warp& w, const Instruction& in, int offset, bool seen_by_others) {
    Mask lanes = undefined_lanes(w, offset) & w.mask;
    if (lanes && seen_by_others) use(w, in, offset, lanes, "stores");
    return lanes;
}
}  // namespace ladder
