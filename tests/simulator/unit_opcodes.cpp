// Opcodes, run from small PTX texts with 32 different operands, against the host's arithmetic.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

#include "counts/report.hpp"
#include "machine/machine.hpp"
#include "machine/streams.hpp"
#include "opcodes/small_float.hpp"
#include "ptx/parser.hpp"

namespace ladder {
namespace {

using Words = std::vector<uint64_t>;

/// A kernel of one warp. Its lanes find a, b, c in %a, %b, %c of `type` and leave their result in %d
/// of `result`.
std::string kernel(const std::string& body, const std::string& type, const std::string& result) {
    std::string load;
    for (const char* r : {"a", "b", "c"})
        load += std::string("ld.global.") + type + " %" + r + ", [%from+" +
                std::to_string(256 * (r[0] - 'a')) + "];\n";
    return ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 in, .param .u64 "
           "out)\n{\n"
           ".reg .b64 %from, %to, %lane, %x<4>;\n.reg .b32 %id, %r<8>;\n.reg .b16 %h<4>;\n.reg .f32 "
           "%f<8>;\n.reg .pred %p<4>;\n.reg ." +
           type + " %a, %b, %c;\n.reg ." + result + " %d;\n" +
           "mov.u32 %id, %laneid;\nmul.wide.u32 %lane, %id, 8;\nld.param.u64 %from, [in];\nld.param.u64 %to, "
           "[out];\n"
           "add.s64 %from, %from, %lane;\nadd.s64 %to, %to, %lane;\n" +
           load + body + "\nst.global." + result + " [%to], %d;\nret;\n}\n";
}

/// Runs it; each of a, b, c holds 32 values.
Words run(const std::string& body, const std::string& type, const std::string& result, const Words& a,
          const Words& b = Words(32), const Words& c = Words(32)) {
    Module module;
    parse_ptx(kernel(body, type, result), module);
    const Function& f = module.functions.at("k");
    if (f.not_simulated) ADD_FAILURE() << "not simulated: " << f.not_simulated->text;
    Words in;
    for (const Words& each : {a, b, c}) in.insert(in.end(), each.begin(), each.end());
    Region *from = memory().allocate(in.size() * 8, RegionKind::Managed, "in"),
           *to = memory().allocate(256, RegionKind::Managed, "out");
    std::memcpy(from->data, in.data(), in.size() * 8);
    std::memset(to->data, 0, 256);
    Profile profile;
    profile.kernel = &f;
    Launch launch;
    launch.function = &f;
    launch.name = "k";
    launch.block[0] = 32;
    launch.profile = &profile;
    launch.parameters.resize(16);
    std::memcpy(launch.parameters.data(), &from->base, 8);
    std::memcpy(launch.parameters.data() + 8, &to->base, 8);
    uint64_t faults = fault_count();
    execute(launch);
    EXPECT_EQ(fault_count(), faults);
    Words out(32);
    std::memcpy(out.data(), to->data, 256);
    memory().release(from->data);
    memory().release(to->data);
    return out;
}

template <class T>
Words words(std::function<T(int)> f) {
    Words w(32);
    for (int l = 0; l < 32; ++l) {
        T v = f(l);
        std::memcpy(&w[static_cast<size_t>(l)], &v, sizeof v);
    }
    return w;
}
template <class T>
T value(const Words& w, int l) {
    T v;
    std::memcpy(&v, &w[static_cast<size_t>(l)], sizeof v);
    return v;
}
/// Integers of all sizes and signs.
template <class T>
Words some(uint64_t seed) {
    return words<T>([=](int l) {
        uint64_t x = (seed + static_cast<uint64_t>(l)) * 0x9e3779b97f4a7c15;
        static const uint64_t edges[] = {
            0, 1, ~uint64_t{0}, uint64_t{1} << 31, uint64_t{1} << 63, 0x7fffffff, 0x8000, 0x7fff};
        return static_cast<T>(l < 8 ? edges[(static_cast<uint64_t>(l) + seed) % 8] : x >> (l % 32));
    });
}
template <class T>
Words reals(double seed) {
    return words<T>([=](int l) { return static_cast<T>((l - 11.3) * seed * std::exp2(l % 9 - 4)); });
}

template <class T, class D, class F>
void check(const std::string& op, const std::string& type, const std::string& result, const Words& a,
           const Words& b, const Words& c, F f) {
    Words out = run(op, type, result, a, b, c);
    for (int l = 0; l < 32; ++l)
        EXPECT_EQ(value<D>(out, l), static_cast<D>(f(value<T>(a, l), value<T>(b, l), value<T>(c, l))))
            << op << ", lane " << l;
}
template <class T, class F>
void integers(const std::string& op, const std::string& type, F f) {
    check<T, T>(op, type, type, some<T>(1), some<T>(4), some<T>(7), f);
}

TEST(Integer, Arithmetic) {
    integers<uint32_t>("add.s32 %d, %a, %b;", "u32", [](uint32_t a, uint32_t b, uint32_t) { return a + b; });
    integers<uint64_t>("sub.s64 %d, %a, %b;", "u64", [](uint64_t a, uint64_t b, uint64_t) { return a - b; });
    integers<uint32_t>("mul.lo.s32 %d, %a, %b;", "u32",
                       [](uint32_t a, uint32_t b, uint32_t) { return a * b; });
    integers<int32_t>("mul.hi.s32 %d, %a, %b;", "s32",
                      [](int64_t a, int64_t b, int) { return static_cast<int32_t>(a * b >> 32); });
    integers<uint64_t>("mul.hi.u64 %d, %a, %b;", "u64", [](uint64_t a, uint64_t b, uint64_t) {
        return static_cast<uint64_t>((unsigned __int128)a * b >> 64);
    });
    integers<uint16_t>("mad.lo.u16 %d, %a, %b, %c;", "u16",
                       [](uint32_t a, uint32_t b, uint32_t c) { return static_cast<uint16_t>(a * b + c); });
    check<int32_t, int64_t>("mul.wide.s32 %d, %a, %b;", "s32", "s64", some<int32_t>(1), some<int32_t>(2),
                            Words(32), [](int64_t a, int64_t b, int) { return a * b; });
    integers<uint32_t>("div.u32 %d, %a, %b;", "u32",
                       [](uint32_t a, uint32_t b, uint32_t) { return b ? a / b : ~0u; });
    integers<int32_t>("rem.s32 %d, %a, %b;", "s32", [](int64_t a, int64_t b, int) { return b ? a % b : a; });
    integers<int32_t>("add.sat.s32 %d, %a, %b;", "s32", [](int64_t a, int64_t b, int) {
        return std::clamp<int64_t>(a + b, INT32_MIN, INT32_MAX);
    });
    integers<int32_t>("abs.s32 %d, %a;", "s32", [](int64_t a, int, int) {
        return static_cast<int32_t>(static_cast<uint32_t>(a < 0 ? -a : a));
    });
    integers<int64_t>("min.s64 %d, %a, %b;", "s64",
                      [](int64_t a, int64_t b, int64_t) { return std::min(a, b); });
    integers<uint32_t>("sad.u32 %d, %a, %b, %c;", "u32",
                       [](uint32_t a, uint32_t b, uint32_t c) { return c + (a > b ? a - b : b - a); });
}

TEST(Integer, CarriesRunThroughChains) {
    Words a = some<uint64_t>(3), b = some<uint64_t>(5);
    Words out =
        run("mov.b64 {%r0, %r1}, %a; mov.b64 {%r2, %r3}, %b; add.cc.u32 %r4, %r0, %r2; addc.u32 %r5, %r1, "
            "%r3; mov.b64 %d, {%r4, %r5};",
            "b64", "b64", a, b);
    Words difference =
        run("mov.b64 {%r0, %r1}, %a; mov.b64 {%r2, %r3}, %b; sub.cc.u32 %r4, %r0, %r2; subc.u32 %r5, %r1, "
            "%r3; mov.b64 %d, {%r4, %r5};",
            "b64", "b64", a, b);
    for (size_t l = 0; l < 32; ++l) {
        EXPECT_EQ(out[l], a[l] + b[l]);
        EXPECT_EQ(difference[l], a[l] - b[l]);
    }
}

TEST(Integer, Bits) {
    integers<uint32_t>("lop3.b32 %d, %a, %b, %c, 0x96;", "b32",
                       [](uint32_t a, uint32_t b, uint32_t c) { return a ^ b ^ c; });
    integers<uint32_t>("lop3.b32 %d, %a, %b, %c, 0xE8;", "b32",
                       [](uint32_t a, uint32_t b, uint32_t c) { return (a & b) | (a & c) | (b & c); });
    check<uint32_t, uint32_t>("popc.b32 %d, %a;", "b32", "u32", some<uint32_t>(1), Words(32), Words(32),
                              [](uint32_t a, int, int) { return std::popcount(a); });
    check<uint64_t, uint32_t>("clz.b64 %d, %a;", "b64", "u32", some<uint64_t>(1), Words(32), Words(32),
                              [](uint64_t a, int, int) { return std::countl_zero(a); });
    check<int32_t, uint32_t>(
        "bfind.s32 %d, %a;", "s32", "u32", some<int32_t>(1), Words(32), Words(32),
        [](int32_t a, int, int) { return 31 - std::countl_zero(static_cast<uint32_t>(a < 0 ? ~a : a)); });
    integers<uint32_t>("brev.b32 %d, %a;", "b32", [](uint32_t a, int, int) {
        uint32_t r = 0;
        for (int k = 0; k < 32; ++k) r |= (a >> k & 1) << (31 - k);
        return r;
    });
    integers<uint32_t>("prmt.b32 %d, %a, %b, 0x5410;", "b32",
                       [](uint32_t a, uint32_t b, uint32_t) { return (a & 0xffff) | b << 16; });
    integers<uint32_t>("shf.l.wrap.b32 %d, %a, %a, 7;", "b32",
                       [](uint32_t a, int, int) { return std::rotl(a, 7); });
    Words shifts = words<uint32_t>([](int l) { return static_cast<uint32_t>(l * 2); });
    check<uint32_t, uint32_t>("shl.b32 %d, %a, %b;", "b32", "b32", some<uint32_t>(1), shifts, Words(32),
                              [](uint32_t a, uint32_t n, int) { return n > 31 ? 0 : a << n; });
    check<int32_t, int32_t>("shr.s32 %d, %a, %b;", "b32", "b32", some<int32_t>(1), shifts, Words(32),
                            [](int32_t a, int32_t n, int) { return a >> std::min(n, 31); });
    check<uint32_t, uint32_t>("bfe.u32 %d, %a, %b, 5;", "b32", "b32", some<uint32_t>(1), shifts, Words(32),
                              [](uint64_t a, uint32_t n, int) { return n > 31 ? 0 : a >> n & 31; });
    check<uint32_t, uint32_t>("bfi.b32 %d, %a, %b, 8, 8;", "b32", "b32", some<uint32_t>(1), some<uint32_t>(2),
                              Words(32),
                              [](uint32_t a, uint32_t b, int) { return (b & ~0xff00u) | (a & 255) << 8; });
}

TEST(Float, ArithmeticIsTheHosts) {
    Words a = reals<float>(1.7), b = reals<float>(-0.3), c = reals<float>(11);
    check<float, float>("fma.rn.f32 %d, %a, %b, %c;", "f32", "f32", a, b, c,
                        [](float x, float y, float z) { return std::fma(x, y, z); });
    check<float, float>("div.rn.f32 %d, %a, %b;", "f32", "f32", a, b, c,
                        [](float x, float y, float) { return x / y; });
    check<float, float>("abs.f32 %f0, %a; sqrt.rn.f32 %d, %f0;", "f32", "f32", c, b, c,
                        [](float x, float, float) { return std::sqrt(std::fabs(x)); });
    check<float, float>("max.f32 %d, %a, %b;", "f32", "f32", a, b, c,
                        [](float x, float y, float) { return std::fmax(x, y); });
    check<float, float>("add.sat.f32 %d, %a, %b;", "f32", "f32", a, b, c,
                        [](float x, float y, float) { return std::clamp(x + y, 0.0f, 1.0f); });
    check<float, float>("ex2.approx.f32 %d, %a;", "f32", "f32", b, b, c,
                        [](float x, float, float) { return std::exp2(x); });
    Words p = reals<double>(3.1), q = reals<double>(-7);
    check<double, double>("fma.rn.f64 %d, %a, %b, %a;", "f64", "f64", p, q, q,
                          [](double x, double y, double) { return std::fma(x, y, x); });
    check<double, double>("add.rz.f64 %d, %a, %b;", "f64", "f64", p, q, q, [](double x, double y, double) {
        long double exact = static_cast<long double>(x) + y;
        double near = x + y;
        return std::fabs(static_cast<long double>(near)) > std::fabs(exact) ? std::nextafter(near, 0.0)
                                                                            : near;
    });
}

TEST(Float, ComparisonsTreatNansAsTheNamesSay) {
    Words a = reals<float>(1),
          b = words<float>([](int l) { return l % 3 ? 0.5f * static_cast<float>(l) : NAN; });
    auto compare = [&](const char* name, auto f) {
        check<float, uint32_t>(std::string("setp.") + name + ".f32 %p0, %a, %b; selp.b32 %d, 1, 0, %p0;",
                               "f32", "b32", a, b, b, [=](float x, float y, float) { return f(x, y); });
    };
    compare("lt", [](float x, float y) { return x < y; });
    compare("ne", [](float x, float y) { return x == x && y == y && x != y; });
    compare("neu", [](float x, float y) { return x != y; });
    compare("geu", [](float x, float y) { return !(x < y); });
    compare("nan", [](float x, float y) { return x != x || y != y; });
}

TEST(Half, RoundsLikeTheFormats) {
    for (float x : {0.0f, -0.0f, 1.0f, 65504.0f, 65519.9f, 6e-8f, 2.9e-8f, 0.1f, -3.14159f, 1.00048828125f}) {
        Half h = Half::from(x);
        EXPECT_EQ(h.bits, Half::from_single(x).bits) << x;
        EXPECT_NEAR(h.value(), x, std::fabs(x) * 0x1p-11 + 0x1p-25) << x;
        EXPECT_NEAR(Bfloat::from_single(x).value(), x, std::fabs(x) * 0x1p-8) << x;
    }
    EXPECT_EQ(Half::from(65520.0).bits, 0x7c00);
    EXPECT_EQ(Half::from(65520.0, 'z').bits, 0x7bff);
    EXPECT_EQ(Half::from(1.0009, 'p').bits, 0x3c01);
    for (uint32_t bits = 0; bits < 0x7c00; ++bits)
        EXPECT_EQ(Half::from_single(Half{static_cast<uint16_t>(bits)}.value()).bits, bits);
}

TEST(Convert, BetweenFloatsAndIntegers) {
    Words a = words<float>([](int l) {
        return l == 0 ? NAN : l == 1 ? 1e20f : l == 2 ? -1e20f : (static_cast<float>(l) - 13) * 0.75f;
    });
    check<float, int32_t>("cvt.rzi.s32.f32 %d, %a;", "f32", "s32", a, a, a, [](float x, float, float) {
        return x != x ? 0 : x > 2e9f ? INT32_MAX : x < -2e9f ? INT32_MIN : static_cast<int>(x);
    });
    check<float, uint32_t>("cvt.rni.u32.f32 %d, %a;", "f32", "u32", a, a, a, [](float x, float, float) {
        return x != x || x < 0 ? 0u : x > 5e9f ? ~0u : static_cast<uint32_t>(std::nearbyint(x));
    });
    check<float, float>("cvt.rmi.f32.f32 %d, %a;", "f32", "f32",
                        words<float>([](int l) { return static_cast<float>(l) * 0.3f - 4; }), a, a,
                        [](float x, float, float) { return std::floor(x); });
    check<uint64_t, float>("cvt.rn.f32.u64 %d, %a;", "u64", "f32", some<uint64_t>(9), a, a,
                           [](uint64_t x, uint64_t, uint64_t) { return static_cast<float>(x); });
    check<uint32_t, int32_t>("cvt.s32.s8 %d, %a;", "u32", "s32", some<uint32_t>(2), a, a,
                             [](uint32_t x, uint32_t, uint32_t) { return static_cast<int8_t>(x); });
    check<int32_t, uint16_t>("cvt.sat.u16.s32 %d, %a;", "s32", "u16", some<int32_t>(2), a, a,
                             [](int32_t x, int32_t, int32_t) { return std::clamp(x, 0, 65535); });
    check<float, uint32_t>("cvt.rn.bf16x2.f32 %d, %a, %b;", "f32", "b32", reals<float>(1.1),
                           reals<float>(2.3), a, [](float x, float y, float) {
                               return static_cast<uint32_t>(Bfloat::from_single(x).bits) << 16 |
                                      Bfloat::from_single(y).bits;
                           });
}

TEST(Warp, ShufflesAndVotes) {
    Words lanes = words<uint32_t>([](int l) { return static_cast<uint32_t>(l * l); });
    auto shuffle = [&](const char* body, std::function<uint32_t(int)> want) {
        Words out = run(body, "b32", "b32", lanes);
        for (int l = 0; l < 32; ++l) EXPECT_EQ(value<uint32_t>(out, l), want(l)) << body << l;
    };
    auto square = [](int l) { return static_cast<uint32_t>(l * l); };
    shuffle("shfl.sync.down.b32 %d, %a, 3, 31, -1;", [=](int l) { return square(l + 3 > 31 ? l : l + 3); });
    shuffle("shfl.sync.up.b32 %d, %a, 3, 0, -1;", [=](int l) { return square(l < 3 ? l : l - 3); });
    shuffle("shfl.sync.bfly.b32 %d, %a, 5, 31, -1;", [=](int l) { return square(l ^ 5); });
    shuffle("shfl.sync.idx.b32 %d, %a, 2, 0x181f, -1;", [=](int l) { return square((l & 24) + 2); });
    shuffle("setp.gt.u32 %p0, %a, 100; vote.sync.ballot.b32 %d, %p0, -1;", [](int) { return 0xfffff800u; });
    shuffle("and.b32 %r0, %a, 3; match.any.sync.b32 %d, %r0, -1;",
            [](int l) { return l % 2 ? 0xaaaaaaaau : 0x55555555u; });
    shuffle("redux.sync.add.s32 %d, %a, -1;", [](int) { return 10416u; });
    shuffle("elect.sync %d|%p0, -1; selp.b32 %d, 7, 9, %p0;", [](int l) { return l == 0 ? 7u : 9u; });
}

TEST(Warp, DivergedLanesMeetAgain) {
    Words lanes = words<uint32_t>([](int l) { return static_cast<uint32_t>(l); });
    Words out =
        run("mov.u32 %d, 0;\nL: setp.ge.u32 %p0, %d, %a;\n@%p0 bra E;\nadd.u32 %d, %d, 1;\nbra L;\nE: "
            "activemask.b32 %r0;\n"
            "mul.lo.u32 %d, %d, 2;\nsetp.ne.u32 %p1, %r0, -1;\n@%p1 mov.u32 %d, 777;",
            "u32", "u32", lanes);
    for (int l = 0; l < 32; ++l) EXPECT_EQ(value<uint32_t>(out, l), static_cast<uint32_t>(2 * l));
}

TEST(Memory, AtomicsSeeEachOther) {
    Words ones = words<uint32_t>([](int) { return 1u; });
    Words order =
        run(".shared .b32 t;\nsetp.eq.u32 %p0, %id, 0;\n@%p0 st.shared.u32 [t], 0;\nbar.sync "
            "0;\natom.shared.add.u32 %d, [t], %a;",
            "u32", "u32", ones);
    for (int l = 0; l < 32; ++l) EXPECT_EQ(value<uint32_t>(order, l), static_cast<uint32_t>(l));
}

}  // namespace
}  // namespace ladder
