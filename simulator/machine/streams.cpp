#include "machine/streams.hpp"

#include <algorithm>
#include <set>

#include "machine/machine.hpp"

namespace ladder {
namespace {
struct Operation {
    int number, stream;
    uint64_t position;    ///< in its stream, from 1
    uint32_t begin, end;  ///< its accesses carry times from begin up to, but without, end
    StreamClock known;
    std::string name;
};

struct State {
    StreamClock host;
    std::map<int, StreamClock> clocks{{LEGACY_STREAM, {}}};
    std::map<int, uint64_t> counts;
    std::set<int> non_blocking;
    std::vector<Operation> operations;  ///< by time; those that the host knows to be over are dropped
    int streams = 0, numbers = 0;
};
State& state() {
    static auto* s = new State;
    return *s;
}

void merge(StreamClock& into, const StreamClock& from) {
    for (auto& [stream, position] : from) into[stream] = std::max(into[stream], position);
}
bool knows(const StreamClock& clock, const Operation& op) {
    auto it = clock.find(op.stream);
    return it != clock.end() && it->second >= op.position;
}
const Operation* at_time(uint32_t time) {
    auto& all = state().operations;
    auto it = std::upper_bound(all.begin(), all.end(), time,
                               [](uint32_t t, const Operation& o) { return t < o.begin; });
    return it == all.begin() || time >= std::prev(it)->end ? nullptr : &*std::prev(it);
}
const Operation* by_number(int number) {
    auto& all = state().operations;
    auto it = std::find_if(all.rbegin(), all.rend(), [&](auto& o) { return o.number == number; });
    return it == all.rend() ? nullptr : &*it;
}
}  // namespace

int create_stream(bool blocking) {
    State& s = state();
    int id = ++s.streams;
    s.clocks[id] = s.host;
    if (!blocking) s.non_blocking.insert(id);
    return id;
}
void destroy_stream(int stream) {
    state().non_blocking.erase(stream);
}

int begin_operation(int stream, const std::string& name) {
    State& s = state();
    StreamClock& clock = s.clocks[stream];
    merge(clock, s.host);
    if (!s.non_blocking.count(stream)) {
        if (stream == LEGACY_STREAM) {
            for (auto& [id, other] : s.clocks)
                if (!s.non_blocking.count(id)) merge(clock, other);
        } else {
            merge(clock, s.clocks[LEGACY_STREAM]);
        }
    }
    if (!s.operations.empty() && s.operations.back().number == s.numbers)
        s.operations.back().end = next_time();
    // An operation that the host or, without other streams, every later one knows to be over can
    // be forgotten.
    std::erase_if(s.operations,
                  [&](auto& o) { return knows(s.host, o) || (s.streams == 0 && knows(clock, o)); });
    Operation op{++s.numbers, stream, ++s.counts[stream], next_time(), ~0u, clock, name};
    clock[stream] = op.position;
    s.operations.push_back(std::move(op));
    return s.numbers;
}

uint32_t ordered_before(int operation) {
    const Operation* op = by_number(operation);
    if (!op) return 0;
    for (const Operation& o : state().operations)
        if (o.number != operation && !knows(op->known, o)) return o.begin;
    return op->begin;
}

bool operations_ordered(uint32_t time, int operation) {
    const Operation *op = by_number(operation), *earlier = at_time(time);
    return !op || !earlier || earlier == op || knows(op->known, *earlier);
}
std::string operation_name(uint32_t time) {
    const Operation* op = at_time(time);
    return op ? op->name : "an earlier operation";
}

StreamClock stream_position(int stream) {
    StreamClock clock = state().clocks[stream];
    if (stream == LEGACY_STREAM)
        for (auto& [id, other] : state().clocks)
            if (!state().non_blocking.count(id)) merge(clock, other);
    return clock;
}
void stream_waits(int stream, const StreamClock& for_these) {
    merge(state().clocks[stream], for_these);
}
void host_waits(const StreamClock& for_these) {
    merge(state().host, for_these);
}
void host_waits_for_stream(int stream) {
    host_waits(stream_position(stream));
}
void host_waits_for_all() {
    for (auto& [id, clock] : state().clocks) merge(state().host, clock);
}

void free_by_operation(int operation, Region& region) {
    const Operation* op = by_number(operation);
    if (!races_on || !op || state().streams == 0) return;
    const uint32_t safe = ordered_before(operation);
    uint32_t unordered = 0;
    region.shadow.for_each([&](const ShadowWord& s) {
        for (const AccessRecord& x : {s.write, s.read[0], s.read[1]})
            if (x.time >= safe && !operations_ordered(x.time, operation)) unordered = x.time;
    });
    if (unordered)
        report_host(op->name, {"stream order",
                               say("It frees memory that ", operation_name(unordered),
                                   " uses in another stream, and nothing orders the two."),
                               name_of(region)});
}

void touch_by_operation(int operation, Region& region, uint64_t offset, size_t bytes, bool write) {
    const Operation* op = by_number(operation);
    if (!races_on || !op || state().streams == 0 || bytes == 0) return;
    uint32_t safe = ordered_before(operation);
    AccessRecord me;
    me.time = op->begin;
    me.bytes = 15;
    bool told = false;
    for (uint64_t word = offset / 4; word <= (offset + bytes - 1) / 4; ++word) {
        ShadowWord& s = region.shadow.word(word);
        auto check = [&](const AccessRecord& x) {
            if (told || x.time < safe || operations_ordered(x.time, operation)) return;
            told = true;
            report_host(op->name, {"stream order",
                                   say("It touches memory that ", operation_name(x.time),
                                       " uses in another stream, and nothing orders the two."),
                                   place_in(region, word * 4)});
        };
        check(s.write);
        if (write) {
            check(s.read[0]);
            check(s.read[1]);
            s.write = me;
            s.read[0].time = s.read[1].time = 0;
        } else {
            s.read[s.read[0].time >= safe && s.read[0].time ? 1 : 0] = me;
        }
    }
}
}  // namespace ladder
