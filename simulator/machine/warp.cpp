#include "machine/warp.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "machine/access.hpp"
#include "machine/machine.hpp"
#include "machine/undefined.hpp"

namespace ladder {
namespace {
constexpr int MAX_DEPTH = 512, MAX_LOCAL = 1 << 19;

/// .aligned barriers, which all running lanes of a warp must reach together.
bool aligned(const Instruction& in) {
    return in.text.starts_with("bar.") || in.text.find(".aligned") != std::string::npos;
}
}  // namespace

void Warp::start(Block& owner, int number, Mask lanes) {
    block = &owner;
    id = number;
    grid_id = owner.index * owner.launch->warps_per_block + number;
    alive = path = mask = lanes;
    join = -1;
    running = forced = spinning = changed_memory = false;
    frame = nullptr;
    poll = nullptr;
    carry = 0;
    paths.clear();
    joins.clear();
    free_joins.clear();
    for (auto& f : frames) spare_frames.push_back(std::move(f));
    frames.clear();
    copies.clear();
    barriers_used = 0;
    any_undefined = false;
    std::fill_n(committed, LANES, 0);
    std::fill_n(cluster_phase, LANES, owner.cluster->phase);
    start_clock(*this);
    enter(*owner.launch->function, nullptr);
}

Frame* Warp::new_frame(const Function& f) {
    auto spare =
        std::find_if(spare_frames.begin(), spare_frames.end(), [&](auto& s) { return s->function == &f; });
    if (spare != spare_frames.end()) {
        frames.push_back(std::move(*spare));
        spare_frames.erase(spare);
    } else {
        frames.push_back(std::make_unique<Frame>());
    }
    Frame* fresh = frames.back().get();
    if (fresh->capacity < f.image.size() || !fresh->registers) {
        size_t bytes = (f.image.size() + 128) / 64 * 64;
        fresh->storage = {static_cast<char*>(std::aligned_alloc(64, bytes)), std::free};
        fresh->registers = fresh->storage.get();
        fresh->capacity = bytes;
    }
    fresh->function = &f;
    fresh->undefined.clear();
    std::memcpy(fresh->registers, f.image.data(), f.image.size());
    return fresh;
}

void Warp::drop_frame(Frame* old) {
    auto it = std::find_if(frames.begin(), frames.end(), [&](auto& f) { return f.get() == old; });
    spare_frames.push_back(std::move(*it));
    frames.erase(it);
}

int Warp::new_join(int at, Mask expected, int parent, Frame* of) {
    if (free_joins.empty()) {
        free_joins.push_back(joins.size());
        joins.emplace_back();
    }
    int j = free_joins.back();
    free_joins.pop_back();
    joins[j] = {at, expected, 0, parent, of};
    return j;
}

void Warp::load(const Path& p) {
    running = true;
    pc = p.pc;
    path = p.mask;
    join = p.join;
    join_pc = joins[join].pc;
    frame = p.frame;
    registers = frame->registers;
    code = frame->function->code.data();
    tallies = frame->tallies;
}

void Warp::enter(const Function& f, const Instruction* call) {
    if (call && frame->depth >= MAX_DEPTH)
        stop(*this, *call, ERROR_LAUNCH_FAILURE, {"stack overflow", "The calls nest too deeply."});
    Frame* caller = call ? frame : nullptr;
    Frame* callee = new_frame(f);
    callee->call = call;
    callee->caller = caller;
    callee->return_pc = pc + 1;
    callee->depth = caller ? caller->depth + 1 : 0;
    callee->local_base = caller ? caller->local_base + caller->function->local_bytes : 0;
    callee->tallies = block->launch->profile->of(f);
    for (size_t k = 0; call && k < call->arguments.size(); ++k)
        std::memcpy(callee->registers + f.parameters[k].offset, registers + call->arguments[k],
                    f.parameters[k].size * LANES);
    if (Mask rest = call ? path & ~mask : 0) paths.push_back({pc + 1, rest, join, frame});
    load({0, mask, new_join(RETURN, mask, join, callee), callee});
    size_t local_end = callee->local_base + f.local_bytes;
    if (local_end > MAX_LOCAL)
        stop(*this, code[0], ERROR_ILLEGAL_ADDRESS,
             {"stack overflow", "A thread has 512 KiB of local memory."});
    if (local_end * LANES > local.size()) {
        local.resize(std::max(local.size() * 2, local_end * LANES), 0);
        local_written.resize(local.size());
    }
    forget_local(*this, callee->local_base, local_end);
    for (const Preset& p : f.presets)
        for (int l = 0; l < LANES; ++l) {
            uint64_t v = p.value(*this, l, p.argument);
            std::memcpy(registers + p.offset + (p.wide ? 8 : 4) * l, &v, p.wide ? 8 : 4);
        }
}

uint64_t Warp::run(uint64_t budget) {
    uint64_t n = 0;
    spinning = changed_memory = false;
    if (!running) pick();
    while (running && n < budget) {
        const Instruction& in = code[pc];
        Mask m = path;
        if (in.guard >= 0) {
            Mask g = predicate(in.guard);
            m &= in.guard_negated ? ~g : g;
        }
        mask = m;
        ++n;
        Tally& t = tallies[pc];
        ++t.warps;
        t.threads += std::popcount(m);
        if (any_undefined) [[unlikely]]
            follow_undefined(*this, in);
        if (in.control) {
            if (m || in.reconvergence >= 0)
                in.handler(*this, in);
            else
                advance();
        } else {
            if (m) in.handler(*this, in);
            if (++pc == join_pc) arrive();
        }
        if (spinning && running) {
            paths.insert(paths.begin(), Path{pc, path, join, frame});
            pick();
            break;
        }
    }
    return n;
}

void Warp::jump(int to) {
    for (const Path& p : gathered_) paths.push_back({to, p.mask, p.join, p.frame});
    gathered_.clear();
    pc = to;
    if (pc == join_pc) arrive();
}

void Warp::arrive() {
    meet(join, path);
    pick();
}

/// Lanes have come to a join; when it has all of them, they go on together.
void Warp::meet(int which, Mask lanes) {
    joins[which].arrived |= lanes;
    if (joins[which].arrived == joins[which].expected) complete(which);
}
void Warp::complete(int which) {
    Join j = joins[which];
    free_joins.push_back(which);
    if (j.pc != RETURN) return paths.push_back({j.pc, j.expected, j.parent, j.frame});
    if (j.frame->caller) paths.push_back({j.frame->return_pc, j.expected, j.parent, j.frame->caller});
    drop_frame(j.frame);
}
void Warp::remove(int which, Mask lanes) {
    Join& j = joins[which];
    j.expected &= ~lanes;
    j.arrived &= ~lanes;
    if (j.expected == j.arrived) {
        if (j.expected) return complete(which);
        if (j.pc == RETURN) drop_frame(j.frame);
        free_joins.push_back(which);
    }
}

void Warp::branch(Mask taken, int target, int reconvergence) {
    Mask rest = path & ~taken;
    if (!rest) return jump(target);
    if (!taken) return jump(pc + 1);
    split({{target, taken}, {pc + 1, rest}}, reconvergence);
}

void Warp::split(const std::map<int, Mask>& targets, int reconvergence) {
    int j = join_pc == reconvergence ? join : new_join(reconvergence, path, join, frame);
    for (auto& [to, lanes] : targets) paths.push_back({to, lanes, j, frame});
    pick();
}

void Warp::leave(Mask lanes, bool exit) {
    bool ends = exit || !frame->caller;
    int chain = join;
    for (int parent; chain >= 0 && (ends || joins[chain].pc != RETURN); chain = parent) {
        parent = joins[chain].parent;
        remove(chain, lanes);
    }
    Mask rest = path & ~lanes;
    if (ends) {
        alive &= ~lanes;
        block->live_threads -= std::popcount(lanes);
    } else {
        for (size_t k = 0; k < frame->call->results.size(); ++k) {
            const Parameter& r = frame->function->results[k];
            char* to = frame->caller->registers + frame->call->results[k];
            for_lanes(lanes, [&](int l) {
                std::memcpy(to + l * r.size, registers + r.offset + l * r.size, r.size);
            });
        }
        meet(chain, lanes);
    }
    path = rest;
    if (rest) return jump(pc + 1);
    pick();
}

/// Chooses the path that runs next: the newest that is ready.
void Warp::pick() {
    running = false;
    while (true) {
        auto ready =
            std::find_if(paths.rbegin(), paths.rend(), [](auto& p) { return p.state == PathState::Ready; });
        if (ready == paths.rend()) break;
        Path p = *ready;
        paths.erase(std::next(ready).base());
        if (p.pc != joins[p.join].pc) return load(p);
        meet(p.join, p.mask);
    }
    // None is: the lanes that a warp instruction waits for may have ended or be at a barrier.
    auto waiting =
        std::find_if(paths.begin(), paths.end(), [](auto& p) { return p.state == PathState::AtWarpSync; });
    if (waiting != paths.end()) {
        Path p = *waiting;
        Mask here = 0;
        for (auto& q : paths) here |= q.waits_like(p) ? q.mask : 0;
        forced = (p.named & alive & ~here) != 0;
        paths.erase(waiting);
        return load(p);
    }
    if (!paths.empty()) report_stuck();
}

/// All paths wait at barriers. Lanes that wait for them elsewhere can never reach an .aligned one.
void Warp::report_stuck() {
    Mask here = 0;
    const Instruction& in = paths[0].instruction();
    bool same = true;
    for (auto& p : paths) {
        here |= p.mask;
        same &= &p.instruction() == &in || !aligned(in);
    }
    if (here == alive && same) return;
    if (!aligned(in)) {
        if (release_joins()) pick();
        return;
    }
    mask = paths[0].mask;
    stop(*this, in, ERROR_LAUNCH_FAILURE,
         {"divergent barrier",
          say("Only ", std::popcount(mask), " of the ", std::popcount(alive),
              " running threads of this warp reach this barrier: it lies on one side of a branch. "
              "All threads of the block must reach it together.")});
}

void Warp::park(Path where) {
    Mask rest = path & ~where.mask;
    paths.push_back(where);
    path = rest;
    if (rest) return jump(pc + 1);
    pick();
}

bool Warp::gather(const Instruction& in, Mask named) {
    if (Mask strangers = mask & ~named) {
        report(*this, in, std::countr_zero(strangers),
               {"wrong mask", "This thread runs the instruction, but the mask does not name its lane."});
        named |= mask;
    }
    Mask missing = named & alive & ~mask;
    if (!missing) return true;
    const Path here{pc, mask, join, frame, PathState::AtWarpSync, named, -1};
    for (auto& p : paths) missing &= p.waits_like(here) ? ~p.mask : ~0u;
    if (missing && !forced) {
        park(here);
        return false;
    }
    forced = false;
    if (missing)
        report(*this, in, first(),
               {"wrong mask", say("The mask names lane ", std::countr_zero(missing),
                                  ", which is on another path and does not take part.")});
    for (auto& p : paths)
        if (p.waits_like(here)) {
            mask |= p.mask;
            gathered_.push_back(p);
        }
    std::erase_if(paths, [&](auto& p) { return p.waits_like(here); });
    return true;
}

void Warp::resume_barrier(int barrier) {
    const Barrier* b = barrier < CLUSTER_BARRIER ? &block->barriers[barrier] : nullptr;
    for (auto& p : paths) {
        if (p.state != PathState::AtBarrier || p.barrier != barrier) continue;
        const Instruction& in = p.instruction();
        registers = p.frame->registers;
        mask = p.mask;
        if (b && in.code == 'p')
            for_lanes(mask, [&](int l) { at<uint32_t>(in.destination)[l] = b->count; });
        else if (b && in.code)
            put_predicate(*this, in.destination, (in.code == 'a' ? b->all : b->any) ? ~0u : 0);
        p = {p.pc + 1, p.mask, p.join, p.frame};
    }
    if (running) registers = frame->registers;
}

/// Lets the lanes that wait at joins go on without those that spin; the hardware promises them progress.
bool Warp::release_joins() {
    bool released = false;
    for (size_t k = 0; k < joins.size(); ++k) {
        Join& j = joins[k];
        bool unused = std::count(free_joins.begin(), free_joins.end(), k);
        if (unused || !j.arrived || j.pc == RETURN) continue;
        paths.push_back({j.pc, j.arrived, j.parent, j.frame});
        j.expected &= ~j.arrived;
        j.arrived = 0;
        released = true;
    }
    return released;
}

void Warp::note_poll(const Instruction& in, uint64_t value) {
    spinning = poll == &in && poll_value == value;
    poll = &in;
    poll_value = value;
}

bool Warp::runnable() const {
    return running ||
           std::any_of(paths.begin(), paths.end(), [](auto& p) { return p.state != PathState::AtBarrier; });
}
}  // namespace ladder
