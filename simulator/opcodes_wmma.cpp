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

/// in.table: the sides of the matrix.
int rows(const Instruction& in) { return in.table[0]; }
int columns(const Instruction& in) { return in.table[1]; }

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
                base.address[l] + (in.code ? column * stride + row : row * stride + column) * bytes;
        }
        resolve(w, in, in.address[0].space, bytes, r);
        observe(w, in, r, bytes, !Store, Store);
        count(w, r, bytes, !Store);
        for_lanes(w.mask, [&](int l) {
            char* at = slot(w, in.list.data(), in.type, l, e);
            std::memcpy(Store ? r.host[l] : at, Store ? at : r.host[l], bytes);
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
    std::vector<double> sum(m * n);
    for (int i = 0; i < m * n; ++i) sum[i] = get(c, static_cast<Type>(in.code), i, m * n);
    for (int row = 0; row < m; ++row)
        for (int x = 0; x < k; ++x) {
            double left = get(a, in.type2, row * k + x, m * k);
            for (int column = 0; column < n; ++column)
                sum[row * n + column] += left * get(b, in.type2, x * n + column, k * n);
        }
    int each = m * n / kLanes;
    for (int i = 0; i < m * n; ++i) set_element(slot(w, d, in.type, i / each, i % each), in.type, 0, sum[i]);
}

Handler select_wmma(Opcode& op) {
    using enum Type;
    int m, n, k;
    Instruction& in = op.in;
    auto is_shape = [&](auto& p) { return std::sscanf(p.c_str(), "m%dn%dk%d", &m, &n, &k) == 3; };
    if (std::none_of(op.parts.begin(), op.parts.end(), is_shape)) return nullptr;
    if (op.parts.size() < 4 || op.types.empty() || in.saturate) return nullptr;
    for (Type t : op.types)
        if (t != F16 && t != BF16 && t != F32 && t != F64 && t != S32 && t != S8 && t != U8) return nullptr;
    if (op.parts[1] == "mma") {
        // wmma.mma...f32.f32 has half-precision factors that are not spelled.
        bool short_form = op.types.size() == 2;
        if (!short_form && (op.types.size() != 4 || op.types[1] != op.types[2])) return nullptr;
        in.type2 = short_form ? F16 : op.types[1];
        in.code = static_cast<uint8_t>(op.types.back());
        in.table = {m, n, k};
        op.operands = "****";
        return control<whole_warp<multiply>>(op);
    }
    in.table = {op.parts[2] == "b" ? k : m, op.parts[2] == "a" ? k : n};
    in.code = op.has("col");
    bool load = op.parts[1] == "load";
    op.operands = load ? "*m?u" : "m*?u";
    return load ? control<whole_warp<move_fragment<false>>>(op)
                : control<whole_warp<move_fragment<true>>>(op);
}

}  // namespace

std::vector<OpcodeEntry> wmma_opcodes() { return {{"wmma", "", select_wmma}}; }

}  // namespace ladder
