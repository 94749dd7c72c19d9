#include "opcodes/opcodes.hpp"

#include <algorithm>
#include <map>

namespace ladder {
bool Opcode::has(const char* part) const {
    return std::find(parts.begin() + 1, parts.end(), part) != parts.end();
}

Handler select_handler(Opcode& op) {
    static const std::map<std::string, OpcodeEntry> table = [] {
        std::map<std::string, OpcodeEntry> all;
        for (auto group :
             {integer_opcodes, float_opcodes, compare_opcodes, convert_opcodes, control_opcodes,
              memory_opcodes, atomic_opcodes, warp_opcodes, barrier_opcodes, async_opcodes, matrix_opcodes})
            for (const OpcodeEntry& e : group()) all[e.name] = e;
        return all;
    }();
    auto it = table.find(op.parts[0]);
    if (it == table.end()) return nullptr;
    op.operands = it->second.operands;
    return it->second.select(op);
}

Flow flow_of(const std::string& name) {
    static const std::map<std::string, Flow> flows = {
        {"ld", Flow::Load},        {"ldu", Flow::Load},       {"st", Flow::Store},
        {"red", Flow::Atomic},     {"atom", Flow::Atomic},    {"selp", Flow::Select},
        {"shfl", Flow::Exchange},  {"vote", Flow::Exchange},  {"match", Flow::Exchange},
        {"redux", Flow::Exchange}, {"elect", Flow::Exchange}, {"mma", Flow::Other},
        {"wmma", Flow::Other},     {"ldmatrix", Flow::Other}, {"stmatrix", Flow::Other},
        {"cp", Flow::Other},       {"call", Flow::Other}};
    auto it = flows.find(name);
    return it == flows.end() ? Flow::Value : it->second;
}
}  // namespace ladder
