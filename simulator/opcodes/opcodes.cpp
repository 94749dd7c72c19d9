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
}  // namespace ladder
