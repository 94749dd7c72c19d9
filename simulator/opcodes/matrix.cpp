// Tensor-core instructions of whole warps: mma.sync, ldmatrix, stmatrix and wmma.
//
// Fragments of mma: an element of A in register r lies in row lane/4 + 8*(r%2), of B in column lane/4, of C
// in row lane/4 + 8*(r/2); the other coordinate follows from lane%4 and the elements that a register holds.
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "machine/access.hpp"
#include "opcodes/templates.hpp"

namespace ladder {
namespace {
int element_bits(Type t) {
    return 8 * size_of(t);
}

template <class T>
T read(const char* from) {
    T v;
    std::memcpy(&v, from, sizeof(T));
    return v;
}
/// Element e of a register's lane.
double element(const char* lane, Type t, int e) {
    switch (t) {
        case Type::F16:
            return read<Half>(lane + 2 * e).value();
        case Type::BF16:
            return read<Bfloat>(lane + 2 * e).value();
        case Type::TF32:
            return round_to(read<float>(lane), TF32_FORMAT, 'z');
        case Type::F32:
            return read<float>(lane);
        case Type::S32:
            return read<int32_t>(lane);
        case Type::U8:
            return read<uint8_t>(lane + e);
        case Type::S8:
            return read<int8_t>(lane + e);
        default:
            return read<double>(lane);
    }
}
void set_element(char* lane, Type t, int e, double v) {
    auto write = [&](auto value) { std::memcpy(lane + e * sizeof(value), &value, sizeof(value)); };
    switch (t) {
        case Type::F16:
            return write(Half::from(v));
        case Type::F32:
            return write(static_cast<float>(v));
        case Type::S32:
            return write(static_cast<uint32_t>(static_cast<int64_t>(v)));
        default:
            return write(v);
    }
}

constexpr int MAX_K = 128, ROWS = 16, COLUMNS = 8;

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
    for (int l = 0; l < LANES; ++l)
        for (int r = 0; r < c.count; ++r)
            for (int e = 0; e < c.per_register(); ++e)
                f(l, r, e, l / 4 + 8 * (packed ? r : r / 2), l % 4 * 2 + (packed ? e : r % 2));
}

// in.type: accumulator of D, type2 of A and B; in.code: type of C.
void multiply(Warp& w, const Instruction& in) {
    const int *at = in.list.data(), *n = in.list_sizes.data();
    Fragment d{at, n[0], in.type}, a{at + n[0], n[1], in.type2}, b{at + n[0] + n[1], n[2], in.type2};
    Fragment c{at + n[0] + n[1] + n[2], n[3], static_cast<Type>(in.code)};
    static double A[ROWS][MAX_K], B[MAX_K][COLUMNS], sum[ROWS][COLUMNS];
    int per = a.per_register(), k_size = b.count * 4 * per;
    auto lane_of = [&](const Fragment& x, int r, int l) {
        return w.registers + x.registers[r] + l * x.bytes();
    };
    for (int l = 0; l < LANES; ++l) {
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
    int rows = a.count == 1 ? 8 : ROWS;
    for (int i = 0; i < rows; ++i)
        for (int k = 0; k < k_size; ++k)
            for (int j = 0; j < COLUMNS; ++j) sum[i][j] += A[i][k] * B[k][j];
    for_accumulator(d, [&](int l, int r, int e, int row, int column) {
        set_element(lane_of(d, r, l), d.type, e, sum[row][column]);
    });
}
bool is_accumulator(Type t) {
    return t == Type::F16 || t == Type::F32 || t == Type::F64 || t == Type::S32;
}
/// Reads m16n8k16 and says how many registers the fragments D, A, B and C need.
bool read_shape(Opcode& op, int& m, int& n, int& k) {
    auto is_shape = [&](auto& part) { return std::sscanf(part.c_str(), "m%dn%dk%d", &m, &n, &k) == 3; };
    return std::any_of(op.parts.begin(), op.parts.end(), is_shape);
}
int registers_for(Type t, int elements) {
    return elements / LANES * element_bits(t) / std::max(32, element_bits(t));
}

Handler select_mma(Opcode& op) {
    static const std::pair<const char*, Type> shapes[] = {
        {"m16n8k8", Type::F16},  {"m16n8k16", Type::F16}, {"m16n8k8", Type::BF16}, {"m16n8k16", Type::BF16},
        {"m16n8k4", Type::TF32}, {"m16n8k8", Type::TF32}, {"m8n8k4", Type::F64},   {"m16n8k16", Type::S8},
        {"m16n8k32", Type::S8},  {"m16n8k16", Type::U8},  {"m16n8k32", Type::U8}};
    int m, n, k;
    const std::vector<Type>& t = op.types;
    if (t.size() != 4 || t[1] != t[2] || !is_accumulator(t[0]) || !is_accumulator(t[3]) || !op.has("row") ||
        !op.has("col") || op.has("sp") || op.in.saturate || !read_shape(op, m, n, k))
        return nullptr;
    op.in.code = static_cast<uint8_t>(t[3]);
    op.fewest = {registers_for(t[0], m * n), registers_for(t[1], m * k), registers_for(t[2], k * n),
                 registers_for(t[3], m * n)};
    for (auto& [shape, type] : shapes)
        if (op.has(shape) && type == t[1]) return control<whole_warp<multiply>>(op);
    return nullptr;
}

/// ldmatrix and stmatrix: lanes 8k to 8k+7 hold the addresses of the rows of matrix k. in.code: transposed.
template <bool Store>
void move_matrices(Warp& w, const Instruction& in) {
    Mask all = w.mask;
    int matrices = in.source_bytes;
    w.mask = matrices == 4 ? ~0u : (1u << 8 * matrices) - 1;
    Reach r;
    access(w, in, 0, 16, !Store, r);
    w.mask = all;
    for (int k = 0; k < matrices; ++k)
        for (int l = 0; l < LANES; ++l)
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
    op.in.source_bytes = op.has("x4") ? 4 : op.has("x2") ? 2 : 1;
    op.fewest = {op.in.source_bytes};
    return control<whole_warp<move_matrices<Store>>>(op);
}

// wmma: its fragments have no documented layout, so one is chosen here. Element i of a matrix, counted by
// rows, belongs to lane i / n and is its element i % n, of the n that each lane holds.

/// in.table: the sides of the matrix.
int rows(const Instruction& in) {
    return in.table[0];
}
int columns(const Instruction& in) {
    return in.table[1];
}

char* slot(Warp& w, const int* registers, Type t, int lane, int e) {
    int bits = element_bits(t), per = std::max(1, 32 / bits), bytes = std::max(4, bits / 8);
    return w.registers + registers[e / per] + lane * bytes + e % per * bits / 8;
}

/// wmma.load and wmma.store; in.code says whether memory holds columns.
template <bool Store>
void move_fragment(Warp& w, const Instruction& in) {
    int each = rows(in) * columns(in) / LANES, bytes = element_bits(in.type) / 8;
    int length = in.code ? rows(in) : columns(in);
    Reach base, r;
    compute_addresses(w, in.address[0], base);
    for (int e = 0; e < each; ++e) {
        for (int l = 0; l < LANES; ++l) {
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
void wmma_multiply(Warp& w, const Instruction& in) {
    int m = in.table[0], n = in.table[1], k = in.table[2];
    const int *d = in.list.data(), *a = d + in.list_sizes[0], *b = a + in.list_sizes[1],
              *c = b + in.list_sizes[2];
    auto get = [&](const int* registers, Type t, int i, int total) {
        int each = total / LANES;
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
    int each = m * n / LANES;
    for (int i = 0; i < m * n; ++i) set_element(slot(w, d, in.type, i / each, i % each), in.type, 0, sum[i]);
}

Handler select_wmma(Opcode& op) {
    using enum Type;
    int m, n, k;
    Instruction& in = op.in;
    if (!read_shape(op, m, n, k) || m * n * k > 1 << 16 || op.parts.size() < 4 || op.types.empty() ||
        in.saturate)
        return nullptr;
    for (Type t : op.types)
        if (t != F16 && t != BF16 && t != F32 && t != F64 && t != S32 && t != S8 && t != U8) return nullptr;
    if (op.parts[1] == "mma") {
        // wmma.mma...f32.f32 has half-precision factors that are not spelled.
        bool short_form = op.types.size() == 2;
        if (!short_form && (op.types.size() != 4 || op.types[1] != op.types[2])) return nullptr;
        in.type2 = short_form ? F16 : op.types[1];
        in.code = static_cast<uint8_t>(op.types.back());
        in.table = {m, n, k};
        op.fewest = {registers_for(in.type, m * n), registers_for(in.type2, m * k),
                     registers_for(in.type2, k * n), registers_for(op.types.back(), m * n)};
        op.operands = "****";
        return control<whole_warp<wmma_multiply>>(op);
    }
    in.table = {op.parts[2] == "b" ? k : m, op.parts[2] == "a" ? k : n};
    in.code = op.has("col");
    op.fewest = {registers_for(in.type, in.table[0] * in.table[1])};
    bool load = op.parts[1] == "load";
    op.operands = load ? "*m?u" : "m*?u";
    return load ? control<whole_warp<move_fragment<false>>>(op)
                : control<whole_warp<move_fragment<true>>>(op);
}
}  // namespace

std::vector<OpcodeEntry> matrix_opcodes() {
    return {
        {"mma", "****", select_mma},
        {"ldmatrix", "*m", select_matrix_move<false>},
        {"stmatrix", "m*", select_matrix_move<true>},
        {"wmma", "", select_wmma},
    };
}
}  // namespace ladder
