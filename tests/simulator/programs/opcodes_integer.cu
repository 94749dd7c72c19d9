// Integer arithmetic, shifts, bits, carries: 32 and 64 bits, signed and unsigned, all exact.
#include <algorithm>

#include "opcodes.cuh"

namespace {

using u32 = uint32_t;
using u64 = uint64_t;
using s32 = int32_t;
using s64 = int64_t;

// The host's arithmetic below goes through unsigned types: overflow of signed ones is undefined there.
template <class T>
T hostMulHigh(T a, T b) {
    if constexpr (std::is_signed_v<T>) return T((__int128(a) * __int128(b)) >> (8 * sizeof(T)));
    return T((static_cast<unsigned __int128>(a) * b) >> (8 * sizeof(T)));
}
template <class T>
__host__ __device__ T safeDivisor(T a, T b) {  // not 0, and not what overflows: smallest / -1
    if (b == 0) return 3;
    return std::is_signed_v<T> && b == T(-1) && a == T(T(1) << (8 * sizeof(T) - 1)) ? T(7) : b;
}
template <class T>
int bits() {
    return int(8 * sizeof(T));
}
u32 hostReverse(u64 value, int count) {
    u64 reversed = 0;
    for (int i = 0; i < count; ++i) reversed |= (value >> i & 1) << (count - 1 - i);
    return u32(reversed);
}
u64 hostReverse64(u64 value) {
    return u64(hostReverse(value & 0xffffffffu, 32)) << 32 | hostReverse(value >> 32, 32);
}
u32 hostBytes(u32 a, u32 b,
              u32 selector) {  // prmt: each nibble names one of 8 bytes, or its sign eight times
    u64 bytes = u64(b) << 32 | a;
    u32 result = 0;
    for (int i = 0; i < 4; ++i) {
        u32 nibble = selector >> (4 * i) & 15;
        u32 byte = bytes >> (8 * (nibble & 7)) & 255;
        if (nibble & 8) byte = byte & 128 ? 255 : 0;
        result |= byte << (8 * i);
    }
    return result;
}
template <class T, class Element>
s32 hostDot(T a, T b, T c) {
    u32 sum = u32(c);
    for (int i = 0; i < 4; ++i) sum += u32(s32(Element(a >> (8 * i))) * s32(Element(b >> (8 * i))));
    return s32(sum);
}
template <class Element>
u32 hostEach(u32 a, u32 b, Element (*f)(Element, Element)) {
    u32 result = 0;
    constexpr int width = 8 * sizeof(Element);
    for (int i = 0; i < 32; i += width) {
        Element x = f(Element(a >> i), Element(b >> i));
        result |= u32(std::make_unsigned_t<Element>(x)) << i;
    }
    return result;
}

OPERATION(Add, T(a + b), T(a + b))
OPERATION(Sub, T(a - b), T(a - b))
OPERATION(Mul, T(a* b), T(a* b))
OPERATION(MulAdd, T(a* b + c), T(a* b + c))
OPERATION(Div, T(a / safeDivisor(a, b)), T(a / safeDivisor(a, b)))
OPERATION(Rem, T(a % safeDivisor(a, b)), T(a % safeDivisor(a, b)))
OPERATION(DivBySeven, T(a / 7), T(a / 7))  // the compiler multiplies by the high half
OPERATION(Min, (a < b ? a : b), std::min(a, b))
OPERATION(Max, (a > b ? a : b), std::max(a, b))
OPERATION(Logic, T((a & b) | (~a ^ c)), T((a & b) | (~a ^ c)))
OPERATION(Left, T(a << (b & (sizeof(T) * 8 - 1))), T(a << (b & (sizeof(T) * 8 - 1))))
OPERATION(Right, T(a >> (b & (sizeof(T) * 8 - 1))), T(a >> (b & (sizeof(T) * 8 - 1))))
OPERATION(Compare, ((a < b) + 2 * (a <= b) + 4 * (a == b) + 8 * (a != c) + 16 * (a > c) + 32 * (a >= c)),
          ((a < b) + 2 * (a <= b) + 4 * (a == b) + 8 * (a != c) + 16 * (a > c) + 32 * (a >= c)))
OPERATION(Select, (a > b ? c : a), (a > b ? c : a))
OPERATION(Wide, s64(a) * s64(b), s64(a) * s64(b))
OPERATION(WideUnsigned, u64(a) * u64(b) + c, u64(a) * u64(b) + c)
OPERATION(Negate, T(0 - a), T(0 - a))

OPERATION(MulHighS32, __mulhi(a, b), hostMulHigh(a, b))
OPERATION(MulHighU32, __umulhi(a, b), hostMulHigh(a, b))
OPERATION(MulHighS64, s64(__mul64hi(a, b)), hostMulHigh(a, b))
OPERATION(MulHighU64, u64(__umul64hi(a, b)), hostMulHigh(a, b))
OPERATION(Mul24, __umul24(a, b), u32((a & 0xffffff) * (b & 0xffffff)))
OPERATION(Absolute, abs(a), (a < 0 ? s32(0u - u32(a)) : a))
OPERATION(Absolute64, s64(llabs(a)), (a < 0 ? s64(0ull - u64(a)) : a))
OPERATION(LeadingZeros, __clz(a), (a == 0 ? 32 : __builtin_clz(a)))
OPERATION(LeadingZeros64, __clzll(a), (a == 0 ? 64 : __builtin_clzll(a)))
OPERATION(FindFirst, __ffs(a), __builtin_ffs(int(a)))
OPERATION(FindFirst64, __ffsll(a), __builtin_ffsll(s64(a)))
OPERATION(Count, __popc(a), __builtin_popcount(a))
OPERATION(Count64, __popcll(a), __builtin_popcountll(a))
OPERATION(Reverse, __brev(a), hostReverse(a, 32))
OPERATION(Reverse64, u64(__brevll(a)), hostReverse64(a))
OPERATION(Permute, __byte_perm(a, b, c & 0x7777), hostBytes(a, b, c & 0x7777))
OPERATION(FunnelLeft, __funnelshift_l(a, b, c), u32((u64(b) << 32 | a) << (c & 31) >> 32))
OPERATION(FunnelRight, __funnelshift_r(a, b, c), u32((u64(b) << 32 | a) >> (c & 31)))
OPERATION(FunnelLeftClamp, __funnelshift_lc(a, b, c % 64),
          u32((u64(b) << 32 | a) << std::min(c % 64, 32u) >> 32))
OPERATION(FunnelRightClamp, __funnelshift_rc(a, b, c % 64), u32((u64(b) << 32 | a) >> std::min(c % 64, 32u)))
OPERATION(SumOfDifferences, __usad(a, b, c), u32((a > b ? a - b : b - a) + c))
OPERATION(SumOfDifferencesS32, u32(__sad(a, b, u32(c))),
          u32((a > b ? u32(a) - u32(b) : u32(b) - u32(a)) + u32(c)))
OPERATION(HalvingAdd, __uhadd(a, b), u32((u64(a) + b) >> 1))
OPERATION(HalvingAddRounded, __rhadd(a, b), s32((s64(a) + b + 1) >> 1))
OPERATION(DotS8, __dp4a(a, b, c), (hostDot<s32, signed char>(a, b, c)))
OPERATION(DotU8, __dp4a(a, b, c), u32(hostDot<u32, unsigned char>(a, b, c)))
OPERATION(AddBytes, __vadd4(a, b), hostEach<unsigned char>(a, b, [](unsigned char x, unsigned char y) {
              return static_cast<unsigned char>(x + y);
          }))
OPERATION(MaxShorts, __vmaxs2(a, b), hostEach<short>(a, b, [](short x, short y) { return std::max(x, y); }))
OPERATION(Max3, __vimax3_s32(a, b, c), std::max(a, std::max(b, c)))

// Inline PTX, for opcodes that the compiler chooses at its own will.
__device__ u32 extractU32(u32 a, u32 position, u32 length) {
    u32 d;
    asm("bfe.u32 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(position), "r"(length));
    return d;
}
__device__ s32 extractS32(s32 a, u32 position, u32 length) {
    s32 d;
    asm("bfe.s32 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(position), "r"(length));
    return d;
}
__device__ u32 insertBits(u32 a, u32 b, u32 position, u32 length) {
    u32 d;
    asm("bfi.b32 %0, %1, %2, %3, %4;" : "=r"(d) : "r"(a), "r"(b), "r"(position), "r"(length));
    return d;
}
__device__ u32 findHighest(u32 a) {
    u32 d;
    asm("bfind.u32 %0, %1;" : "=r"(d) : "r"(a));
    return d;
}
__device__ u32 findHighestS32(s32 a) {
    u32 d;
    asm("bfind.s32 %0, %1;" : "=r"(d) : "r"(a));
    return d;
}
__device__ u32 majority(u32 a, u32 b, u32 c) {
    u32 d;
    asm("lop3.b32 %0, %1, %2, %3, 0xe8;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
    return d;
}
__device__ u32 signedPermute(u32 a, u32 b, u32 c) {
    u32 d;
    asm("prmt.b32 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
    return d;
}
__device__ s32 saturatedAdd(s32 a, s32 b) {
    s32 d;
    asm("add.sat.s32 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
    return d;
}
__device__ s32 saturatedSub(s32 a, s32 b) {
    s32 d;
    asm("sub.sat.s32 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
    return d;
}
__device__ u64 carryAdd(u64 a, u64 b) {
    u32 low, high;
    asm("add.cc.u32 %0, %2, %4;\n\taddc.u32 %1, %3, %5;"
        : "=&r"(low), "=r"(high)
        : "r"(u32(a)), "r"(u32(a >> 32)), "r"(u32(b)), "r"(u32(b >> 32)));
    return u64(high) << 32 | low;
}
__device__ u64 borrowSub(u64 a, u64 b) {
    u32 low, high;
    asm("sub.cc.u32 %0, %2, %4;\n\tsubc.u32 %1, %3, %5;"
        : "=&r"(low), "=r"(high)
        : "r"(u32(a)), "r"(u32(a >> 32)), "r"(u32(b)), "r"(u32(b >> 32)));
    return u64(high) << 32 | low;
}
__device__ u64 carryMulAdd(u32 a, u32 b, u64 c) {
    u32 low, high;
    asm("mad.lo.cc.u32 %0, %2, %3, %4;\n\tmadc.hi.u32 %1, %2, %3, %5;"
        : "=&r"(low), "=r"(high)
        : "r"(a), "r"(b), "r"(u32(c)), "r"(u32(c >> 32)));
    return u64(high) << 32 | low;
}
__device__ u32 shiftTooFar(u32 a, u32 b) {  // PTX clamps: 32 and more give zero, where C says nothing
    u32 d;
    asm("shl.b32 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
    return d;
}
__device__ s32 shiftRightTooFar(s32 a, u32 b) {
    s32 d;
    asm("shr.s32 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
    return d;
}
__device__ u32 isZero(u32 a) {
    u32 d;
    asm("cnot.b32 %0, %1;" : "=r"(d) : "r"(a));
    return d;
}

u64 lowMask(u32 length) {
    return length >= 64 ? ~0ull : (1ull << length) - 1;
}
s32 hostExtractS32(s32 a, u32 position, u32 length) {
    if (length == 0) return 0;
    s64 wide = s64(a) >> std::min(position, 31u);  // bits beyond the end are copies of the sign
    return length >= 32 ? s32(wide) : s32(wide << (64 - length) >> (64 - length));
}
s32 clampS32(s64 value) {
    return s32(std::clamp<s64>(value, INT32_MIN, INT32_MAX));
}

OPERATION(BitsU32, extractU32(a, b % 32, c % 33), u32((a >> (b % 32)) & lowMask(c % 33)))
OPERATION(BitsS32, extractS32(a, u32(b) % 32, u32(c) % 33), hostExtractS32(a, u32(b) % 32, u32(c) % 33))
OPERATION(BitsInsert, insertBits(a, b, c % 32, c / 32 % 33),
          u32((b & ~(lowMask(c / 32 % 33) << (c % 32))) | ((u64(a) & lowMask(c / 32 % 33)) << (c % 32))))
OPERATION(Highest, findHighest(a), (a == 0 ? ~0u : u32(31 - __builtin_clz(a))))
OPERATION(HighestS32, findHighestS32(a),
          (a == 0 || a == -1 ? ~0u : u32(31 - __builtin_clz(a < 0 ? ~u32(a) : u32(a)))))
OPERATION(Lop3, majority(a, b, c), u32((a & b) | (b & c) | (a & c)))
OPERATION(PermuteSigns, signedPermute(a, b, c), hostBytes(a, b, c))
OPERATION(AddSaturated, saturatedAdd(a, b), clampS32(s64(a) + b))
OPERATION(SubSaturated, saturatedSub(a, b), clampS32(s64(a) - b))
OPERATION(AddWithCarry, carryAdd(a, b), u64(a + b))
OPERATION(SubWithBorrow, borrowSub(a, b), u64(a - b))
OPERATION(MulAddWithCarry, carryMulAdd(u32(a), u32(b), c), u64(u64(u32(a)) * u32(b) + c))
OPERATION(LeftClamped, shiftTooFar(a, b % 70), u32(b % 70 > 31 ? 0 : a << (b % 70)))
OPERATION(RightClamped, shiftRightTooFar(a, u32(b) % 70), s32(a >> std::min(u32(b) % 70, 31u)))
OPERATION(LogicalNot, isZero(a), u32(a == 0))

}  // namespace

int main() {
    Checks checks("integer");
    auto u = integerInputs<u32>();
    auto s = integerInputs<s32>();
    auto U = integerInputs<u64>();
    auto S = integerInputs<s64>();
    auto h = integerInputs<int16_t>();
    auto H = integerInputs<uint16_t>();
    auto b = integerInputs<int8_t>();

    CHECK_OPERATION(Add, u);
    CHECK_OPERATION(Sub, u);
    CHECK_OPERATION(Mul, u);
    CHECK_OPERATION(MulAdd, u);
    CHECK_OPERATION(Negate, u);
    CHECK_OPERATION(Add, U);
    CHECK_OPERATION(Sub, U);
    CHECK_OPERATION(Mul, U);
    CHECK_OPERATION(MulAdd, U);
    CHECK_OPERATION(Negate, U);
    CHECK_OPERATION(Add, h);
    CHECK_OPERATION(Mul, h);
    CHECK_OPERATION(Add, b);
    auto everyWidth = [&](const auto& inputs) {
        CHECK_OPERATION(Div, inputs);
        CHECK_OPERATION(Rem, inputs);
        CHECK_OPERATION(DivBySeven, inputs);
        CHECK_OPERATION(Min, inputs);
        CHECK_OPERATION(Max, inputs);
        CHECK_OPERATION(Logic, inputs);
        CHECK_OPERATION(Right, inputs);
        CHECK_OPERATION(Compare, inputs);
        CHECK_OPERATION(Select, inputs);
    };
    everyWidth(u);
    everyWidth(s);
    everyWidth(U);
    everyWidth(S);
    everyWidth(h);
    everyWidth(H);
    CHECK_OPERATION(Left, u);
    CHECK_OPERATION(Left, U);
    CHECK_OPERATION(Wide, s);
    CHECK_OPERATION(Wide, h);
    CHECK_OPERATION(WideUnsigned, u);

    CHECK_OPERATION(MulHighS32, s);
    CHECK_OPERATION(MulHighU32, u);
    CHECK_OPERATION(MulHighS64, S);
    CHECK_OPERATION(MulHighU64, U);
    CHECK_OPERATION(Mul24, u);
    CHECK_OPERATION(Absolute, s);
    CHECK_OPERATION(Absolute64, S);
    CHECK_OPERATION(LeadingZeros, u);
    CHECK_OPERATION(LeadingZeros64, U);
    CHECK_OPERATION(FindFirst, u);
    CHECK_OPERATION(FindFirst64, U);
    CHECK_OPERATION(Count, u);
    CHECK_OPERATION(Count64, U);
    CHECK_OPERATION(Reverse, u);
    CHECK_OPERATION(Reverse64, U);
    CHECK_OPERATION(Permute, u);
    CHECK_OPERATION(FunnelLeft, u);
    CHECK_OPERATION(FunnelRight, u);
    CHECK_OPERATION(FunnelLeftClamp, u);
    CHECK_OPERATION(FunnelRightClamp, u);
    CHECK_OPERATION(SumOfDifferences, u);
    CHECK_OPERATION(SumOfDifferencesS32, s);
    CHECK_OPERATION(HalvingAdd, u);
    CHECK_OPERATION(HalvingAddRounded, s);
    CHECK_OPERATION(DotS8, s);
    CHECK_OPERATION(DotU8, u);
    CHECK_OPERATION(AddBytes, u);
    CHECK_OPERATION(MaxShorts, u);
    CHECK_OPERATION(Max3, s);

    CHECK_OPERATION(BitsU32, u);
    CHECK_OPERATION(BitsS32, s);
    CHECK_OPERATION(BitsInsert, u);
    CHECK_OPERATION(Highest, u);
    CHECK_OPERATION(HighestS32, s);
    CHECK_OPERATION(Lop3, u);
    CHECK_OPERATION(PermuteSigns, u);
    CHECK_OPERATION(AddSaturated, s);
    CHECK_OPERATION(SubSaturated, s);
    CHECK_OPERATION(AddWithCarry, U);
    CHECK_OPERATION(SubWithBorrow, U);
    CHECK_OPERATION(MulAddWithCarry, U);
    CHECK_OPERATION(LeftClamped, u);
    CHECK_OPERATION(RightClamped, s);
    CHECK_OPERATION(LogicalNot, u);
    return checks.finish();
}
