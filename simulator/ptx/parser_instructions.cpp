// Statements: labels, instructions with their opcodes, branches and calls.
#include <algorithm>
#include <utility>

#include "ptx/parser.hpp"

namespace ladder {
void Parser::parse_statement(string_view s) {
    if (s == ".reg") return declare_registers();
    if (s == ".loc") return parse_location();
    if (s == ".file") return parse_file();
    if (s == ".pragma") return skip_past(";");
    if (s == ";") return;
    if (s[0] == '.') {
        const Space* space = find_space(s.substr(1));
        if (!space) fail("unknown directive ", s);
        return declare_variable(*space, false);
    }
    if (accept(":")) return parse_label(s);
    parse_instruction(s);
}

void Parser::parse_label(string_view name) {
    Scope& scope = scopes_[scope_];
    if (!scope.labels.try_emplace(string(name), function_->code.size()).second)
        fail("label ", name, " is set twice");
    if (accept(".branchtargets")) {
        do scope.tables[string(name)].push_back(next());
        while (accept(","));
        expect(";");
    } else if (peek() == ".callprototype" || peek() == ".calltargets") {
        skip_past(";");
    }
}

void Parser::parse_instruction(string_view s) {
    Instruction in;
    if (s == "@") {
        in.guard_negated = accept("!");
        Register* guard = find_register(next());
        if (!guard || guard->bytes) fail("the guard is not a predicate");
        in.guard = guard->offset;
        s = next();
    }
    if (!std::isalpha(static_cast<unsigned char>(s[0]))) fail("'", s, "' is not an instruction");
    in.text = s;
    in.line = location_;
    Opcode op{{}, {}, in};
    read_opcode(op);
    in.handler = select_handler(op);
    in.flow = flow_of(op.parts[0]);
    if (!in.handler)
        skip_past(";");
    else if (op.parts[0] == "call")
        parse_call(in);
    else if (op.parts[0] == "bra" || op.parts[0] == "brx")
        parse_branch(in, op.parts[0] == "brx");
    else
        parse_operands(op);
    function_->code.push_back(std::move(in));
}

/// Splits the opcode at its dots and sets what any opcode may say.
void Parser::read_opcode(Opcode& op) const {
    Instruction& in = op.in;
    for (size_t i = 0, j; i <= in.text.size(); i = j + 1) {
        j = std::min(in.text.find('.', i), in.text.size());
        const string& part = op.parts.emplace_back(in.text.substr(i, j - i));
        if (i == 0) continue;
        if (const Type* t = find_type(part)) op.types.push_back(*t);
        if (const Space* s = find_space(part)) op.spaces.push_back(*s);
        if (part == "rz" || part == "rm" || part == "rp") in.rounding = part[1];
    }
    in.release = op.has("release") || op.has("acq_rel");
    in.is_volatile = op.has("volatile");
    in.strong = in.release || in.is_volatile || op.has("acquire") || op.has("relaxed");
    in.saturate = op.has("sat");
    if (!op.spaces.empty()) in.space = op.spaces[0];
    if (!op.types.empty()) in.type = op.types[0];
    if (op.types.size() > 1) in.type2 = op.types[1];
    op.vector_destination = peek() == "{";
    op.vector_source = !op.vector_destination && (peek(1) == "{" || peek(2) == "{");
    op.operand_count = count_operands();
    if (op.parts[0] == "mov" && (peek(2).starts_with("%clock") || peek(2).starts_with("%globaltimer")))
        op.parts[0] = "%clock";
}

int Parser::count_operands() const {
    int n = peek() == ";" ? 0 : 1, depth = 0;
    for (size_t k = 0; !peek(k).empty() && peek(k) != ";"; ++k) {
        char c = peek(k)[0];
        depth += c == '{' || c == '[' || c == '(';
        depth -= c == '}' || c == ']' || c == ')';
        n += depth == 0 && c == ',';
    }
    return n;
}

void Parser::parse_call(Instruction& in) {
    auto names = [&] {
        std::vector<string_view> list;
        expect("(");
        while (!accept(")")) {
            list.push_back(next());
            if (!accept(",") && peek() != ")") fail("expected ',' or ')' in a call");
        }
        return list;
    };
    // Each slot's size goes to list_sizes, arguments first: a call through a pointer compares them when
    // it runs.
    auto slots = [&](const std::vector<string_view>& list, const std::vector<Parameter>* want,
                     std::vector<int>& to) {
        if (want && list.size() != want->size()) fail("the call's arguments do not fit the function");
        for (size_t k = 0; k < list.size(); ++k) {
            Symbol* s = find_symbol(list[k]);
            Register* r = find_register(list[k]);
            int size = s && s->space == Space::CallParameter ? s->size : r ? r->bytes : -1;
            if (size < 0 || (want && size != (*want)[k].size))
                fail("the argument '", list[k], "' does not fit the function");
            in.list_sizes.push_back(size);
            to.push_back(r ? r->offset : s->address);
        }
    };
    std::vector<string_view> outputs, inputs;
    if (peek() == "(") {
        outputs = names();
        expect(",");
    }
    string_view name = next();
    if (accept(",")) {
        if (peek() == "(") inputs = names();
        if (accept(",")) next();
    }
    expect(";");
    Register* pointer = find_register(name);
    Function* callee = pointer ? nullptr : find_function(name);
    if (pointer ? pointer->bytes != 8 : !callee) fail("call of an unknown function ", name);
    if (pointer) in.source[0] = pointer->offset;
    in.callee = callee;
    slots(inputs, callee ? &callee->parameters : nullptr, in.arguments);
    slots(outputs, callee ? &callee->results : nullptr, in.results);
}

void Parser::parse_branch(Instruction& in, bool indexed) {
    if (indexed) {
        in.source[0] = strict(in, Type::U32, false);
        expect(",");
    }
    int line = tokens_[at_].line;
    fixups_.push_back({function_->code.size(), next(), scope_, line});
    expect(";");
}

}  // namespace ladder
