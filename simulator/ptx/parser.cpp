// Modules and functions: what stands around the statements, and what is done when a function is complete.
#include "ptx/parser.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <set>

#include "ptx/control_flow.hpp"

namespace ladder {
namespace {
constexpr size_t MAX_FRAME = 64u << 20;
constexpr int ANY_NUMBER = 1 << 30, MAX_SHARED = 1 << 30;

/// Headers of the toolkit: a line in them says less than the line that called into them.
bool toolkit_header(const string& path) {
    for (const char* part :
         {"/targets/x86_64-linux/include/", "/include/cccl/", "/include/crt/", "/include/cooperative_groups",
          "/include/cuda_", "/include/cub/", "/targets/sbsa-linux/include/"})
        if (path.find(part) != string::npos) return true;
    return false;
}
}  // namespace

string_view Parser::next() {
    if (at_end()) fail("the text ends too early");
    return tokens_[at_++].text;
}
bool Parser::accept(string_view s) {
    bool is = !at_end() && peek() == s;
    at_ += is;
    return is;
}
void Parser::expect(string_view s) {
    if (!accept(s)) fail("expected '", s, "' before '", peek(), "'");
}
void Parser::skip_past(string_view s) {
    while (next() != s) continue;
}

int64_t Parser::integer(string_view s) const {
    bool negative = !s.empty() && s[0] == '-';
    string digits(s.substr(negative));
    if (!digits.empty() && digits.back() == 'U') digits.pop_back();
    bool binary = digits.size() > 2 && digits[0] == '0' && (digits[1] | 32) == 'b';
    const char* from = digits.c_str() + (binary ? 2 : 0);
    char* end = nullptr;
    uint64_t v = std::strtoull(from, &end, binary ? 2 : 0);
    if (end == from || *end) fail("'", s, "' is not a number");
    return negative ? 0 - v : v;
}
int Parser::count(int limit) {
    int64_t v = integer(next());
    if (v < 0 || v > limit) fail("the number ", v, " is out of range");
    return v;
}

int Parser::allot(size_t bytes_per_lane) {
    std::vector<char>& image = function_->image;
    size_t align = bytes_per_lane ? 64 : 4, offset = (image.size() + align - 1) / align * align;
    if (bytes_per_lane > MAX_FRAME / LANES || offset + bytes_per_lane * LANES > MAX_FRAME)
        fail("too many registers");
    image.resize(offset + (bytes_per_lane ? bytes_per_lane * LANES : sizeof(Mask)));
    return offset;
}
/// A literal for all lanes; 0 bytes: a predicate.
int Parser::splat(uint64_t bits, int bytes) {
    auto [it, fresh] = literals_.try_emplace({bytes, bits}, 0);
    if (!fresh) return it->second;
    it->second = allot(bytes);
    char* to = &function_->image[it->second];
    if (bytes == 0) std::memcpy(to, &bits, sizeof(Mask));
    for (int l = 0; bytes && l < LANES; ++l) std::memcpy(to + l * bytes, &bits, std::min(bytes, 8));
    return it->second;
}
int Parser::preset(SpecialValue value, int64_t argument, bool wide) {
    auto [it, fresh] = presets_.try_emplace({value, argument, wide}, 0);
    if (!fresh) return it->second;
    it->second = allot(wide ? 8 : 4);
    function_->presets.push_back({value, argument, it->second, wide});
    return it->second;
}

Parser::Symbol* Parser::find_symbol(string_view name) {
    if (Symbol* s = function_ ? find(&Scope::symbols, name, scope_) : nullptr) return s;
    auto it = module_symbols_.find(name);
    return it == module_symbols_.end() ? nullptr : &it->second;
}
Function* Parser::find_function(string_view name) {
    auto it = module_.functions.find(string(name));
    return it == module_.functions.end() ? nullptr : &it->second;
}

void Parser::parse_module() {
    bool external = false;
    while (!at_end()) {
        string_view s = next();
        if (s == ".version" || s == ".target" || s == ".address_size") {
            do next();
            while (accept(","));
        } else if (s == ".visible" || s == ".weak" || s == ".common" || s == ";") {
        } else if (s == ".extern") {
            external = true;
        } else if (s == ".file") {
            parse_file();
        } else if (s == ".section") {
            skip_past("}");
        } else if (s == ".alias" || s == ".pragma") {
            skip_past(";");
        } else if (s == ".entry" || s == ".func") {
            parse_function(s == ".entry");
            external = false;
        } else if (const Space* space = s[0] == '.' ? find_space(s.substr(1)) : nullptr) {
            managed_ = false;
            if (accept(".attribute")) {
                managed_ = peek(1) == ".managed";
                skip_past(")");
            }
            declare_variable(*space, external);
            managed_ = false;
            external = false;
        } else {
            fail("unexpected '", s, "'");
        }
    }
    place_module_shared();
    resolve_locations();
}

std::vector<Parser::Declaration> Parser::parameter_list() {
    std::vector<Declaration> list;
    expect("(");
    while (!accept(")")) {
        list.push_back(declarator());
        if (!accept(",") && peek() != ")") fail("expected ',' or ')' in a parameter list");
    }
    return list;
}

void Parser::add_parameters(const std::vector<Declaration>& from, std::vector<Parameter>& to) {
    for (const Declaration& d : from) {
        int size = d.size, offset;
        if (function_->entry) {
            offset = (function_->parameter_bytes + d.align - 1) / d.align * d.align;
            if (offset + size > 1 << 20) fail("too many parameters");
            function_->parameter_bytes = offset + size;
        } else {
            offset = allot(d.size);
        }
        scopes_[0].symbols[d.name] = {function_->entry ? Space::Parameter : Space::CallParameter, offset,
                                      size};
        to.push_back({offset, size});
    }
}

void Parser::function_directives() {
    while (!peek().empty() && peek()[0] == '.') {
        string_view s = next();
        if (s == ".pragma") {
            skip_past(";");
            continue;
        }
        int each[3] = {1, 1, 1}, n = 0;
        int64_t product = 1;
        while (!peek().empty() && std::isdigit(static_cast<unsigned char>(peek()[0]))) {
            int v = count(ANY_NUMBER);
            product = std::min<int64_t>(product * v, 1 << 20);
            if (n < 3) each[n++] = v;
            accept(",");
        }
        if (s == ".maxntid" || s == ".reqntid") {
            function_->max_threads = std::min<int>(1024, product);
        } else if (s == ".reqnctapercluster") {
            std::copy_n(each, 3, function_->cluster);
        }
    }
}

void Parser::parse_function(bool entry) {
    std::vector<Declaration> inputs, outputs;
    if (!entry && peek() == "(") outputs = parameter_list();
    string name(next());
    if (peek() == "(") inputs = parameter_list();
    Function& f = module_.functions[name];
    if (f.defined) fail("function ", name, " is defined twice");
    f = Function();
    f.name = name;
    f.entry = entry;
    f.module = &module_;
    function_ = &f;
    scopes_.assign(1, Scope());
    scope_ = 0;
    literals_.clear();
    presets_.clear();
    fixups_.clear();
    location_ = -1;
    newest_.clear();
    add_parameters(outputs, f.results);
    add_parameters(inputs, f.parameters);
    function_directives();
    if (!accept(";")) {
        expect("{");
        parse_body();
        finish_function();
    }
    function_ = nullptr;
}

void Parser::parse_body() {
    while (true) {
        string_view s = next();
        if (s == "{") {
            scopes_.emplace_back().parent = scope_;
            scope_ = scopes_.size() - 1;
        } else if (s != "}") {
            parse_statement(s);
        } else if (scope_ == 0) {
            return;
        } else {
            scope_ = scopes_[scope_].parent;
        }
    }
}

void Parser::finish_function() {
    function_->local_bytes = (function_->local_bytes + 15) & ~15;
    Instruction& end = function_->code.emplace_back();
    end.text = "ret";
    end.line = location_;
    Opcode op{{"ret"}, {}, end};
    end.handler = select_handler(op);
    for (const Fixup& fix : fixups_) {
        auto find_label = [&](string_view label) {
            int* target = find(&Scope::labels, label, fix.scope);
            if (!target) throw ParseError(fix.line, say("there is no label ", label));
            return *target;
        };
        Instruction& in = function_->code[fix.instruction];
        if (auto* table = find(&Scope::tables, fix.label, fix.scope))
            for (string_view label : *table) in.table.push_back(find_label(label));
        else
            in.target = find_label(fix.label);
    }
    find_reconvergence(*function_);
    for (Instruction& in : function_->code) {
        in.function = function_;
        number_instruction(in);
        if (!in.handler && !function_->not_simulated) function_->not_simulated = &in;
    }
    function_->defined = true;
}

/// A kernel is charged for the shared variables that it names, or a function that it may call. A call through
/// a pointer may be one of any function.
void Parser::place_module_shared() {
    for (auto& [name, kernel] : module_.functions) {
        if (!kernel.entry) continue;
        std::set<const Function*> reached{&kernel};
        std::vector<const Function*> left{&kernel};
        auto reach = [&](const Function* f) {
            if (reached.insert(f).second) left.push_back(f);
        };
        while (!left.empty()) {
            const Function& f = *left.back();
            left.pop_back();
            for (auto [variable, unused] : f.shared_variables) kernel.shared_variables[variable];
            for (const Instruction& in : f.code) {
                if (in.callee)
                    reach(in.callee);
                else if (in.text.starts_with("call"))
                    for (auto& [other, any] : module_.functions)
                        if (!any.entry) reach(&any);
            }
        }
        for (auto& [variable, offset] : kernel.shared_variables) {
            const Declaration& d = module_shared_[variable];
            if (kernel.shared_bytes > MAX_SHARED - static_cast<int>(d.size) - d.align)
                fail(d.name, " is too large");
            offset = place_shared(kernel.shared_layout, kernel.shared_bytes, d.name, d.size, d.align);
        }
    }
}

void Parser::parse_file() {
    int number = count(ANY_NUMBER);
    string_view name = next();
    if (name.size() < 2 || name[0] != '"') fail("a file name is missing");
    module_.files[number] = name.substr(1, name.size() - 2);
    while (accept(",")) next();
}

void Parser::parse_location() {
    auto place = [&] {
        int file = count(ANY_NUMBER), line = count(ANY_NUMBER);
        return Place{file, line, count(ANY_NUMBER)};
    };
    Place here = place(), outer;
    while (accept(",")) {
        string_view word = next();
        if (word == "function_name") {
            next();
            if (accept("+")) next();
        } else if (word == "inlined_at") {
            outer = place();
        } else {
            fail("unknown word in .loc: ", word);
        }
    }
    // The same place may be inlined at several others: the caller is the newest .loc of that place.
    auto locate = [&](const Place& at, int caller) {
        newest_[at] = locations_.size();
        locations_.push_back({at, caller});
        return newest_[at];
    };
    int caller = -1;
    if (outer.file >= 0) {
        auto known = newest_.find(outer);
        caller = known == newest_.end() ? locate(outer, -1) : known->second;
    }
    location_ = locate(here, caller);
}

/// Code inlined from a header of the toolkit belongs to the line that called it. The names of the files come
/// last in a PTX text, so this waits until its end.
void Parser::resolve_locations() {
    auto place_of = [&](int location) {
        if (location < 0) return Place{0, 0, 0};
        while (locations_[location].caller >= 0 &&
               toolkit_header(module_.files[locations_[location].place.file]))
            location = locations_[location].caller;
        return locations_[location].place;
    };
    for (auto& [name, function] : module_.functions)
        for (Instruction& in : function.code) {
            Place place = place_of(in.line);
            in.file = place.file;
            in.line = place.line;
        }
}

void parse_ptx(const string& text, Module& module) {
    Parser(text, module).parse_module();
}

}  // namespace ladder
