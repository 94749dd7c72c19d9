// Tensor-core instructions of whole warps: mma.sync, ldmatrix, stmatrix.
//
// Fragments: an element of A in register r lies in row lane/4 + 8*(r%2), of B in column lane/4, of C in row
// lane/4 + 8*(r/2); the other coordinate follows from lane%4 and the elements that a register holds.
#include <algorithm>
#include <bit>
#include <cstring>
#include <string>

#include "access.h"
#include "matrix_elements.h"
#include "opcode_templates.h"
#include "report.h"
#include "small_float.h"
#include "warp_sync.h"

namespace ladder {
namespace {

constexpr int kMaxK = 64, kRows = 16, kColumns = 8;

struct Fragment {
    const int* registers;
    int count;
    Type type;
    int bytes() const { return type == Type::F64 ? 8 : 4; }
    int per_register() const { return bytes() * 8 / element_bits(type); }
};

/// Calls f(lane, register, element, row of C, column of C).
template <class F>
void for_accumulator(const Fragment& c, F f) {
    bool packed = c.type == Type::F16;
    for (int l = 0; l < kLanes; ++l)
        for (int r = 0; r < c.count; ++r)
            for (int e = 0; e < c.per_register(); ++e)
                f(l, r, e, l / 4 + 8 * (packed ? r : r / 2), l % 4 * 2 + (packed ? e : r % 2));
}

// in.type: accumulator of D, type2 of A and B; in.code: type of C.
void multiply(Warp& w, const Instruction& in) {
    const int *at = in.list.data(), *n = in.list_sizes.data();
    Fragment d{at, n[0], in.type}, a{at + n[0], n[1], in.type2}, b{at + n[0] + n[1], n[2], in.type2};
    Fragment c{at + n[0] + n[1] + n[2], n[3], static_cast<Type>(in.code)};
    static double A[kRows][kMaxK], B[kMaxK][kColumns], sum[kRows][kColumns];
    int per = a.per_register(), k_size = b.count * 4 * per;
    auto lane_of = [&](const Fragment& x, int r, int l) {
        return w.registers + x.registers[r] + l * x.bytes();
    };
    for (int l = 0; l < kLanes; ++l) {
        for (int r = 0; r < a.count; ++r)
            for (int e = 0; e < per; ++e)
                A[l / 4 + 8 * (r % 2)][l % 4 * per + e + r / 2 * 4 * per] =
                    element(lane_of(a, r, l), a.type, e);
        for (int r = 0; r < b.count; ++r)
            for (int e = 0; e < per; ++e)
                B[l % 4 * per + e + r * 4 * per][l / 4] = element(lane_of(b, r, l), b.type, e);
    }
    for_accumulator(c, [&](int l, int r, int e, int row, int column) {
        sum[row][column] = element(lane_of(c, r, l), c.type, e);
    });
    int rows = a.count == 1 ? 8 : kRows;
    for (int i = 0; i < rows; ++i)
        for (int k = 0; k < k_size; ++k)
            for (int j = 0; j < kColumns; ++j) sum[i][j] += A[i][k] * B[k][j];
    for_accumulator(d, [&](int l, int r, int e, int row, int column) {
        set_element(lane_of(d, r, l), d.type, e, sum[row][column]);
    });
}
Handler select_mma(Opcode& op) {
    static const std::pair<const char*, Type> shapes[] = {
        {"m16n8k8", Type::F16},  {"m16n8k16", Type::F16}, {"m16n8k8", Type::BF16}, {"m16n8k16", Type::BF16},
        {"m16n8k4", Type::TF32}, {"m16n8k8", Type::TF32}, {"m8n8k4", Type::F64},   {"m16n8k16", Type::S8},
        {"m16n8k32", Type::S8},  {"m16n8k16", Type::U8},  {"m16n8k32", Type::U8}};
    if (op.types.size() != 4 || op.types[1] != op.types[2] || !op.has("row") || !op.has("col") ||
        op.has("sp") || op.in.saturate)
        return nullptr;
    op.in.code = static_cast<uint8_t>(op.types[3]);
    for (auto& [shape, type] : shapes)
        if (op.has(shape) && type == op.types[1]) return control<whole_warp<multiply>>(op);
    return nullptr;
}

/// ldmatrix and stmatrix: lanes 8k to 8k+7 hold the addresses of the rows of matrix k. in.code: transposed.
template <bool Store>
void move_matrices(Warp& w, const Instruction& in) {
    Mask all = w.mask;
    int matrices = static_cast<int>(in.list.size());
    w.mask = matrices == 4 ? ~0u : (1u << 8 * matrices) - 1;
    Reach r;
    reach(w, in, 0, 16, r);
    observe(w, in, r, 16, !Store, Store);
    count(w, r, 16, !Store);
    w.mask = all;
    for (int k = 0; k < matrices; ++k)
        for (int l = 0; l < kLanes; ++l)
            for (int e = 0; e < 2; ++e) {
                int row = in.code ? l % 4 * 2 + e : l / 4, column = in.code ? l / 4 : l % 4 * 2 + e;
                char* memory = r.host[8 * k + row] + 2 * column;
                char* lane = w.registers + in.list[k] + l * 4 + e * 2;
                std::memcpy(Store ? memory : lane, Store ? lane : memory, 2);
            }
}
template <bool Store>
Handler select_matrix_move(Opcode& op) {
    if (!op.has("m8n8") || op.in.type != Type::B16) return nullptr;
    op.in.code = op.has("trans");
    return control<whole_warp<move_matrices<Store>>>(op);
}

}  // namespace

std::vector<OpcodeEntry> matrix_opcodes() {
    return {
        {"mma", "****", select_mma},
        {"ldmatrix", "*m", select_matrix_move<false>},
        {"stmatrix", "m*", select_matrix_move<true>},
    };
}

}  // namespace ladder
