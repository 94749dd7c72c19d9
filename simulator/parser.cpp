// Parser for the PTX that nvcc writes: declarations, statements and operands.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <set>
#include <tuple>
#include <utility>

#include "memory.h"
#include "opcodes.h"
#include "ptx_lexer.h"

namespace ladder {
namespace {

using std::string;
using std::string_view;

constexpr size_t kMaxFrame = 64u << 20, kMaxVariable = 1u << 30;

const std::map<string_view, Type> kTypes = {
    {"b8", Type::B8},         {"b16", Type::B16},   {"b32", Type::B32},       {"b64", Type::B64},
    {"b128", Type::B128},     {"u8", Type::U8},     {"u16", Type::U16},       {"u32", Type::U32},
    {"u64", Type::U64},       {"s8", Type::S8},     {"s16", Type::S16},       {"s32", Type::S32},
    {"s64", Type::S64},       {"f16", Type::F16},   {"bf16", Type::BF16},     {"f16x2", Type::F16x2},
    {"bf16x2", Type::BF16x2}, {"tf32", Type::TF32}, {"f32", Type::F32},       {"f64", Type::F64},
    {"u16x2", Type::B32},     {"s16x2", Type::B32}, {"pred", Type::Predicate}};
const std::map<string_view, Space> kSpaces = {
    {"global", Space::Global},        {"shared", Space::Shared},
    {"shared::cta", Space::Shared},   {"shared::cluster", Space::SharedCluster},
    {"local", Space::Local},          {"const", Space::Constant},
    {"param", Space::Parameter},      {"param::entry", Space::Parameter},
    {"param::func", Space::Parameter}};

const std::map<string_view, int> kSpecials = {{"%laneid", Laneid},
                                              {"%warpid", Warpid},
                                              {"%nwarpid", Nwarpid},
                                              {"%smid", Smid},
                                              {"%nsmid", Nsmid},
                                              {"%gridid", Gridid},
                                              {"%lanemask_eq", LanemaskEq},
                                              {"%lanemask_lt", LanemaskLt},
                                              {"%lanemask_le", LanemaskLe},
                                              {"%lanemask_gt", LanemaskGt},
                                              {"%lanemask_ge", LanemaskGe},
                                              {"%dynamic_smem_size", DynamicSharedSize},
                                              {"%total_smem_size", TotalSharedSize},
                                              {"%aggr_smem_size", TotalSharedSize},
                                              {"%envreg1", Envreg1},
                                              {"%envreg2", Envreg2},
                                              {"%cluster_ctarank", ClusterCtarank},
                                              {"%cluster_nctarank", ClusterNctarank},
                                              {"%is_explicit_cluster", IsCluster}};
const std::map<string_view, int> kSpecialVectors = {{"%tid", TidX},
                                                    {"%ntid", NtidX},
                                                    {"%ctaid", CtaidX},
                                                    {"%nctaid", NctaidX},
                                                    {"%clusterid", ClusteridX},
                                                    {"%nclusterid", NclusteridX},
                                                    {"%cluster_ctaid", ClusterCtaidX},
                                                    {"%cluster_nctaid", ClusterNctaidX}};

int find_special(string_view name) {
    if (auto it = kSpecials.find(name); it != kSpecials.end()) return it->second;
    size_t dot = name.find('.');
    auto it = dot == string_view::npos ? kSpecialVectors.end() : kSpecialVectors.find(name.substr(0, dot));
    if (it == kSpecialVectors.end() || dot + 2 != name.size()) return -1;
    char axis = name[dot + 1];
    return axis < 'x' || axis > 'z' ? -1 : it->second + (axis - 'x');
}
bool reads_clock(string_view name) {
    return name.rfind("%clock", 0) == 0 || name.rfind("%globaltimer", 0) == 0;
}

Type widened(Type t) {
    switch (t) {
        case Type::U16:
            return Type::U32;
        case Type::S16:
            return Type::S32;
        case Type::U32:
            return Type::U64;
        case Type::S32:
            return Type::S64;
        default:
            return Type::None;
    }
}

std::deque<Instruction*>& instruction_table() {
    static std::deque<Instruction*> table{nullptr};
    return table;
}

/// Headers of the toolkit: a line in them says less than the line that called into them.
bool toolkit_header(const string& path) {
    for (const char* part :
         {"/targets/x86_64-linux/include/", "/include/cccl/", "/include/crt/", "/include/cooperative_groups",
          "/include/cuda_", "/include/cub/", "/targets/sbsa-linux/include/"})
        if (path.find(part) != string::npos) return true;
    return false;
}

struct Symbol {
    Space space;
    int64_t address;  ///< offset in its space; global and constant: host address
    int size;
    bool dynamic = false;
};
struct Register {
    int offset, bytes;
};
struct Declaration {
    string name;
    size_t size = 0;
    int align = 1, element = 1;
    bool open = false;
};
struct Scope {
    int parent;
    std::map<string, Register, std::less<>> registers;
    std::map<string, Symbol, std::less<>> symbols;
    std::map<string, int, std::less<>> labels;
    std::map<string, std::vector<string>, std::less<>> tables;
};
struct Fixup {
    size_t instruction;
    string label;
    int scope, line;
};
struct Place {
    int file, line;
};

class Parser {
 public:
    Parser(const string& text, Module& module) : tokens_(tokenize(text)), module_(module) {}
    void parse_module();

 private:
    // Tokens.
    string_view peek(size_t ahead = 0) const {
        return tokens_[std::min(at_ + ahead, tokens_.size() - 1)].text;
    }
    bool at_end() const { return at_ + 1 >= tokens_.size(); }
    [[noreturn]] void fail(const string& why) const {
        throw ParseError(tokens_[at_ ? at_ - 1 : 0].line, why);
    }
    string next();
    bool accept(string_view s);
    void expect(string_view s);
    void skip_past(string_view s);
    int64_t integer(string_view s) const;
    int64_t count(int64_t limit);

    // The frame of the function being read.
    int allot(size_t bytes_per_lane);
    int allot_predicate();
    int literal(string_view s, Type type);
    int splat(uint64_t bits, int bytes);
    int preset(int kind, bool wide, int64_t value = 0);
    Register* find_register(string_view name);
    Symbol* find_symbol(string_view name);

    // Declarations.
    void declare_registers();
    Declaration declarator();
    void declare_variable(Space space, bool external);
    void initialise(char* to, size_t size, int element);
    void parse_function(bool entry);
    std::vector<Declaration> parameter_list();
    void add_parameters(const std::vector<Declaration>& from, std::vector<Parameter>& to);
    void function_directives();
    void parse_body();
    void finish_function();
    void parse_location();
    void parse_file();
    void resolve_locations();

    // Statements.
    void parse_statement(string first);
    void parse_label(const string& name);
    void parse_instruction(string first);
    void read_opcode(Opcode& op) const;
    void parse_operands(Opcode& op);
    int source(string_view name, Type type, int* bytes = nullptr);
    int strict(Type type, bool destination);
    void loose(Instruction& in, Type type, bool destination);
    int predicate(Instruction& in, bool destination);
    void parse_address(Instruction& in, int which);
    void parse_vector(Instruction& in);
    void parse_call(Instruction& in);
    void parse_branch(Instruction& in, bool indexed);
    int count_operands() const;
    void emit(Instruction in);

    std::vector<Token> tokens_;
    size_t at_ = 0;
    Module& module_;
    Function* function_ = nullptr;
    std::map<string, Symbol, std::less<>> module_symbols_;
    std::vector<Scope> scopes_;
    int scope_ = 0, module_shared_ = 0;
    std::map<std::pair<int, uint64_t>, int> literals_;
    std::map<std::tuple<int, bool, int64_t>, int> presets_;
    std::vector<Fixup> fixups_;
    std::map<std::tuple<int, int, int>, std::tuple<int, int, int>> inlined_;
    std::vector<std::pair<Place, std::tuple<int, int, int>>> locations_;
    int location_ = -1;
    Space op_space2_ = Space::Generic;
};

string Parser::next() {
    if (at_end()) fail("the text ends too early");
    return string(tokens_[at_++].text);
}
bool Parser::accept(string_view s) {
    if (at_end() || peek() != s) return false;
    ++at_;
    return true;
}
void Parser::expect(string_view s) {
    if (!accept(s)) fail("expected '" + string(s) + "' before '" + string(peek()) + "'");
}
void Parser::skip_past(string_view s) {
    while (next() != s) {
    }
}

int64_t Parser::integer(string_view s) const {
    bool negative = !s.empty() && s[0] == '-';
    string digits(s.substr(negative));
    if (!digits.empty() && digits.back() == 'U') digits.pop_back();
    char* end = nullptr;
    bool binary = digits.size() > 2 && digits[0] == '0' && (digits[1] == 'b' || digits[1] == 'B');
    const char* from = digits.c_str() + (binary ? 2 : 0);
    uint64_t v = std::strtoull(from, &end, binary ? 2 : 0);
    if (digits.empty() || end == from || *end) fail("'" + string(s) + "' is not a number");
    return static_cast<int64_t>(negative ? 0 - v : v);
}
int64_t Parser::count(int64_t limit) {
    int64_t v = integer(next());
    if (v < 0 || v > limit) fail("the number " + std::to_string(v) + " is out of range");
    return v;
}

int Parser::allot(size_t bytes_per_lane) {
    size_t offset = (function_->image.size() + 63) & ~size_t{63};
    if (bytes_per_lane > kMaxFrame / kLanes || offset + bytes_per_lane * kLanes > kMaxFrame)
        fail("too many registers");
    function_->image.resize(offset + bytes_per_lane * kLanes);
    return static_cast<int>(offset);
}
int Parser::allot_predicate() {
    size_t offset = (function_->image.size() + 3) & ~size_t{3};
    if (offset > kMaxFrame) fail("too many predicates");
    function_->image.resize(offset + 4);
    return static_cast<int>(offset);
}
int Parser::splat(uint64_t bits, int bytes) {
    auto [it, fresh] = literals_.try_emplace({bytes, bits}, 0);
    if (!fresh) return it->second;
    int offset = bytes == 0 ? allot_predicate() : allot(bytes);
    if (bytes == 0) std::memcpy(&function_->image[offset], &bits, 4);
    for (int l = 0; bytes && l < kLanes; ++l)
        std::memcpy(&function_->image[offset + l * bytes], &bits, std::min(bytes, 8));
    return it->second = offset;
}
int Parser::literal(string_view s, Type type) {
    bool hex_float = s.size() > 2 && s[0] == '0' && (s[1] == 'f' || s[1] == 'F');
    bool hex_double = s.size() > 2 && s[0] == '0' && (s[1] == 'd' || s[1] == 'D');
    bool decimal = is_float(type) && s.find('.') != string_view::npos;
    uint64_t bits = 0;
    double value = 0;
    if (hex_float || hex_double) {
        bits = std::strtoull(string(s.substr(2)).c_str(), nullptr, 16);
        uint32_t low = static_cast<uint32_t>(bits);
        float single;
        std::memcpy(&single, &low, 4);
        if (hex_float) value = single;
        if (hex_double) std::memcpy(&value, &bits, 8);
    } else if (decimal) {
        value = std::strtod(string(s).c_str(), nullptr);
    } else {
        bits = static_cast<uint64_t>(integer(s));
    }
    if (type == Type::F64 && (hex_float || decimal)) std::memcpy(&bits, &value, 8);
    if (type == Type::F32 && (hex_double || decimal)) {
        float single = static_cast<float>(value);
        uint32_t low;
        std::memcpy(&low, &single, 4);
        bits = low;
    }
    if (type == Type::Predicate) return splat(bits ? ~0u : 0, 0);
    int bytes = std::max(2, size_of(type));
    if (bytes < 8) bits &= (uint64_t{1} << 8 * bytes) - 1;
    return splat(bits, bytes);
}
int Parser::preset(int kind, bool wide, int64_t value) {
    auto [it, fresh] = presets_.try_emplace({kind, wide, value}, 0);
    if (!fresh) return it->second;
    int offset = allot(wide ? 8 : 4);
    function_->presets.push_back({kind, offset, wide, value});
    return it->second = offset;
}

Register* Parser::find_register(string_view name) {
    for (int s = scope_; s >= 0; s = scopes_[s].parent)
        if (auto it = scopes_[s].registers.find(name); it != scopes_[s].registers.end()) return &it->second;
    return nullptr;
}
Symbol* Parser::find_symbol(string_view name) {
    for (int s = function_ ? scope_ : -1; s >= 0; s = scopes_[s].parent)
        if (auto it = scopes_[s].symbols.find(name); it != scopes_[s].symbols.end()) return &it->second;
    auto it = module_symbols_.find(name);
    return it == module_symbols_.end() ? nullptr : &it->second;
}

void Parser::declare_registers() {
    string name = next();
    auto type = kTypes.find(string_view(name).substr(std::min<size_t>(1, name.size())));
    if (type == kTypes.end()) fail("'" + name + "' is not a register type");
    bool is_predicate = type->second == Type::Predicate;
    int bytes = is_predicate ? 0 : std::max(2, size_of(type->second));
    auto declare = [&](const string& n) {
        scopes_[scope_].registers[n] = {is_predicate ? allot_predicate() : allot(bytes), bytes};
    };
    do {
        name = next();
        if (accept("<")) {
            int64_t n = count(1 << 20);
            expect(">");
            for (int64_t i = 0; i < n; ++i) declare(name + std::to_string(i));
        } else {
            declare(name);
        }
    } while (accept(","));
    expect(";");
}

Declaration Parser::declarator() {
    Declaration d;
    Type type = Type::B8;
    int vector = 1;
    while (!peek().empty() && peek()[0] == '.') {
        string s = next().substr(1);
        if (s == "align") {
            d.align = static_cast<int>(count(1 << 16));
            if (d.align == 0 || (d.align & (d.align - 1))) fail("alignment must be a power of two");
        } else if (s == "v2" || s == "v4") {
            vector = s[1] - '0';
        } else if (auto t = kTypes.find(s); t != kTypes.end()) {
            type = t->second;
        } else if (s != "ptr" && !kSpaces.count(s)) {
            fail("unknown qualifier ." + s);
        }
    }
    d.name = next();
    d.element = std::max(1, size_of(type));
    d.size = static_cast<size_t>(d.element) * vector;
    d.align = std::max(d.align, static_cast<int>(d.size));
    while (accept("[")) {
        if (accept("]")) {
            d.open = true;
            continue;
        }
        d.size *= static_cast<size_t>(count(kMaxVariable));
        if (d.size > kMaxVariable) fail(d.name + " is too large");
        expect("]");
    }
    return d;
}

void Parser::declare_variable(Space space, bool external) {
    do {
        Declaration d = declarator();
        Symbol s{space, 0, static_cast<int>(d.size)};
        auto place = [&](int& top) {
            int64_t begin = (int64_t{top} + d.align - 1) / d.align * d.align;
            if (begin + static_cast<int64_t>(d.size) > static_cast<int64_t>(kMaxVariable))
                fail(d.name + " is too large");
            s.address = begin;
            top = static_cast<int>(begin + d.size);
        };
        if (space == Space::Shared) {
            s.dynamic = external && d.open;
            if (!s.dynamic) place(function_ && function_->entry ? function_->shared_bytes : module_shared_);
        } else if (space == Space::Local) {
            if (!function_) fail(".local outside of a function");
            place(function_->local_bytes);
        } else if (space == Space::Parameter) {
            if (!function_) fail(".param outside of a function");
            s.space = Space::CallParameter;
            s.address = allot(d.size);
        } else if (space == Space::Global || space == Space::Constant) {
            Region* region = memory().add_variable(d.name, d.size, space == Space::Constant);
            s.address = static_cast<int64_t>(region->base);
            module_.variables[d.name] = {region->data, d.size, false};
        } else {
            fail("a variable cannot lie in this space");
        }
        if (accept("=")) {
            if (space != Space::Global && space != Space::Constant)
                fail("this space takes no initial values");
            initialise(reinterpret_cast<char*>(s.address), d.size, d.element);
        }
        if (function_ && space != Space::Global && space != Space::Constant)
            scopes_[scope_].symbols[d.name] = s;
        else
            module_symbols_[d.name] = s;
    } while (accept(","));
    expect(";");
}

void Parser::initialise(char* to, size_t size, int element) {
    int depth = 0;
    size_t at = 0;
    do {
        if (accept("{")) {
            ++depth;
        } else if (accept("}")) {
            --depth;
        } else if (!accept(",")) {
            string v = next();
            uint64_t bits;
            bool generic = v == "generic" && accept("(");
            if (generic) v = next();
            if (generic) expect(")");
            if (Symbol* other = find_symbol(v)) {
                bits = static_cast<uint64_t>(other->address);
                if (accept("+")) bits += static_cast<uint64_t>(integer(next()));
            } else if (auto f = module_.functions.find(v); f != module_.functions.end()) {
                bits = reinterpret_cast<uint64_t>(&f->second);
            } else if (v.size() > 2 && v[0] == '0' && std::strchr("fFdD", v[1])) {
                bits = std::strtoull(v.c_str() + 2, nullptr, 16);
            } else {
                bits = static_cast<uint64_t>(integer(v));
            }
            if (at + element > size) fail("too many initial values");
            std::memcpy(to + at, &bits, std::min(element, 8));
            at += element;
        }
    } while (depth > 0);
}

std::vector<Declaration> Parser::parameter_list() {
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
        int size = static_cast<int>(d.size), offset;
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
    auto product = [&](int* each) {
        int64_t all = 1;
        for (int k = 0; k == 0 || (k < 3 && accept(",")); ++k) {
            int64_t n = count(1 << 20);
            if (each) each[k] = static_cast<int>(n);
            all = std::min<int64_t>(all * n, 1 << 20);
        }
        return static_cast<int>(all);
    };
    while (!peek().empty() && peek()[0] == '.') {
        string s = next();
        if (s == ".maxntid" || s == ".reqntid") {
            int n = product(nullptr);
            function_->max_threads = std::min(1024, n);
            if (s == ".reqntid") function_->required_threads = n;
        } else if (s == ".reqnctapercluster") {
            std::fill_n(function_->cluster, 3, 1);
            product(function_->cluster);
        } else if (s == ".pragma") {
            skip_past(";");
        } else {
            while (!peek().empty() && (std::isdigit(static_cast<unsigned char>(peek()[0])) || peek() == ","))
                ++at_;
        }
    }
}

void Parser::parse_function(bool entry) {
    std::vector<Declaration> inputs, outputs;
    if (!entry && peek() == "(") outputs = parameter_list();
    string name = next();
    if (peek() == "(") inputs = parameter_list();
    Function& f = module_.functions[name];
    if (f.defined) fail("function " + name + " is defined twice");
    f = Function();
    f.name = name;
    f.entry = entry;
    f.module = &module_;
    f.shared_bytes = entry ? module_shared_ : 0;
    function_ = &f;
    scopes_.assign(1, {-1, {}, {}, {}, {}});
    scope_ = 0;
    literals_.clear();
    presets_.clear();
    fixups_.clear();
    location_ = -1;
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
        string s = next();
        if (s == "{") {
            scopes_.push_back({scope_, {}, {}, {}, {}});
            scope_ = static_cast<int>(scopes_.size()) - 1;
        } else if (s == "}") {
            if (scope_ == 0) return;
            scope_ = scopes_[scope_].parent;
        } else {
            parse_statement(std::move(s));
        }
    }
}

void Parser::parse_statement(string s) {
    if (s == ".reg") return declare_registers();
    if (s == ".loc") return parse_location();
    if (s == ".file") return parse_file();
    if (s == ".pragma") return skip_past(";");
    if (s == ";") return;
    if (s[0] == '.') {
        auto space = kSpaces.find(string_view(s).substr(1));
        if (space == kSpaces.end()) fail("unknown directive " + s);
        return declare_variable(space->second, false);
    }
    if (accept(":")) return parse_label(s);
    parse_instruction(std::move(s));
}

void Parser::parse_label(const string& name) {
    if (!scopes_[scope_].labels.try_emplace(name, static_cast<int>(function_->code.size())).second)
        fail("label " + name + " is set twice");
    if (accept(".branchtargets")) {
        do scopes_[scope_].tables[name].push_back(next());
        while (accept(","));
        expect(";");
    } else if (peek() == ".callprototype" || peek() == ".calltargets") {
        skip_past(";");
    }
}

void Parser::finish_function() {
    function_->local_bytes = (function_->local_bytes + 15) & ~15;
    Instruction end;
    end.text = "ret";
    end.line = location_;
    Opcode op{{"ret"}, {}, end};
    end.handler = select_handler(op);
    emit(end);
    auto find_label = [&](const string& label, const Fixup& at) {
        for (int s = at.scope; s >= 0; s = scopes_[s].parent)
            if (auto it = scopes_[s].labels.find(label); it != scopes_[s].labels.end()) return it->second;
        throw ParseError(at.line, "there is no label " + label);
    };
    auto find_table = [&](const Fixup& at) -> const std::vector<string>* {
        for (int s = at.scope; s >= 0; s = scopes_[s].parent)
            if (auto it = scopes_[s].tables.find(at.label); it != scopes_[s].tables.end()) return &it->second;
        return nullptr;
    };
    for (const Fixup& fix : fixups_) {
        Instruction& in = function_->code[fix.instruction];
        if (auto* table = find_table(fix))
            for (const string& label : *table) in.table.push_back(find_label(label, fix));
        else
            in.target = find_label(fix.label, fix);
    }
    find_reconvergence(*function_);
    for (Instruction& in : function_->code) {
        in.function = function_;
        in.id = static_cast<uint32_t>(instruction_table().size());
        instruction_table().push_back(&in);
        if (!in.handler && !function_->not_simulated) function_->not_simulated = &in;
    }
    function_->defined = true;
}

void Parser::parse_file() {
    int number = static_cast<int>(count(1 << 30));
    string name = next();
    if (name.size() < 2 || name[0] != '"') fail("a file name is missing");
    module_.files[number] = name.substr(1, name.size() - 2);
    while (accept(",")) next();
}

void Parser::parse_location() {
    int file = static_cast<int>(count(1 << 30)), line = static_cast<int>(count(1 << 30));
    int column = static_cast<int>(count(1 << 30));
    Place place{file, line};
    std::tuple<int, int, int> here{file, line, column}, outer{-1, 0, 0};
    while (accept(",")) {
        string word = next();
        if (word == "function_name") {
            next();
            if (accept("+")) next();
        } else if (word == "inlined_at") {
            int f = static_cast<int>(count(1 << 30)), l = static_cast<int>(count(1 << 30));
            outer = {f, l, static_cast<int>(count(1 << 30))};
        } else {
            fail("unknown word in .loc: " + word);
        }
    }
    if (std::get<0>(outer) >= 0) inlined_[here] = outer;
    location_ = static_cast<int>(locations_.size());
    locations_.push_back({place, outer});
}

void Parser::read_opcode(Opcode& op) const {
    Instruction& in = op.in;
    bool first = true;
    for (const string& part : op.parts) {
        if (std::exchange(first, false)) continue;
        if (auto t = kTypes.find(part); t != kTypes.end()) op.types.push_back(t->second);
        if (auto s = kSpaces.find(part); s != kSpaces.end()) op.spaces.push_back(s->second);
        if (part == "volatile" || part == "relaxed" || part == "acquire" || part == "release" ||
            part == "acq_rel")
            in.strong = true;
        if (part == "acquire" || part == "acq_rel") in.acquire = true;
        if (part == "release" || part == "acq_rel") in.release = true;
        if (part == "sat") in.saturate = true;
        if (part == "rz" || part == "rm" || part == "rp") in.rounding = part[1];
    }
    if (!op.spaces.empty()) in.space = op.spaces[0];
    if (!op.types.empty()) in.type = op.types[0];
    if (op.types.size() > 1) in.type2 = op.types[1];
}

void Parser::parse_instruction(string s) {
    Instruction in;
    if (s == "@") {
        in.guard_negated = accept("!");
        Register* guard = find_register(next());
        if (!guard || guard->bytes) fail("the guard is not a predicate");
        in.guard = guard->offset;
        s = next();
    }
    if (!std::isalpha(static_cast<unsigned char>(s[0]))) fail("'" + s + "' is not an instruction");
    in.text = s;
    in.line = location_;
    Opcode op{{}, {}, in};
    for (size_t i = 0, j; i <= s.size(); i = j + 1) {
        j = std::min(s.find('.', i), s.size());
        op.parts.push_back(s.substr(i, j - i));
    }
    read_opcode(op);
    op.vector_destination = peek() == "{";
    for (size_t k = 1; !op.vector_destination && k < 3; ++k) op.vector_source |= peek(k) == "{";
    op_space2_ = op.spaces.size() > 1 ? op.spaces[1] : Space::Generic;
    op.operand_count = count_operands();
    if (op.parts[0] == "mov" && reads_clock(peek(2))) op.parts[0] = "%clock";
    in.handler = select_handler(op);
    if (!in.handler) {
        skip_past(";");
    } else if (op.parts[0] == "call") {
        parse_call(in);
    } else if (op.parts[0] == "bra" || op.parts[0] == "brx") {
        parse_branch(in, op.parts[0] == "brx");
    } else {
        parse_operands(op);
        expect(";");
    }
    emit(std::move(in));
}

int Parser::count_operands() const {
    int n = peek() == ";" ? 0 : 1, depth = 0;
    for (size_t k = 0; !peek(k).empty() && peek(k) != ";"; ++k) {
        if (peek(k) == "{" || peek(k) == "[" || peek(k) == "(") ++depth;
        if (peek(k) == "}" || peek(k) == "]" || peek(k) == ")") --depth;
        n += depth == 0 && peek(k) == ",";
    }
    return n;
}

void Parser::emit(Instruction in) {
    function_->code.push_back(std::move(in));
}

/// Any source operand: a register, a special register, a literal, or a symbol's address.
int Parser::source(string_view name, Type type, int* bytes) {
    int width = type == Type::Predicate ? 0 : std::max(2, size_of(type));
    if (bytes) *bytes = width;
    if (Register* r = find_register(name)) {
        if (bytes) *bytes = r->bytes;
        return r->offset;
    }
    if (name == "_") return type == Type::Predicate ? allot_predicate() : allot(width);
    if (name.empty()) fail("an operand is missing");
    if (std::isdigit(static_cast<unsigned char>(name[0])) || name[0] == '-') return literal(name, type);
    if (name == "WARP_SZ") return splat(kLanes, width);
    bool wide = width == 8;
    if (int special = find_special(name); special >= 0) {
        if (type == Type::Predicate) fail(string(name) + " cannot be used here");
        if (bytes) *bytes = wide ? 8 : 4;
        return preset(special, wide);
    }
    if (auto f = module_.functions.find(string(name)); f != module_.functions.end() && wide)
        return splat(reinterpret_cast<uint64_t>(&f->second), 8);
    if (Symbol* s = find_symbol(name)) {
        if (width < 4) fail("an address does not fit its register");
        if (bytes) *bytes = wide ? 8 : 4;
        if (s->dynamic) return preset(DynamicSharedAddress, wide);
        if (s->space == Space::Local) return preset(LocalAddress, wide, s->address);
        if (s->space == Space::CallParameter) fail("the address of a call parameter cannot be taken");
        return splat(static_cast<uint64_t>(s->address), wide ? 8 : 4);
    }
    fail("unknown operand '" + string(name) + "'");
}

/// An operand whose register must be as wide as its type.
int Parser::strict(Type type, bool destination) {
    if (type == Type::None) fail("the opcode has no such type");
    string name = next();
    int bytes = 0, want = type == Type::Predicate ? 0 : std::max(2, size_of(type));
    if (destination && name != "_" && !find_register(name)) fail("'" + name + "' is not a register");
    int offset = source(name, type, &bytes);
    if (bytes != want) fail("register '" + name + "' has the wrong width");
    return offset;
}

int Parser::predicate(Instruction& in, bool destination) {
    if (!destination && accept("!")) in.predicate_negated = true;
    return strict(Type::Predicate, destination);
}

/// A register, or {a, b, ...}, each of which may be wider than the type: ld, st, cvt, mov.
void Parser::loose(Instruction& in, Type type, bool destination) {
    bool vector = accept("{");
    do {
        string name = next();
        int bytes = 0;
        if (destination && name != "_" && !find_register(name)) fail("'" + name + "' is not a register");
        in.list.push_back(source(name, type, &bytes));
        if (bytes < size_of(type)) fail("register '" + name + "' is too narrow");
        in.register_bytes = static_cast<uint8_t>(bytes);
    } while (vector && accept(","));
    if (vector) expect("}");
    if (in.list.size() > 8) fail("the vector is too long");
}

void Parser::parse_vector(Instruction& in) {
    bool vector = accept("{");
    int n = 0;
    do {
        string name = next();
        Register* r = find_register(name);
        bool number = !r && std::isdigit(static_cast<unsigned char>(name[0]));
        if (!r && !number && name != "_") fail("'" + name + "' is not a register");
        int bytes = r ? r->bytes : in.register_bytes ? in.register_bytes : 4;
        in.list.push_back(r        ? r->offset
                          : number ? literal(name, bytes == 2   ? Type::B16
                                                   : bytes == 8 ? Type::B64
                                                                : Type::B32)
                                   : allot(8));
        in.register_bytes = static_cast<uint8_t>(bytes);
        ++n;
    } while (vector && accept(","));
    if (vector) expect("}");
    in.list_sizes.push_back(n);
}

void Parser::parse_address(Instruction& in, int which) {
    Address& a = in.address[which];
    expect("[");
    string name = next();
    a.space = which == 0 ? in.space : which == 1 ? op_space2_ : Space::Shared;
    if (Register* r = find_register(name)) {
        if (r->bytes < 4) fail("an address register must have 32 or 64 bits");
        a.base = r->offset;
        a.bytes = static_cast<uint8_t>(r->bytes);
    } else if (Symbol* s = find_symbol(name)) {
        if (s->dynamic || s->space == Space::Local) {
            a.base = source(name, Type::U64);
            a.bytes = 8;
        } else {
            a.displacement = s->address;
        }
        if (s->space == Space::CallParameter) {
            a.stride = s->size;
            a.variable = s->address;
        }
        if (s->space == Space::Parameter || s->space == Space::CallParameter) a.space = in.space = s->space;
        if (a.space == Space::Generic) a.space = s->space;
    } else {
        a.displacement = integer(name);
    }
    if (accept("+"))
        a.displacement += integer(next());
    else if (peek() != "]")
        a.displacement += integer(next());
    expect("]");
}

void Parser::parse_operands(Opcode& op) {
    Instruction& in = op.in;
    int sources = 0, addresses = 0;
    bool first = true, optional = false;
    auto destination = [&](Type t) { in.destination = strict(t, true); };
    auto add = [&](int offset) { in.source[sources++] = offset; };
    for (const char* letter = op.operands; *letter; ++letter) {
        if (*letter == '?') {
            optional = true;
            continue;
        }
        if (optional && peek() == ";") break;
        if (!std::exchange(first, false)) expect(",");
        switch (*letter) {
            case 'd':
                destination(in.type);
                break;
            case 'D':
                destination(widened(in.type));
                break;
            case 'U':
                destination(Type::U32);
                break;
            case 'L':
                destination(Type::U64);
                break;
            case 'P':
                in.destination = predicate(in, true);
                break;
            case 't':
                add(strict(in.type, false));
                break;
            case 's':
                add(strict(in.type2, false));
                break;
            case 'w':
                add(strict(widened(in.type), false));
                break;
            case 'u':
                add(strict(Type::U32, false));
                break;
            case 'l':
                add(strict(Type::U64, false));
                break;
            case 'p':
                add(predicate(in, false));
                break;
            case 'v':
                loose(in, in.type, true);
                break;
            case 'x':
                loose(in, in.type, false);
                break;
            case 'y': {
                int bytes = 0;
                add(source(next(), in.type2, &bytes));
                if (bytes < size_of(in.type2)) fail("the source register is too narrow");
                in.source_bytes = static_cast<uint8_t>(bytes);
                break;
            }
            case '.':
                next();
                break;
            case 'm':
                parse_address(in, addresses++);
                break;
            case '*':
                parse_vector(in);
                break;
            default:
                fail("bad operand table");
        }
        if (std::strchr("dDULP", *letter) && *letter && accept("|"))
            in.destination2 = strict(Type::Predicate, true);
    }
    bool atomic = op.parts[0] == "atom" || op.parts[0] == "red";
    if (atomic && in.register_bytes != size_of(in.type)) fail("a register has the wrong width");
    const Address& a = in.address[0];
    int64_t offset = a.displacement - a.variable,
            bytes = size_of(in.type) * static_cast<int64_t>(in.list.size());
    if (a.stride && (offset < 0 || offset + bytes > a.stride))
        fail("the access lies outside of the parameter");
}

void Parser::parse_call(Instruction& in) {
    auto names = [&] {
        std::vector<string> list;
        expect("(");
        while (!accept(")")) {
            list.push_back(next());
            if (!accept(",") && peek() != ")") fail("expected ',' or ')' in a call");
        }
        return list;
    };
    // Each slot's size goes to list_sizes, arguments first: a call through a pointer compares them when it
    // runs.
    auto slots = [&](const std::vector<string>& list, const std::vector<Parameter>* want,
                     std::vector<int>& to) {
        if (want && list.size() != want->size()) fail("the call's arguments do not fit the function");
        for (size_t k = 0; k < list.size(); ++k) {
            Symbol* s = find_symbol(list[k]);
            Register* r = find_register(list[k]);
            int size = s && s->space == Space::CallParameter ? s->size : r ? r->bytes : -1;
            if (size < 0 || (want && size != (*want)[k].size))
                fail("the argument '" + list[k] + "' does not fit the function");
            in.list_sizes.push_back(size);
            to.push_back(r ? r->offset : static_cast<int>(s->address));
        }
    };
    std::vector<string> outputs, inputs;
    if (peek() == "(") {
        outputs = names();
        expect(",");
    }
    string name = next();
    if (accept(",")) {
        if (peek() == "(") inputs = names();
        if (accept(",")) next();
    }
    expect(";");
    auto callee = module_.functions.find(name);
    Register* pointer = find_register(name);
    if (callee == module_.functions.end() && (!pointer || pointer->bytes != 8))
        fail("call of an unknown function " + name);
    if (pointer)
        in.source[0] = pointer->offset;
    else
        in.callee = &callee->second;
    slots(inputs, pointer ? nullptr : &callee->second.parameters, in.arguments);
    slots(outputs, pointer ? nullptr : &callee->second.results, in.results);
}

void Parser::parse_branch(Instruction& in, bool indexed) {
    if (indexed) {
        in.source[0] = strict(Type::U32, false);
        expect(",");
    }
    int line = tokens_[at_].line;
    fixups_.push_back({function_->code.size(), next(), scope_, line});
    expect(";");
}

void Parser::parse_module() {
    bool external = false, managed = false;
    while (!at_end()) {
        string s = next();
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
        } else if (s[0] == '.' && kSpaces.count(string_view(s).substr(1))) {
            managed = accept(".attribute");
            if (managed) skip_past(")");
            declare_variable(kSpaces.at(string_view(s).substr(1)), external);
            external = false;
        } else {
            fail("unexpected '" + s + "'");
        }
    }
    resolve_locations();
}

/// Code inlined from a header of the toolkit belongs to the line that called it. The names of the files come
/// last in a PTX text, so this waits until its end.
void Parser::resolve_locations() {
    for (auto& [place, outer] : locations_)
        for (int depth = 0;
             depth < 64 && std::get<0>(outer) >= 0 && toolkit_header(module_.files[place.file]); ++depth) {
            place = {std::get<0>(outer), std::get<1>(outer)};
            auto next_outer = inlined_.find(outer);
            outer = next_outer == inlined_.end() ? std::tuple(-1, 0, 0) : next_outer->second;
        }
    for (auto& [name, function] : module_.functions)
        for (Instruction& in : function.code) {
            Place place = in.line < 0 ? Place{0, 0} : locations_[in.line].first;
            in.file = place.file;
            in.line = place.line;
        }
}

}  // namespace

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

void parse_ptx(const string& text, Module& module) {
    Parser(text, module).parse_module();
}

const Instruction* instruction_by_id(uint32_t id) {
    return id < instruction_table().size() ? instruction_table()[id] : nullptr;
}

string source_place(const Instruction& in) {
    auto file = in.function->module->files.find(in.file);
    return (file == in.function->module->files.end() ? "?" : file->second) + ":" + std::to_string(in.line);
}

bool Opcode::has(const char* part) const {
    return std::find(parts.begin() + 1, parts.end(), part) != parts.end();
}

Handler select_handler(Opcode& op) {
    static const std::map<string, OpcodeEntry> table = [] {
        std::map<string, OpcodeEntry> all;
        for (auto group :
             {integer_opcodes, float_opcodes, convert_opcodes, control_opcodes, memory_opcodes,
              atomic_opcodes, warp_opcodes, barrier_opcodes, async_opcodes, matrix_opcodes, wmma_opcodes})
            for (const OpcodeEntry& e : group()) all[e.name] = e;
        return all;
    }();
    auto it = table.find(op.parts[0]);
    if (it == table.end()) return nullptr;
    op.operands = it->second.operands;
    return it->second.select(op);
}

}  // namespace ladder
