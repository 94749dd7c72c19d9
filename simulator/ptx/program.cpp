#include "ptx/program.hpp"

#include <algorithm>
#include <deque>

#include "counts/report.hpp"

namespace ladder {
int size_of(Type type) {
    static const int bytes[] = {1, 2, 4, 8, 16, 1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 4, 4, 4, 8, 0, 0};
    return bytes[static_cast<int>(type)];
}
bool is_float(Type type) {
    return type >= Type::F16 && type <= Type::F64;
}
bool is_signed(Type type) {
    return type >= Type::S8 && type <= Type::S64;
}

namespace {
/// By id; there is none with 0.
std::deque<const Instruction*>& instruction_table() {
    static std::deque<const Instruction*> table{nullptr};
    return table;
}
}  // namespace

int place_shared(std::vector<SharedVariable>& layout, int& bytes, const std::string& name, int size,
                 int align) {
    auto round_up = [](int n, int to) { return (n + to - 1) / to * to; };
    const int place = round_up(bytes, align), gap = 128;
    const int moved = layout.empty() ? 0 : layout.back().end - bytes + gap;
    const int begin = place + round_up(moved, std::max(gap, align));
    bytes = place + size;
    layout.push_back({name, begin, begin + size});
    return begin;
}

void number_instruction(Instruction& in) {
    in.id = instruction_table().size();
    instruction_table().push_back(&in);
}
const Instruction* instruction_by_id(uint32_t id) {
    return id < instruction_table().size() ? instruction_table()[id] : nullptr;
}

std::string source_file(const Instruction& in) {
    auto& files = in.function->module->files;
    auto file = files.find(in.file);
    return file == files.end() ? "?" : file->second;
}
std::string source_place(const Instruction& in) {
    return say(source_file(in), ":", in.line);
}
}  // namespace ladder
