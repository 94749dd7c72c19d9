// Declarations of registers and variables, and the names of types and spaces.
#include <algorithm>
#include <cstring>

#include "machine/memory.hpp"
#include "ptx/parser.hpp"

namespace ladder {
namespace {
constexpr int MAX_VARIABLE = 1 << 30;

template <class T>
const T* look_up(const std::map<string_view, T>& names, string_view name) {
    auto it = names.find(name);
    return it == names.end() ? nullptr : &it->second;
}
}  // namespace

const Type* find_type(string_view name) {
    using enum Type;
    static const std::map<string_view, Type> types = {
        {"b8", B8},   {"b16", B16}, {"b32", B32},   {"b64", B64},     {"b128", B128},     {"u8", U8},
        {"u16", U16}, {"u32", U32}, {"u64", U64},   {"s8", S8},       {"s16", S16},       {"s32", S32},
        {"s64", S64}, {"f16", F16}, {"bf16", BF16}, {"f16x2", F16x2}, {"bf16x2", BF16x2}, {"tf32", TF32},
        {"f32", F32}, {"f64", F64}, {"u16x2", B32}, {"s16x2", B32},   {"pred", Predicate}};
    return look_up(types, name);
}
const Space* find_space(string_view name) {
    using enum Space;
    static const std::map<string_view, Space> spaces = {
        {"global", Global},        {"shared", Shared},
        {"shared::cta", Shared},   {"shared::cluster", SharedCluster},
        {"local", Local},          {"const", Constant},
        {"param", Parameter},      {"param::entry", Parameter},
        {"param::func", Parameter}};
    return look_up(spaces, name);
}

void Parser::declare_registers() {
    string_view name = next();
    const Type* type = find_type(name.substr(std::min<size_t>(1, name.size())));
    if (!type) fail("'", name, "' is not a register type");
    int bytes = register_size(*type);
    auto declare = [&](const string& n) { scopes_[scope_].registers[n] = {allot(bytes), bytes}; };
    do {
        string prefix(next());
        if (accept("<")) {
            int n = count(1 << 20);
            expect(">");
            for (int i = 0; i < n; ++i) declare(prefix + std::to_string(i));
        } else {
            declare(prefix);
        }
    } while (accept(","));
    expect(";");
}

Parser::Declaration Parser::declarator() {
    Declaration d;
    int vector = 1;
    while (!peek().empty() && peek()[0] == '.') {
        string_view s = next().substr(1);
        if (s == "align") {
            d.align = count(1 << 16);
            if (d.align == 0 || (d.align & (d.align - 1))) fail("alignment must be a power of two");
        } else if (s == "v2" || s == "v4") {
            vector = s[1] - '0';
        } else if (const Type* type = find_type(s)) {
            d.element = std::max(1, size_of(*type));
        } else if (s != "ptr" && !find_space(s)) {
            fail("unknown qualifier .", s);
        }
    }
    d.name = next();
    d.size = d.element * vector;
    d.align = std::max<int>(d.align, d.size);
    while (accept("[")) {
        if (accept("]")) {
            d.open = true;
            continue;
        }
        d.size *= count(MAX_VARIABLE);
        if (d.size > MAX_VARIABLE) fail(d.name, " is too large");
        expect("]");
    }
    return d;
}

void Parser::declare_variable(Space space, bool external) {
    bool in_memory = space == Space::Global || space == Space::Constant;
    do {
        Declaration d = declarator();
        Symbol s{space, 0, static_cast<int>(d.size)};
        auto place = [&](int& top) {
            s.address = (int64_t{top} + d.align - 1) / d.align * d.align;
            if (s.address + s.size > MAX_VARIABLE) fail(d.name, " is too large");
            top = s.address + s.size;
        };
        if (!function_ && (space == Space::Local || space == Space::Parameter))
            fail(d.name, " lies outside of a function");
        if (space == Space::Shared) {
            s.dynamic = external && d.open;
            s.of_module = !s.dynamic && !(function_ && function_->entry);
            if (s.dynamic) {
                s.address = d.align;
            } else if (s.of_module) {
                s.address = module_shared_.size();
                module_shared_.push_back(d);
            } else {
                if (function_->shared_bytes > MAX_VARIABLE - s.size - d.align) fail(d.name, " is too large");
                s.address =
                    place_shared(function_->shared_layout, function_->shared_bytes, d.name, s.size, d.align);
            }
        } else if (space == Space::Local) {
            place(function_->local_bytes);
        } else if (space == Space::Parameter) {
            s.space = Space::CallParameter;
            s.address = allot(d.size);
        } else if (in_memory) {
            Region* region = memory().add_variable(d.name, d.size,
                                                   space == Space::Constant ? RegionKind::Constant
                                                   : managed_               ? RegionKind::Managed
                                                                            : RegionKind::Variable);
            s.address = region->base;
            module_.variables[d.name] = reinterpret_cast<void*>(region->base);
        } else {
            fail("a variable cannot lie in this space");
        }
        if (accept("=")) {
            if (!in_memory) fail("this space takes no initial values");
            initialise(memory().find(s.address)->data, d.size, d.element);
        }
        (function_ && !in_memory ? scopes_[scope_].symbols : module_symbols_)[d.name] = s;
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
            string_view v = next();
            uint64_t bits;
            bool generic = v == "generic" && accept("(");
            if (generic) {
                v = next();
                expect(")");
            }
            if (Symbol* other = find_symbol(v)) {
                if (other->space == Space::Shared) fail(v, " has no address before a kernel runs");
                bits = other->address;
                if (accept("+")) bits += integer(next());
            } else if (Function* f = find_function(v)) {
                bits = reinterpret_cast<uint64_t>(f);
            } else if (v.size() > 2 && v[0] == '0' && std::strchr("fFdD", v[1])) {
                bits = std::strtoull(string(v.substr(2)).c_str(), nullptr, 16);
            } else {
                bits = integer(v);
            }
            if (at + element > size) fail("too many initial values");
            std::memcpy(to + at, &bits, std::min(element, 8));
            at += element;
        }
    } while (depth > 0);
}
}  // namespace ladder
