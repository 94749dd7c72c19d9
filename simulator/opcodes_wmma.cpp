// wmma: tensor-core instructions whose fragments have no documented layout, so this file chooses one. Element
// i of a matrix, counted by rows, belongs to lane i / n and is its element i % n, of the n that each lane
// holds.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>

#include "access.h"
#include "matrix_elements.h"
#include "opcode_templates.h"
#include "warp_sync.h"

namespace ladder {
namespace {

struct Shape {
    int m, n, k;
};
bool shape_of(const Opcode& op, Shape& s) {
    return std::any_of(op.parts.begin(), op.parts.end(),
                       [&](auto& p) { return std::sscanf(p.c_str(), "m%dn%dk%d", &s.m, &s.n, &s.k) == 3; });
}
/// The two matrix sides are kept in spare fields of the instruction.
int rows(const Instruction& in) {
    return in.table[0];
}
int columns(const Instruction& in) {
    return in.table[1];
}

char* slot(Warp& w, const int* registers, Type t, int lane, int e) {
    int per = element_bits(t) == 64 ? 1 : 32 / element_bits(t), bytes = element_bits(t) == 64 ? 8 : 4;
    return w.registers + registers[e / per] + lane * bytes + e % per * element_bits(t) / 8;
}

/// wmma.load and wmma.store; in.code says whether memory holds columns.
template <bool Store>
void move_fragment(Warp& w, const Instruction& in) {
    int each = rows(in) * columns(in) / kLanes, bytes = element_bits(in.type) / 8;
    int length = in.code ? rows(in) : columns(in);
    Reach base, r;
    compute_addresses(w, in.address[0], base);
    for (int e = 0; e < each; ++e) {
        for (int l = 0; l < kLanes; ++l) {
            int i = l * each + e, row = i / columns(in), column = i % columns(in);
            int64_t stride = in.source[0] >= 0 ? w.at<int32_t>(in.source[0])[l] : length;
            r.address[l] =
                base.address[l] +
                static_cast<uint64_t>((in.code ? column * stride + row : row * stride + column) * bytes);
        }
        resolve(w, in, in.address[0].space, bytes, r);
        observe(w, in, r, bytes, !Store, Store);
        count(w, r, bytes, !Store);
        for_lanes(w.mask, [&](int l) {
            char* at = slot(w, in.list.data(), in.type, l, e);
            std::memcpy(Store ? r.host[l] : at, Store ? at : r.host[l], static_cast<size_t>(bytes));
        });
    }
}

// in.table: m, n, k; in.code: type of C.
void multiply(Warp& w, const Instruction& in) {
    int m = in.table[0], n = in.table[1], k = in.table[2];
    const int *d = in.list.data(), *a = d + in.list_sizes[0], *b = a + in.list_sizes[1],
              *c = b + in.list_sizes[2];
    auto get = [&](const int* registers, Type t, int i, int total) {
        int each = total / kLanes;
        return element(slot(w, registers, t, i / each, i % each), t, 0);
    };
    std::vector<double> sum(static_cast<size_t>(m * n));
    for (int i = 0; i < m * n; ++i)
        sum[static_cast<size_t>(i)] = get(c, static_cast<Type>(in.code), i, m * n);
    for (int row = 0; row < m; ++row)
        for (int x = 0; x < k; ++x) {
            double left = get(a, in.type2, row * k + x, m * k);
            for (int column = 0; column < n; ++column)
                sum[static_cast<size_t>(row * n + column)] += left * get(b, in.type2, x * n + column, k * n);
        }
    int each = m * n / kLanes;
    for (int i = 0; i < m * n; ++i)
        set_element(slot(w, d, in.type, i / each, i % each), in.type, 0, sum[static_cast<size_t>(i)]);
}

template <Handler F>
void of_warp(Warp& w, const Instruction& in) {
    whole_warp(w, in, F);
}

Handler select_wmma(Opcode& op) {
    Shape s;
    Instruction& in = op.in;
    if (!shape_of(op, s) || op.parts.size() < 4 || op.types.empty() || op.in.saturate) return nullptr;
    for (Type t : op.types)
        if (t != Type::F16 && t != Type::BF16 && t != Type::F32 && t != Type::F64 && t != Type::S32 &&
            t != Type::S8 && t != Type::U8)
            return nullptr;
    in.control = true;
    if (op.parts[1] == "mma") {
        // wmma.mma...f32.f32 has half-precision factors that are not spelled.
        bool short_form = op.types.size() == 2;
        if (!short_form && (op.types.size() != 4 || op.types[1] != op.types[2])) return nullptr;
        in.type2 = short_form ? Type::F16 : op.types[1];
        in.code = static_cast<uint8_t>(op.types.back());
        in.table = {s.m, s.n, s.k};
        in.reconvergence = -1;
        op.operands = "****";
        return of_warp<multiply>;
    }
    const std::string& part = op.parts[2];
    in.table = part == "a"   ? std::vector<int>{s.m, s.k}
               : part == "b" ? std::vector<int>{s.k, s.n}
                             : std::vector<int>{s.m, s.n};
    in.code = op.has("col");
    op.operands = op.parts[1] == "load" ? "*m?u" : "m*?u";
    return op.parts[1] == "load" ? of_warp<move_fragment<false>> : of_warp<move_fragment<true>>;
}

}  // namespace

std::vector<OpcodeEntry> wmma_opcodes() {
    return {{"wmma", "", select_wmma}};
}

}  // namespace ladder
