// The opcode table: for each base opcode its operands and how its handler is chosen.
#pragma once
#include <string>
#include <vector>

#include "ptx/program.hpp"

namespace ladder {
struct Block;
struct Mbarrier;
struct Reach;

/// An opcode as written, while its handler is being chosen.
///
/// `operands` has a letter for each operand:
///   d D U L P    destination: of the first type, twice its width, u32, u64, predicate (a second one after |)
///   t s w u l p  source: of the first type, second type, twice the first's width, u32, u64, predicate
///   v x          destination, source: a register or a vector that may be wider than the first type
///   y            scalar source that may be wider than the second type
///   m * .        address; register or vector of any width; ignored
///   ?            what follows may be missing
struct Opcode {
    std::vector<std::string> parts;
    std::vector<Type> types;
    Instruction& in;
    const char* operands = "";
    bool vector_destination = false, vector_source = false;
    int operand_count = 0;
    std::vector<Space> spaces{};
    std::vector<int> fewest{};  ///< registers that each operand * must have at least

    bool has(const char* part) const;
    /// The k-th part, or empty.
    std::string part(size_t k) const { return k < parts.size() ? parts[k] : ""; }
};

struct OpcodeEntry {
    const char* name;
    const char* operands;
    Handler (*select)(Opcode&);  ///< null for a spelling that is not simulated
};

/// Looks the opcode up and sets its operands; null when it is not simulated.
Handler select_handler(Opcode& op);

/// How undefined values pass through a base opcode.
Flow flow_of(const std::string& name);

// Its groups, a file each.
std::vector<OpcodeEntry> integer_opcodes();
std::vector<OpcodeEntry> float_opcodes();
std::vector<OpcodeEntry> compare_opcodes();
std::vector<OpcodeEntry> convert_opcodes();
std::vector<OpcodeEntry> control_opcodes();
std::vector<OpcodeEntry> memory_opcodes();
std::vector<OpcodeEntry> atomic_opcodes();
std::vector<OpcodeEntry> warp_opcodes();
std::vector<OpcodeEntry> barrier_opcodes();
std::vector<OpcodeEntry> async_opcodes();
std::vector<OpcodeEntry> matrix_opcodes();

// The opcodes that integers and floats share, as integers do them.
Handler integer_add(Opcode& op);
Handler integer_sub(Opcode& op);
Handler integer_mul(Opcode& op);
Handler integer_mad(Opcode& op);
Handler integer_div(Opcode& op);
Handler integer_min(Opcode& op);
Handler integer_max(Opcode& op);
Handler integer_neg(Opcode& op);
Handler integer_abs(Opcode& op);

// What cp.async and cp.async.bulk share: copies that are in flight to shared memory, and the mbarriers at
// which they land.

/// Issues a lane's copy of `bytes` to `offset` in a block's shared memory. Behind the first `valid` bytes
/// come zeros. It lands when the phase of `by` completes; without one, when its group is waited for.
void issue(Warp& w, const Instruction& in, int lane, Block* to, uint64_t offset, const char* from, int bytes,
           int valid, Mbarrier* by);
/// The mbarrier that a lane's address names. Stops the launch if there is none.
Mbarrier& mbarrier_at(Warp& w, const Instruction& in, int lane, Reach& r);
/// Goes on to the next phase if nothing is missing, and lands what waited for it.
void complete_phase(Warp& w, Mbarrier& m);
Handler select_bulk(Opcode& op);
}  // namespace ladder
