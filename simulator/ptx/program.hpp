// The decoded form of a PTX module. A function is a flat array of instructions whose operands are byte
// offsets into a warp's register frame, where every register has room for 32 lanes.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace ladder {
constexpr int LANES = 32;
using Mask = uint32_t;

enum class Space : uint8_t {
    Generic,
    Global,
    Shared,
    SharedCluster,
    Local,
    Constant,
    Parameter,
    CallParameter
};
// clang-format off
enum class Type : uint8_t {
    B8, B16, B32, B64, B128, U8, U16, U32, U64, S8, S16, S32, S64,
    F16, BF16, F16x2, BF16x2, TF32, F32, F64, Predicate, None
};
// clang-format on
/// Bytes of one value of a type; a predicate has none of its own (32 lanes share a mask).
int size_of(Type type);
bool is_float(Type type);
bool is_signed(Type type);

/// How undefined values pass through an instruction.
enum class Flow : uint8_t { Value, Select, Load, Store, Atomic, Exchange, Other };

struct Warp;
struct Instruction;
struct Function;
/// Executes one instruction for the lanes in warp.mask.
using Handler = void (*)(Warp&, const Instruction&);

struct Address {
    int base = -1;      ///< frame offset of the base register, or -1
    uint8_t bytes = 0;  ///< width of the base register
    int stride = 0;  ///< call parameters: bytes of the variable at `variable`, of which each lane has a copy
    int64_t displacement = 0, variable = 0;
    Space space = Space::Generic;
};

struct Instruction {
    Handler handler = nullptr;
    int guard = -1;  ///< frame offset of the guarding predicate, or -1
    bool guard_negated = false;
    bool control = false;            ///< changes the program counter by itself
    bool predicate_negated = false;  ///< of a source predicate
    bool strong = false;             ///< volatile, relaxed, acquire or release access
    bool is_volatile = false, release = false;
    bool saturate = false;
    Flow flow = Flow::Value;
    uint8_t code = 0;                              ///< the handler's own variant
    uint8_t relation = 0;                          ///< setp, set: which comparison
    uint8_t rounding = 0;                          ///< 0 to nearest, or 'z', 'm', 'p' of .rz, .rm, .rp
    uint8_t register_bytes = 0, source_bytes = 0;  ///< where registers may be wider than the type
    Type type = Type::None, type2 = Type::None;
    Space space = Space::Generic;
    int destination = -1, destination2 = -1;
    int source[5] = {-1, -1, -1, -1, -1};
    Address address[3];
    std::vector<int> list;        ///< vector operands, one after the other
    std::vector<int> list_sizes;  ///< registers of each, where they have no types
    int target = -1, reconvergence = -1;
    std::vector<int> table;  ///< brx.idx
    const Function* callee = nullptr;
    std::vector<int> arguments, results;
    Handler inner = nullptr;  ///< the handler that a wrapper (rounding, flush to zero) calls
    uint32_t id = 0;          ///< of all instructions of the process, for access records
    const Function* function = nullptr;
    int line = 0, file = 0;
    std::string text;  ///< opcode as written
};

struct Parameter {
    int offset = 0, size = 0;  ///< entry: offset in the parameter buffer; function: frame offset
};

/// A value that is known when a frame begins: a special register or an address.
using SpecialValue = uint64_t (*)(const Warp&, int lane, int64_t argument);
struct Preset {
    SpecialValue value;
    int64_t argument;
    int offset;
    bool wide;
};

/// A variable in shared memory. Behind each lies a gap, so that a step past its end does not reach the next
/// one; a multiple of 128 bytes, which moves no bank.
struct SharedVariable {
    std::string name;
    int begin, end;
};

struct Function {
    std::string name;
    bool entry = false, defined = false;
    std::vector<Instruction> code;
    std::vector<char> image;  ///< the frame at entry: literals splatted over the lanes
    std::vector<Preset> presets;
    std::vector<Parameter> parameters, results;
    int parameter_bytes = 0, local_bytes = 0;
    int shared_bytes = 0;                       ///< as the compiler would allot them, without gaps
    std::vector<SharedVariable> shared_layout;  ///< with gaps, in order
    int dynamic_alignment = 16;                 ///< of the shared memory whose size the launch says
    /// Shared variables that other functions may name, too: by number, those that this function names and,
    /// when the module is complete, an entry's offset of each that it or a function it calls names.
    std::map<int, int> shared_variables;
    int max_threads = 1024;
    int cluster[3] = {0, 0, 0};
    const Instruction* not_simulated = nullptr;  ///< the first instruction without a handler
    const struct Module* module = nullptr;
};

struct Module {
    std::map<std::string, Function> functions;
    std::map<std::string, void*> variables;
    std::map<int, std::string> files;
};

/// Adds a variable to those of a layout that has `bytes` without gaps, and returns its place.
int place_shared(std::vector<SharedVariable>& layout, int& bytes, const std::string& name, int size,
                 int align);

/// Gives an instruction its id: a number of its own among all instructions of the process.
void number_instruction(Instruction& in);
const Instruction* instruction_by_id(uint32_t id);

/// Where an instruction comes from, as -lineinfo recorded it: the file, and file:line.
std::string source_file(const Instruction& in);
std::string source_place(const Instruction& in);
}  // namespace ladder
