// Branches, calls, and the functions that the runtime gives to kernels: printf, assert, malloc.
#include <cstdio>
#include <cstring>

#include "machine/access.hpp"
#include "opcodes/templates.hpp"

namespace ladder {
namespace {
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
    if (outside)
        stop(w, in, ERROR_LAUNCH_FAILURE,
             {"bad branch", "The index of an indexed branch lies outside of its table."});
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
    std::memcpy(&v, w.registers + in.arguments[k] + lane * size, std::min(size, 8));
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
    if (real)
        std::printf(spec.c_str(), std::bit_cast<double>(value));
    else if (kind == 's')
        std::printf(spec.c_str(), text_at(w, lane, std::bit_cast<uint64_t>(value)).c_str());
    else if (wide)
        std::printf(spec.c_str(), std::bit_cast<long>(value));
    else
        std::printf(spec.c_str(), static_cast<int>(std::bit_cast<long>(value)));
}

void print(Warp& w, const Instruction& in, int lane) {
    std::string format = text_at(w, lane, argument(w, in, 0, lane));
    uint64_t cursor = argument(w, in, 1, lane);
    for (size_t k = 0, end; k < format.size(); k = end + 1) {
        end = k;
        if (format[k] == '%') end = format.find_first_of("diouxXcspeEfFgGaA%", k + 1);
        if (end == std::string::npos) break;
        std::string spec = format.substr(k, end + 1 - k);
        bool known = spec.find_first_not_of("%-+ #0123456789.lhzjtdiouxXcspeEfFgGaA") == std::string::npos;
        if (end == k || spec.back() == '%')
            std::putchar(format[end]);
        else if (known)
            print_conversion(w, lane, spec, cursor);
    }
}

void call_runtime(Warp& w, const Instruction& in) {
    const std::string& name = in.callee->name;
    auto set_result = [&](auto f) {
        if (in.results.empty()) return;
        int size = in.callee->results[0].size;
        for_lanes(w.mask, [&](int l) {
            uint64_t v = f(l);
            std::memcpy(w.registers + in.results[0] + l * size, &v, std::min(size, 8));
        });
    };
    auto text = [&](int k) { return text_at(w, w.first(), argument(w, in, k, w.first())); };
    if (name == "vprintf") {
        for_lanes(w.mask, [&](int l) { print(w, in, l); });
        set_result([](int) { return 1; });
    } else if (name == "__assertfail") {
        std::string sentence = say(text(1), ":", static_cast<uint32_t>(argument(w, in, 2, w.first())), ": ",
                                   text(3), ": `", text(0), "' failed.");
        stop(w, in, ERROR_ASSERT, {"assertion failed", sentence}, std::popcount(w.mask));
    } else if (name == "malloc") {
        set_result([&](int l) {
            Region* r = memory().allocate(argument(w, in, 0, l), RegionKind::Heap, "malloc in a kernel");
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
    for (auto* list : {&f.parameters, &f.results})
        for (const Parameter& p : *list) sizes.push_back(p.size);
    return sizes == in.list_sizes && in.arguments.size() == f.parameters.size();
}

/// A call through a pointer: the address of a function is that of its decoded form.
void call_pointer(Warp& w, const Instruction& in) {
    const uint64_t *to = w.at<uint64_t>(in.source[0]), target = to[w.first()];
    const Function* f = nullptr;
    for (auto& [name, each] : in.function->module->functions)
        if (target == reinterpret_cast<uint64_t>(&each)) f = &each;
    if (f && f->not_simulated)
        stop(w, in, ERROR_LAUNCH_FAILURE,
             {"bad call",
              say("The function called uses ", f->not_simulated->text, ", which is not simulated.")});
    if (!f || !f->defined || !fits(in, *f))
        stop(w, in, ERROR_LAUNCH_FAILURE,
             {"bad call", "The pointer does not lead to a function of this type."});
    // Lanes with another target call it on their own.
    Mask others = 0;
    for_lanes(w.mask, [&](int l) { others |= static_cast<Mask>(to[l] != target) << l; });
    if (others) w.paths.push_back({w.pc, others, w.join, w.frame});
    w.path &= ~others;
    w.mask &= ~others;
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

void ret(Warp& w, const Instruction&) {
    w.leave(w.mask, false);
}
void exit(Warp& w, const Instruction&) {
    w.leave(w.mask, true);
}
void trap(Warp& w, const Instruction& in) {
    stop(w, in, ERROR_LAUNCH_FAILURE, {"trap", "The kernel stopped itself (__trap)."}, std::popcount(w.mask));
}
void nanosleep(Warp& w, const Instruction&) {
    w.spinning = true;
}
}  // namespace

std::vector<OpcodeEntry> control_opcodes() {
    return {
        {"bra", "", control<bra>},           {"brx", "", control<brx>},
        {"call", "", control<call>},         {"ret", "", control<ret>},
        {"exit", "", control<exit>},         {"trap", "", control<trap>},
        {"brkpt", "", just<nothing>},        {"pmevent", ".", just<nothing>},
        {"nanosleep", "u", just<nanosleep>}, {"griddepcontrol", "", just<nothing>},
        {"setmaxnreg", ".", just<nothing>},
    };
}
}  // namespace ladder
