// Operands: registers, vectors, literals, special registers and addresses.
#include <algorithm>
#include <bit>
#include <cstring>

#include "machine/special_registers.hpp"
#include "ptx/parser.hpp"

namespace ladder {
namespace {
/// The type of an operand that is a single register, by its letter in the opcode table.
Type type_of(char letter, const Instruction& in) {
    switch (letter) {
        case 'U':
        case 'u':
            return Type::U32;
        case 'L':
        case 'l':
            return Type::U64;
        case 'P':
        case 'p':
            return Type::Predicate;
        case 's':
        case 'y':
            return in.type2;
        case 'D':
        case 'w':
            switch (in.type) {
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
        default:
            return in.type;
    }
}
}  // namespace

void Parser::parse_operands(Opcode& op) {
    Instruction& in = op.in;
    int sources = 0, addresses = 0;
    bool first = true, optional = false;
    for (char letter : string_view(op.operands)) {
        if (letter == '?') {
            optional = true;
            continue;
        }
        if (optional && peek() == ";") break;
        if (!first) expect(",");
        first = false;
        Type type = type_of(letter, in);
        switch (letter) {
            case 'd':
            case 'D':
            case 'U':
            case 'L':
            case 'P':
                in.destination = strict(in, type, true);
                if (accept("|")) in.destination2 = strict(in, Type::Predicate, true);
                break;
            case 'v':
            case 'x':
                loose(in, letter == 'v');
                break;
            case 'y': {
                Register r = source(next(), type);
                if (r.bytes < size_of(type)) fail("the source register is too narrow");
                in.source[sources++] = r.offset;
                in.source_bytes = r.bytes;
                break;
            }
            case '.':
                next();
                break;
            case 'm':
                parse_address(op, addresses++);
                break;
            case '*':
                parse_vector(op);
                break;
            default:
                in.source[sources++] = strict(in, type, false);
        }
    }
    expect(";");
    bool atomic = op.parts[0] == "atom" || op.parts[0] == "red";
    if (atomic && in.register_bytes != size_of(in.type)) fail("a register has the wrong width");
    if (op.parts[0] == "mov" && !in.list.empty() &&
        static_cast<int>(in.list.size()) * in.register_bytes != size_of(in.type))
        fail("the parts do not fit the whole");
    const Address& a = in.address[0];
    int64_t offset = a.displacement - a.variable, bytes = size_of(in.type) * in.list.size();
    if (a.stride && (offset < 0 || offset + bytes > a.stride))
        fail("the access lies outside of the parameter");
}

int Parser::literal(string_view s, Type type) {
    char kind = s.size() > 2 && s[0] == '0' ? s[1] | 32 : 0;  // 0f3f800000, 0d3ff0000000000000
    bool hex = kind == 'f' || kind == 'd', decimal = is_float(type) && s.find('.') != string_view::npos;
    uint64_t bits = hex ? std::strtoull(string(s.substr(2)).c_str(), nullptr, 16) : decimal ? 0 : integer(s);
    double value = kind == 'f'   ? std::bit_cast<float>(static_cast<uint32_t>(bits))
                   : kind == 'd' ? std::bit_cast<double>(bits)
                   : decimal     ? std::strtod(string(s).c_str(), nullptr)
                                 : 0;
    if (type == Type::F64 && (hex || decimal)) bits = std::bit_cast<uint64_t>(value);
    if (type == Type::F32 && (kind == 'd' || (decimal && !hex)))
        bits = std::bit_cast<uint32_t>(static_cast<float>(value));
    if (type == Type::Predicate) return splat(bits ? ~0u : 0, 0);
    int bytes = register_size(type);
    if (bytes < 8) bits &= (uint64_t{1} << 8 * bytes) - 1;
    return splat(bits, bytes);
}

/// Any source operand: a register, a special register, a literal, or a symbol's address.
Parser::Register Parser::source(string_view name, Type type) {
    int width = register_size(type), pointer = width == 8 ? 8 : 4;
    if (Register* r = find_register(name)) return *r;
    if (name == "_") return {allot(width), width};
    if (std::isdigit(static_cast<unsigned char>(name[0])) || name[0] == '-')
        return {literal(name, type), width};
    if (name == "WARP_SZ") return {splat(LANES, width), width};
    int64_t argument;
    if (SpecialValue special = find_special(name, argument)) {
        if (type == Type::Predicate) fail(name, " cannot be used here");
        return {preset(special, argument, width == 8), pointer};
    }
    Function* f = find_function(name);
    if (f && width == 8) return {splat(reinterpret_cast<uint64_t>(f), 8), 8};
    Symbol* s = find_symbol(name);
    if (!s) fail("unknown operand '", name, "'");
    if (width < 4) fail("an address does not fit its register");
    if (s->of_module) {
        function_->shared_variables[s->address] = 0;
        return {preset(module_shared_address, s->address, width == 8), pointer};
    }
    if (s->dynamic) {
        function_->dynamic_alignment = std::max(function_->dynamic_alignment, static_cast<int>(s->address));
        return {preset(dynamic_shared_address, 0, width == 8), pointer};
    }
    if (s->space == Space::Local) return {preset(local_address, s->address, width == 8), pointer};
    if (s->space == Space::CallParameter) fail("the address of a call parameter cannot be taken");
    return {splat(s->address, pointer), pointer};
}

/// An operand whose register must be as wide as its type.
int Parser::strict(Instruction& in, Type type, bool destination) {
    if (type == Type::None) fail("the opcode has no such type");
    if (type == Type::Predicate && !destination && accept("!")) in.predicate_negated = true;
    string_view name = next();
    if (destination) require_register(name);
    Register r = source(name, type);
    if (r.bytes != register_size(type)) fail("register '", name, "' has the wrong width");
    return r.offset;
}

/// A register, or {a, b, ...}, each of which may be wider than the type: ld, st, cvt, mov.
void Parser::loose(Instruction& in, bool destination) {
    bool vector = accept("{");
    do {
        string_view name = next();
        if (destination) require_register(name);
        Register r = source(name, in.type);
        if (r.bytes < size_of(in.type)) fail("register '", name, "' is too narrow");
        in.list.push_back(r.offset);
        in.register_bytes = r.bytes;
    } while (vector && accept(","));
    if (vector) expect("}");
    if (in.list.size() > 8) fail("the vector is too long");
}

/// A register or vector whose width only its registers say.
void Parser::parse_vector(Opcode& op) {
    Instruction& in = op.in;
    bool vector = accept("{");
    int n = 0;
    do {
        string_view name = next();
        Register* r = find_register(name);
        bool number = !r && std::isdigit(static_cast<unsigned char>(name[0]));
        if (!number) require_register(name);
        int bytes = r ? r->bytes : in.register_bytes ? in.register_bytes : 4;
        Type type = bytes == 2 ? Type::B16 : bytes == 8 ? Type::B64 : Type::B32;
        in.list.push_back(r ? r->offset : number ? literal(name, type) : allot(8));
        in.register_bytes = bytes;
        ++n;
    } while (vector && accept(","));
    if (vector) expect("}");
    size_t which = in.list_sizes.size();
    if (n > 8 || (which < op.fewest.size() && n < op.fewest[which]))
        fail("a vector of ", n, " registers does not fit");
    in.list_sizes.push_back(n);
}

void Parser::parse_address(Opcode& op, int which) {
    Instruction& in = op.in;
    Address& a = in.address[which];
    expect("[");
    string_view name = next();
    a.space = which == 0             ? in.space
              : which > 1            ? Space::Shared
              : op.spaces.size() > 1 ? op.spaces[1]
                                     : Space::Generic;
    if (Register* r = find_register(name)) {
        if (r->bytes < 4) fail("an address register must have 32 or 64 bits");
        a.base = r->offset;
        a.bytes = r->bytes;
    } else if (Symbol* s = find_symbol(name)) {
        if (s->dynamic || s->of_module || s->space == Space::Local) {
            a.base = source(name, Type::U64).offset;
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
    if (accept("+") || (peek() != "]" && peek() != ",")) a.displacement += integer(next());
    if (op.has("tensor") && accept(",")) parse_vector(op);  // [map, {x, y}]
    expect("]");
}
}  // namespace ladder
