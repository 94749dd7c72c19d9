// Branches, calls, and the functions that the runtime gives to kernels: printf, assert, malloc.
#include <bit>
#include <cstdio>
#include <cstring>

#include "access.h"
#include "opcode_templates.h"
#include "report.h"

namespace ladder {
namespace {

constexpr int kErrorAssert = 710, kErrorLaunchFailure = 719;

void bra(Warp& w, const Instruction& in) {
    if (in.guard >= 0) {
        Tally& t = w.tally();
        ++t.branches;
        t.divergent += w.mask && w.mask != w.path;
    }
    w.branch(w.mask, in.target, in.reconvergence);
}

void brx(Warp& w, const Instruction& in) {
    const uint32_t* index = w.at<uint32_t>(in.source[0]);
    std::map<int, Mask> targets;
    bool outside = false;
    for_lanes(w.mask, [&](int l) {
        outside |= index[l] >= in.table.size();
        if (!outside) targets[in.table[index[l]]] |= 1u << l;
    });
    if (outside) {
        report(w, in, std::countr_zero(w.mask),
               {"bad branch", "The index of an indexed branch lies outside of its table.", ""});
        throw LaunchStop{kErrorLaunchFailure};
    }
    if (Mask rest = w.path & ~w.mask) targets[w.pc + 1] |= rest;
    ++w.tally().branches;
    if (targets.size() == 1) return w.jump(targets.begin()->first);
    ++w.tally().divergent;
    w.split(targets, in.reconvergence);
}

uint64_t argument(Warp& w, const Instruction& in, size_t k, int lane) {
    if (k >= in.arguments.size()) return 0;
    uint64_t v = 0;
    int size = in.callee->parameters[k].size;
    std::memcpy(&v, w.registers + in.arguments[k] + lane * size, static_cast<size_t>(std::min(size, 8)));
    return v;
}
std::string text_at(Warp& w, int lane, uint64_t address) {
    std::string text;
    for (const char* c; (c = host_of(w, lane, address, 1)) && *c && text.size() < 65536; ++address)
        text += *c;
    return text;
}

/// One conversion of a printf format; `cursor` moves over the buffer of arguments.
void print_conversion(Warp& w, int lane, const std::string& spec, uint64_t& cursor) {
    char kind = spec.back();
    bool real = std::strchr("eEfFgGaA", kind),
         wide = real || kind == 's' || kind == 'p' || spec.find_first_of("lzjt") != std::string::npos;
    size_t size = wide ? 8 : 4;
    cursor = (cursor + size - 1) / size * size;
    char value[8] = {};
    for (size_t k = 0; k < size; ++k)
        if (const char* c = host_of(w, lane, cursor + k, 1)) value[k] = *c;
    cursor += size;
    double d;
    long i;
    int n;
    std::memcpy(&d, value, 8);
    std::memcpy(&i, value, 8);
    std::memcpy(&n, value, 4);
    if (real)
        std::printf(spec.c_str(), d);
    else if (kind == 's')
        std::printf(spec.c_str(), text_at(w, lane, static_cast<uint64_t>(i)).c_str());
    else if (wide)
        std::printf(spec.c_str(), i);
    else
        std::printf(spec.c_str(), n);
}

void print(Warp& w, const Instruction& in, int lane) {
    std::string format = text_at(w, lane, argument(w, in, 0, lane));
    uint64_t cursor = argument(w, in, 1, lane);
    for (size_t k = 0; k < format.size();) {
        if (format[k] != '%') {
            std::putchar(format[k++]);
            continue;
        }
        size_t end = format.find_first_of("diouxXcspeEfFgGaA%", k + 1);
        if (end == std::string::npos) break;
        std::string spec = format.substr(k, end + 1 - k);
        bool plain = spec.find_first_not_of("%-+ #0123456789.lhzjtdiouxXcspeEfFgGaA") == std::string::npos;
        if (spec.back() == '%')
            std::putchar('%');
        else if (plain)
            print_conversion(w, lane, spec, cursor);
        k = end + 1;
    }
}

template <class F>
void set_result(Warp& w, const Instruction& in, F f) {
    if (in.results.empty()) return;
    int size = in.callee->results[0].size;
    for_lanes(w.mask, [&](int l) {
        uint64_t v = f(l);
        std::memcpy(w.registers + in.results[0] + l * size, &v, static_cast<size_t>(std::min(size, 8)));
    });
}

void call_runtime(Warp& w, const Instruction& in) {
    const std::string& name = in.callee->name;
    int first = std::countr_zero(w.mask);
    if (name == "vprintf") {
        for_lanes(w.mask, [&](int l) { print(w, in, l); });
        set_result(w, in, [](int) { return 1; });
    } else if (name == "__assertfail") {
        report(
            w, in, first,
            {"assertion failed",
             text_at(w, first, argument(w, in, 1, first)) + ":" + std::to_string(argument(w, in, 2, first)) +
                 ": " + text_at(w, first, argument(w, in, 3, first)) + ": `" +
                 text_at(w, first, argument(w, in, 0, first)) + "' failed.",
             ""},
            std::popcount(w.mask));
        throw LaunchStop{kErrorAssert};
    } else if (name == "malloc") {
        set_result(w, in, [&](int l) {
            Region* r = memory().allocate(argument(w, in, 0, l), RegionKind::Internal, "malloc in a kernel");
            return r ? r->base : 0;
        });
    } else if (name == "free") {
        for_lanes(w.mask, [&](int l) {
            uint64_t p = argument(w, in, 0, l);
            if (p && !memory().release(reinterpret_cast<void*>(p)))
                report(w, in, l,
                       {"bad free", "free of an address that malloc did not give.", memory().describe(p)});
        });
        w.block->launch->last_region = nullptr;
    }
    w.advance();
}

bool fits(const Instruction& in, const Function& f) {
    std::vector<int> sizes;
    for (const Parameter& p : f.parameters) sizes.push_back(p.size);
    for (const Parameter& p : f.results) sizes.push_back(p.size);
    return sizes == in.list_sizes && in.arguments.size() == f.parameters.size();
}

/// A call through a pointer: the address of a function is that of its decoded form.
void call_pointer(Warp& w, const Instruction& in) {
    const uint64_t* to = w.at<uint64_t>(in.source[0]);
    int first = std::countr_zero(w.mask);
    const Function* f = nullptr;
    for (auto& [name, each] : in.function->module->functions)
        if (to[first] == reinterpret_cast<uint64_t>(&each)) f = &each;
    if (!f || !f->defined || f->not_simulated || !fits(in, *f)) {
        report(w, in, first,
               {"bad call",
                f && f->not_simulated
                    ? "The function called uses " + f->not_simulated->text + ", which is not simulated."
                    : "The pointer does not lead to a function of this type.",
                ""});
        throw LaunchStop{kErrorLaunchFailure};
    }
    Mask same = 0;
    for_lanes(w.mask, [&](int l) { same |= static_cast<Mask>(to[l] == to[first]) << l; });
    // Lanes with another target call it on their own.
    if (Mask others = w.mask & ~same) w.paths.push_back({w.pc, others, w.join, w.frame});
    w.path &= ~(w.mask & ~same);
    w.mask = same;
    w.enter(*f, &in);
}

void call(Warp& w, const Instruction& in) {
    if (!in.callee)
        call_pointer(w, in);
    else if (in.callee->defined)
        w.enter(*in.callee, &in);
    else
        call_runtime(w, in);
}

void trap(Warp& w, const Instruction& in) {
    report(w, in, std::countr_zero(w.mask), {"trap", "The kernel stopped itself (__trap).", ""},
           std::popcount(w.mask));
    throw LaunchStop{kErrorLaunchFailure};
}

void ret(Warp& w, const Instruction&) {
    w.leave(w.mask, false);
}
void exit(Warp& w, const Instruction&) {
    w.leave(w.mask, true);
}

template <Handler F>
Handler control(Opcode& op) {
    op.in.control = true;
    return F;
}
Handler nothing(Opcode&) {
    return [](Warp&, const Instruction&) {};
}

}  // namespace

std::vector<OpcodeEntry> control_opcodes() {
    return {
        {"bra", "", control<bra>},
        {"brx", "", control<brx>},
        {"call", "", control<call>},
        {"ret", "", control<ret>},
        {"exit", "", control<exit>},
        {"trap", "", control<trap>},
        {"brkpt", "", nothing},
        {"pmevent", ".", nothing},
        {"nanosleep", "u",
         [](Opcode&) -> Handler { return [](Warp& w, const Instruction&) { w.spinning = true; }; }},
        {"griddepcontrol", "", nothing},
        {"setmaxnreg", ".", nothing},
    };
}

}  // namespace ladder
