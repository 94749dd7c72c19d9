// The parser for the PTX that nvcc writes. parser.cpp: modules and functions; parser_declarations.cpp:
// registers and variables; parser_instructions.cpp: statements and opcodes; parser_operands.cpp: operands.
#pragma once
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "counts/report.hpp"
#include "opcodes/opcodes.hpp"
#include "ptx/lexer.hpp"
#include "ptx/program.hpp"

namespace ladder {
using std::string;
using std::string_view;

/// The type or space of a name without its dot, or null.
const Type* find_type(string_view name);
const Space* find_space(string_view name);
/// Bytes of a register for values of a type.
inline int register_size(Type t) {
    return t == Type::Predicate ? 0 : std::max(2, size_of(t));
}

/// A PTX text that cannot be read; `line` counts from 1 in that text.
struct ParseError : std::runtime_error {
    ParseError(int at, const std::string& why)
        : std::runtime_error("PTX line " + std::to_string(at) + ": " + why), line(at) {}
    int line;
};

/// Reads a PTX text into `module`. Throws ParseError.
void parse_ptx(const string& text, Module& module);

class Parser {
 public:
    Parser(const string& text, Module& module) : tokens_(tokenize(text)), module_(module) {}
    void parse_module();

 private:
    struct Symbol {
        Space space;
        /// Offset in its space; global and constant: host address; of_module: its number; dynamic:
        /// its alignment.
        int64_t address;
        int size;
        bool dynamic = false;
        bool of_module = false;  ///< shared, and each kernel has its own place for it
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
    template <class T>
    using Named = std::map<string, T, std::less<>>;
    struct Scope {
        int parent = -1;
        Named<Register> registers;
        Named<Symbol> symbols;
        Named<int> labels;
        Named<std::vector<string_view>> tables;
    };
    struct Fixup {
        size_t instruction;
        string_view label;
        int scope, line;
    };
    struct Place {
        int file = -1, line = 0, column = 0;
        auto operator<=>(const Place&) const = default;
    };

    // Tokens.
    string_view peek(size_t ahead = 0) const {
        return tokens_[std::min(at_ + ahead, tokens_.size() - 1)].text;
    }
    bool at_end() const { return at_ + 1 >= tokens_.size(); }
    template <class... Parts>
    [[noreturn]] void fail(const Parts&... why) const {
        throw ParseError(tokens_[at_ ? at_ - 1 : 0].line, say(why...));
    }
    string_view next();
    bool accept(string_view s);
    void expect(string_view s);
    void skip_past(string_view s);
    int64_t integer(string_view s) const;
    int count(int limit);

    // The frame of the function being read.
    int allot(size_t bytes_per_lane);  ///< 0: a predicate
    int splat(uint64_t bits, int bytes);
    int preset(SpecialValue value, int64_t argument, bool wide);
    /// What a name means in the innermost scope that has it, or null.
    template <class T>
    T* find(Named<T> Scope::*kind, string_view name, int scope) {
        for (int s = scope; s >= 0; s = scopes_[s].parent)
            if (auto it = (scopes_[s].*kind).find(name); it != (scopes_[s].*kind).end()) return &it->second;
        return nullptr;
    }
    Register* find_register(string_view name) { return find(&Scope::registers, name, scope_); }
    Symbol* find_symbol(string_view name);
    Function* find_function(string_view name);

    // Modules and functions.
    void parse_function(bool entry);
    std::vector<Declaration> parameter_list();
    void add_parameters(const std::vector<Declaration>& from, std::vector<Parameter>& to);
    void function_directives();
    void parse_body();
    void finish_function();
    void place_module_shared();
    void parse_location();
    void parse_file();
    void resolve_locations();

    // Declarations.
    void declare_registers();
    Declaration declarator();
    void declare_variable(Space space, bool external);
    void initialise(char* to, size_t size, int element);

    // Statements.
    void parse_statement(string_view first);
    void parse_label(string_view name);
    void parse_instruction(string_view first);
    void read_opcode(Opcode& op) const;
    int count_operands() const;
    void parse_call(Instruction& in);
    void parse_branch(Instruction& in, bool indexed);

    // Operands.
    void parse_operands(Opcode& op);
    int literal(string_view s, Type type);
    Register source(string_view name, Type type);
    void require_register(string_view name) {
        if (name != "_" && !find_register(name)) fail("'", name, "' is not a register");
    }
    int strict(Instruction& in, Type type, bool destination);
    void loose(Instruction& in, bool destination);
    void parse_vector(Opcode& op);
    void parse_address(Opcode& op, int which);

    std::vector<Token> tokens_;
    size_t at_ = 0;
    Module& module_;
    Function* function_ = nullptr;
    Named<Symbol> module_symbols_;
    std::vector<Scope> scopes_;
    int scope_ = -1;
    std::vector<Declaration> module_shared_;
    std::map<std::pair<int, uint64_t>, int> literals_;
    std::map<std::tuple<SpecialValue, int64_t, bool>, int> presets_;
    std::vector<Fixup> fixups_;
    /// A .loc: where an instruction stands, and which earlier one called the function that was inlined there.
    struct Location {
        Place place;
        int caller = -1;
    };
    std::vector<Location> locations_;
    std::map<Place, int> newest_;  ///< of the function's locations, by place
    int location_ = -1;
    bool managed_ = false;  ///< the variable that is declared
};
}  // namespace ladder
