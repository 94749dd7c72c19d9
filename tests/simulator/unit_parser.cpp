// The PTX parser: good text, malformed text with the line that is to blame, and text cut at every byte.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "ptx/parser.hpp"

namespace ladder {
namespace {

std::string sample() {
    std::ifstream file(LADDER_TEST_DATA "/reduce.ptx");
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}

/// The line that the parser blames, or 0 if it accepts the text.
int blamed_line(const std::string& text) {
    Module m;
    try {
        parse_ptx(text, m);
    } catch (const ParseError& e) {
        return e.line;
    }
    return 0;
}
std::string kernel(const std::string& body) {
    return ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n" + body + "\nret;\n}\n";
}

TEST(Parser, ReadsWhatNvccWrites) {
    Module m;
    parse_ptx(sample(), m);
    ASSERT_EQ(m.functions.size(), 4u);
    const Function& f = m.functions.at("_Z13reduceStridedPKfPfi");
    EXPECT_TRUE(f.entry);
    EXPECT_EQ(f.parameters.size(), 3u);
    EXPECT_EQ(f.parameter_bytes, 20);
    EXPECT_EQ(f.not_simulated, nullptr);
    EXPECT_EQ(m.functions.at("_Z13reduceOnePassPKfPfS1_i").shared_bytes, 513);
    EXPECT_EQ(source_place(f.code.back()).substr(0, 9), "reduce.cu");
}

// As nvcc writes it for __shared__ in functions that several kernels have inlined, or call.
TEST(Parser, AKernelIsChargedForTheSharedVariablesThatItReaches) {
    Module m;
    parse_ptx(
        ".version 9.0\n.target sm_90\n.address_size 64\n"
        ".shared .align 4 .b8 a[100];\n.shared .align 16 .b8 b[64];\n.shared .align 1 .b8 c[1000];\n"
        ".extern .shared .align 16 .b8 dynamic[];\n.func f();\n"
        ".func g() { .shared .b32 own;\n.reg .b32 %r; ld.shared.b32 %r, [own]; call f; ret; }\n"
        ".func f() { .reg .b32 %r; ld.shared.b32 %r, [b+4]; call g; ret; }\n"
        ".entry none() { .reg .b32 %r; ld.shared.b32 %r, [dynamic]; ret; }\n"
        ".entry one() { .reg .b32 %r; st.shared.b32 [a+8], %r; mov.u32 %r, a; ret; }\n"
        ".entry called() { call f; ret; }\n"
        ".entry all() { .shared .b32 mine; .reg .b32 %r; mov.u32 %r, mine; mov.u32 %r, c;\n"
        "mov.u32 %r, a; call g; ret; }\n"
        ".entry indirect() { .reg .b64 %d; p: .callprototype _ (); call %d, (), p; ret; }\n",
        m);
    const auto bytes = [&](const char* kernel) { return m.functions.at(kernel).shared_bytes; };
    EXPECT_EQ(bytes("none"), 0);
    EXPECT_EQ(bytes("one"), 100);
    EXPECT_EQ(bytes("called"), 64 + 4);
    // 4 bytes of its own, a, 8 that align b, b, c, own
    EXPECT_EQ(bytes("all"), 4 + 100 + 8 + 64 + 1000 + 4);
    EXPECT_EQ(bytes("indirect"), 64 + 4);
    EXPECT_EQ(blamed_line(".shared .b32 s;\n.global .b64 pointer = s;\n"), 2);
}

TEST(Parser, FindsWherePathsMeetAgain) {
    Module m;
    parse_ptx(kernel(".reg .pred %p;\n.reg .b32 %r;\n"
                     "@%p bra A;\nmov.u32 %r, 1;\nbra B;\nA: mov.u32 %r, 2;\nB: mov.u32 %r, 3;"),
              m);
    const Function& f = m.functions.at("k");
    EXPECT_EQ(f.code[0].target, 3);
    EXPECT_EQ(f.code[0].reconvergence, 4);
}

TEST(Parser, LabelsBelongToTheirScope) {
    EXPECT_EQ(blamed_line(kernel("{ L: bra L; }\n{ L: bra L; }")), 0);
    EXPECT_EQ(blamed_line(kernel("{ L: ret; }\nbra L;")), 7);
}

TEST(Parser, UnknownOpcodesAreKeptForTheLaunchToRefuse) {
    Module m;
    parse_ptx(kernel(".reg .b32 %r;\nwgmma.fence.sync.aligned;\nfrobnicate.b32 %r, {%r, 1}, [%r];"), m);
    const Function& f = m.functions.at("k");
    ASSERT_NE(f.not_simulated, nullptr);
    EXPECT_EQ(f.not_simulated->text, "wgmma.fence.sync.aligned");
}

TEST(Parser, BlamesTheLine) {
    EXPECT_EQ(blamed_line(kernel("add.s32 %r1, %r2, %r3;")), 6);
    EXPECT_EQ(blamed_line(kernel(".reg .b32 %r<3>;\nadd.s32 %r1, %r2;")), 7);
    EXPECT_EQ(blamed_line(kernel(".reg .b32 %r<3>;\n.reg .b64 %d;\nadd.s32 %r1, %r2, %d;")), 8);
    EXPECT_EQ(blamed_line(kernel("bra NOWHERE;")), 6);
    EXPECT_EQ(blamed_line(kernel("A: A: ret;")), 6);
    EXPECT_EQ(blamed_line(kernel(".reg .b33 %r;")), 6);
    EXPECT_EQ(blamed_line(kernel(".reg .b32 %r<99999999>;")), 6);
    EXPECT_EQ(blamed_line(kernel(".shared .align 3 .b8 s[4];")), 6);
    EXPECT_EQ(blamed_line(kernel(".local .b8 s[9999999999];")), 6);
    EXPECT_EQ(blamed_line(kernel("call nobody;")), 6);
    EXPECT_EQ(blamed_line(kernel(".param .b32 p;\n.reg .b64 %d;\nst.param.b64 [p], %d;")), 8);
    EXPECT_EQ(blamed_line(".version 9.0\nnonsense\n"), 2);
    EXPECT_EQ(blamed_line(".version 9.0\n/* open\n"), 2);
    EXPECT_EQ(blamed_line(".global .b32 x[2] = {1, 2, 3};"), 1);
}

// Instructions that can be read but would reach outside of their registers if they ran.
TEST(Parser, RefusesVectorsThatDoNotFit) {
    std::string registers =
        ".reg .b32 %r<20>;\n.reg .b64 %d<4>;\n.reg .f32 %f<4>;\n.shared .align 16 .b8 s[64];\n";
    auto line_of = [&](const std::string& instruction) {
        return blamed_line(kernel(registers + instruction));
    };
    EXPECT_EQ(line_of("mov.b64 %d0, {%r0, %r1};"), 0);
    EXPECT_EQ(line_of("mov.b64 {%r0, _}, %d0;"), 0);
    EXPECT_EQ(line_of("mov.b64 {%r0}, %d0;"), 10);
    EXPECT_EQ(line_of("mov.b32 %r0, {%r1, %r2, %r3};"), 10);
    EXPECT_EQ(line_of("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r0, %r1}, [s];"), 0);
    EXPECT_EQ(line_of("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r0, %r1}, [s];"), 10);
    std::string mma = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0, %f1, %f2, %f3}, ";
    EXPECT_EQ(line_of(mma + "{%r0, %r1, %r2, %r3}, {%r4, %r5}, {%f0, %f1, %f2, %f3};"), 0);
    EXPECT_EQ(line_of(mma + "{%r0, %r1}, {%r4, %r5}, {%f0, %f1, %f2, %f3};"), 10);
    EXPECT_EQ(line_of(mma + "{%r0,%r1,%r2,%r3,%r4,%r5,%r6,%r7,%r8}, {%r4, %r5}, {%f0, %f1, %f2, %f3};"), 10);
    EXPECT_EQ(line_of("ld.global.v8.b32 {%r0,%r1,%r2,%r3,%r4,%r5,%r6,%r7,%r8}, [%d0];"), 10);
}

TEST(Parser, SurvivesTextCutAtEveryByte) {
    std::string text = sample();
    text.resize(text.find("\n}\n") + 2);  // one kernel
    for (size_t n = 0; n < text.size(); ++n) blamed_line(text.substr(0, n));
    EXPECT_EQ(blamed_line(text), 0);
    EXPECT_GT(blamed_line(text.substr(0, text.size() - 1)), 0);
}

TEST(Parser, SurvivesDamagedBytes) {
    std::string text = sample();
    uint32_t seed = 12345;
    for (int round = 0; round < 300; ++round) {
        std::string damaged = text;
        for (int k = 0; k < 3; ++k) {
            seed = seed * 1664525 + 1013904223;
            damaged[seed % damaged.size()] = "{};,.%[]()<>0a-\"@!|:"[seed >> 16 & 15];
        }
        blamed_line(damaged);
    }
}

}  // namespace
}  // namespace ladder
