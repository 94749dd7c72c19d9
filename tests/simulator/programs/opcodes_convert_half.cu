// Conversions between all number formats in every direction of rounding, and arithmetic in half and bfloat16.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <cfenv>

#include "opcodes.cuh"

namespace {

// ---- the host's own half and bfloat16: 16 bits, and how they widen and round, written from the formats

template <int exponentBits, int mantissaBits>
float widen(uint16_t bits) {
    int exponent = bits >> mantissaBits & ((1 << exponentBits) - 1), bias = (1 << (exponentBits - 1)) - 1;
    double mantissa = bits & ((1 << mantissaBits) - 1), scale = std::ldexp(1.0, -mantissaBits);
    double value = exponent == 0 ? std::ldexp(mantissa * scale, 1 - bias)
                                 : std::ldexp(1 + mantissa * scale, exponent - bias);
    if (exponent == (1 << exponentBits) - 1) value = mantissa == 0 ? INFINITY : NAN;
    return float(bits & 0x8000 ? -value : value);
}

/// The nearest of all values, by search: slow and plain. Ties go to the even mantissa.
template <int exponentBits, int mantissaBits>
uint16_t narrow(double value) {
    uint16_t sign = std::signbit(value) ? 0x8000 : 0, infinity = ((1 << exponentBits) - 1) << mantissaBits;
    if (std::isnan(value)) return 0x7fff;
    double magnitude = std::fabs(value);
    int low = 0, high = infinity;  // as bits, magnitudes are in order
    while (high - low > 1) {
        int middle = (low + high) / 2;
        (double(widen<exponentBits, mantissaBits>(uint16_t(middle))) <= magnitude ? low : high) = middle;
    }
    double below = widen<exponentBits, mantissaBits>(uint16_t(low));
    double above = high == infinity ? 2 * below - widen<exponentBits, mantissaBits>(uint16_t(low - 1))
                                    : widen<exponentBits, mantissaBits>(uint16_t(high));
    if (std::isinf(magnitude)) return sign | infinity;
    double down = magnitude - below, up = above - magnitude;
    return sign | uint16_t(down < up || (down == up && low % 2 == 0) ? low : high);
}

struct Half {
    using Device = __half;
    using Pair = __half2;
    static float wide(uint16_t bits) { return widen<5, 10>(bits); }
    static uint16_t round(double value) { return narrow<5, 10>(value); }
    static __device__ Device of(uint16_t bits) { return __ushort_as_half(bits); }
    static __device__ uint16_t bits(Device value) { return __half_as_ushort(value); }
    static __device__ Pair pair(Device x, Device y) { return __halves2half2(x, y); }
    static __device__ Device low(Pair p) { return __low2half(p); }
    static __device__ Device high(Pair p) { return __high2half(p); }
};
struct Bfloat {
    using Device = __nv_bfloat16;
    using Pair = __nv_bfloat162;
    static float wide(uint16_t bits) { return widen<8, 7>(bits); }
    static uint16_t round(double value) { return narrow<8, 7>(value); }
    static __device__ Device of(uint16_t bits) { return __ushort_as_bfloat16(bits); }
    static __device__ uint16_t bits(Device value) { return __bfloat16_as_ushort(value); }
    static __device__ Pair pair(Device x, Device y) { return __halves2bfloat162(x, y); }
    static __device__ Device low(Pair p) { return __low2bfloat16(p); }
    static __device__ Device high(Pair p) { return __high2bfloat16(p); }
};

/// An operation on two or three 16-bit numbers a, b, c: the device's, and in double on the host (exact up to
/// the last rounding for the inputs below).
#define OPERATION16(name, device, host)                                                                  \
    struct name {                                                                                        \
        template <class D>                                                                               \
        static __device__ D onDevice([[maybe_unused]] D a, [[maybe_unused]] D b, [[maybe_unused]] D c) { \
            return device;                                                                               \
        }                                                                                                \
        static double onHost([[maybe_unused]] double a, [[maybe_unused]] double b,                       \
                             [[maybe_unused]] double c) {                                                \
            return host;                                                                                 \
        }                                                                                                \
    };
OPERATION16(Add16, __hadd(a, b), a + b)
OPERATION16(Sub16, __hsub(a, b), a - b)
OPERATION16(Mul16, __hmul(a, b), a* b)
OPERATION16(Fma16, __hfma(a, b, c), a* b + c)
OPERATION16(Fma16Relu, __hfma_relu(a, b, c), std::fmax(a* b + c, 0.0))
OPERATION16(Negate16, __hneg(a), -a)
OPERATION16(Absolute16, __habs(a), std::fabs(a))
OPERATION16(Minimum16, __hmin(a, b), std::fmin(a, b))
OPERATION16(Maximum16, __hmax(a, b), std::fmax(a, b))
OPERATION16(Floor16, hfloor(a), std::floor(a))
OPERATION16(Even16, hrint(a), std::rint(a))
OPERATION16(Select16, (__hlt(a, b) ? a : (__hge(b, c) ? b : c)), (a < b ? a : (b >= c ? b : c)))

template <class Format, class Operation>
__global__ void apply16(const uint16_t* a, const uint16_t* b, const uint16_t* c, uint16_t* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = Format::bits(Operation::onDevice(Format::of(a[i]), Format::of(b[i]), Format::of(c[i])));
}
/// The same through pairs: two results at once.
template <class Format, class Operation>
__global__ void applyPairs(const uint16_t* a, const uint16_t* b, const uint16_t* c, uint16_t* out) {
    int i = 2 * (blockIdx.x * blockDim.x + threadIdx.x);
    auto pair = [&](const uint16_t* p) { return Format::pair(Format::of(p[i]), Format::of(p[i + 1])); };
    typename Format::Pair result = Operation::onDevice(pair(a), pair(b), pair(c));
    out[i] = Format::bits(Format::low(result));
    out[i + 1] = Format::bits(Format::high(result));
}

#define PAIRS(name, device, single)                                    \
    struct name : single {                                             \
        template <class P>                                             \
        static __device__ P onDevice(P a, P b, [[maybe_unused]] P c) { \
            return device;                                             \
        }                                                              \
    };
PAIRS(AddPair, __hadd2(a, b), Add16)
PAIRS(SubPair, __hsub2(a, b), Sub16)
PAIRS(MulPair, __hmul2(a, b), Mul16)
PAIRS(FmaPair, __hfma2(a, b, c), Fma16)
PAIRS(MinPair, __hmin2(a, b), Minimum16)
PAIRS(MaxPair, __hmax2(a, b), Maximum16)

template <class Format>
struct Inputs16 {
    std::vector<uint16_t> a, b, c;
    Inputs16() {
        Random random(4);
        auto any = [&] {
            return Format::round(std::ldexp(random.uniform(-2, 2), int(random.next() % 8) - 4));
        };
        for (int i = 0; i < 512; ++i) {
            a.push_back(any());
            b.push_back(any());
            c.push_back(any());
        }
    }
};

template <class Format, class Operation, class Kernel>
void check16(Checks& checks, const std::string& what, Kernel kernel, int threads) {
    static const Inputs16<Format> inputs;
    Device<uint16_t> a(inputs.a), b(inputs.b), c(inputs.c), out(512);
    kernel<<<threads / 128, 128>>>(a, b, c, out);
    std::vector<uint16_t> want;
    for (int i = 0; i < 512; ++i)
        want.push_back(Format::round(Operation::onHost(Format::wide(inputs.a[i]), Format::wide(inputs.b[i]),
                                                       Format::wide(inputs.c[i]))));
    checks.equal(what, out.get(), want);
}
#define SINGLE16(operation) \
    check16<Format, operation>(checks, format + #operation, apply16<Format, operation>, 512)
#define PAIR16(operation) \
    check16<Format, operation>(checks, format + #operation, applyPairs<Format, operation>, 256)

template <class Format>
void arithmetic(Checks& checks, const std::string& format) {
    SINGLE16(Add16);
    SINGLE16(Sub16);
    SINGLE16(Mul16);
    SINGLE16(Fma16);
    SINGLE16(Fma16Relu);
    SINGLE16(Negate16);
    SINGLE16(Absolute16);
    SINGLE16(Minimum16);
    SINGLE16(Maximum16);
    SINGLE16(Floor16);
    SINGLE16(Even16);
    SINGLE16(Select16);
    PAIR16(AddPair);
    PAIR16(SubPair);
    PAIR16(MulPair);
    PAIR16(FmaPair);
    PAIR16(MinPair);
    PAIR16(MaxPair);
}

/// Every one of the 65536 values widens exactly, and comes back.
template <class Format>
__global__ void widenAll(float* wide, uint16_t* back) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float value = float(Format::of(uint16_t(i)));
    wide[i] = value;
    back[i] = Format::bits(typename Format::Device(value));
}
template <class Format>
void everyValue(Checks& checks, const std::string& format) {
    Device<float> wide(65536);
    Device<uint16_t> back(65536);
    widenAll<Format><<<256, 256>>>(wide, back);
    std::vector<float> wantWide;
    std::vector<uint16_t> wantBack;
    std::vector<uint16_t> gotBack = back.get();
    for (int i = 0; i < 65536; ++i) {
        wantWide.push_back(Format::wide(uint16_t(i)));
        bool nan = std::isnan(wantWide.back());  // of which there are many
        wantBack.push_back(uint16_t(nan ? 0 : i));
        if (nan && std::isnan(Format::wide(gotBack[i]))) gotBack[i] = 0;
    }
    checks.equal(format + "to float", wide.get(), wantWide);
    checks.equal(format + "and back", gotBack, wantBack);
}

// ---- between integers and floating point

template <class To, class From>
To directed(int direction, From value) {
    volatile From x = value;
    std::fesetround(direction);
    volatile To result = To(x);
    std::fesetround(FE_TONEAREST);
    return result;
}
/// Beyond its range, a conversion to an integer gives the nearest one that there is; NaN gives 0 from float,
/// the top bit alone from double.
template <class To, class From>
To clamped(From value, From (*integral)(From)) {
    using Limits = std::numeric_limits<To>;
    if (std::isnan(value)) return sizeof(From) == 8 ? To(1u << 31) : To(0);
    long double whole = integral(value);
    if (whole <= (long double)(Limits::min())) return Limits::min();
    if (whole >= (long double)(Limits::max())) return Limits::max();
    return To(whole);
}

OPERATION(FloatToS32Even, __float2int_rn(a), (clamped<int, T>(a, std::rint)))
OPERATION(FloatToS32Zero, __float2int_rz(a), (clamped<int, T>(a, std::trunc)))
OPERATION(FloatToS32Up, __float2int_ru(a), (clamped<int, T>(a, std::ceil)))
OPERATION(FloatToS32Down, __float2int_rd(a), (clamped<int, T>(a, std::floor)))
OPERATION(FloatToU32Even, __float2uint_rn(a), (clamped<unsigned, T>(a, std::rint)))
OPERATION(FloatToU32Zero, __float2uint_rz(a), (clamped<unsigned, T>(a, std::trunc)))
OPERATION(DoubleToS32Zero, __double2int_rz(a), (clamped<int, T>(a, std::trunc)))
OPERATION(DoubleToS32Up, __double2int_ru(a), (clamped<int, T>(a, std::ceil)))
OPERATION(DoubleToU32Down, __double2uint_rd(a), (clamped<unsigned, T>(a, std::floor)))
OPERATION(DoubleToFloat, __double2float_rn(a), float(a))
OPERATION(DoubleToFloatZero, __double2float_rz(a), directed<float>(FE_TOWARDZERO, a))
OPERATION(DoubleToFloatUp, __double2float_ru(a), directed<float>(FE_UPWARD, a))
OPERATION(DoubleToFloatDown, __double2float_rd(a), directed<float>(FE_DOWNWARD, a))
OPERATION(FloatToDouble, double(a), double(a))
OPERATION(ToS64, (long long)(a), (long long)(a))
OPERATION(ToU64, (unsigned long long)(a < 0 ? -a : a), (unsigned long long)(a < 0 ? -a : a))
OPERATION(ToByte, (signed char)(int(a)), (signed char)(int(a)))
OPERATION(S32ToFloat, __int2float_rn(a), float(a))
OPERATION(S32ToFloatZero, __int2float_rz(a), directed<float>(FE_TOWARDZERO, a))
OPERATION(S32ToFloatUp, __int2float_ru(a), directed<float>(FE_UPWARD, a))
OPERATION(S32ToDouble, double(a), double(a))
OPERATION(U32ToFloat, __uint2float_rn(a), float(a))
OPERATION(U32ToFloatDown, __uint2float_rd(a), directed<float>(FE_DOWNWARD, a))
OPERATION(S64ToFloat, __ll2float_rn(a), float(a))
OPERATION(S64ToDouble, __ll2double_rn(a), double(a))
OPERATION(U64ToDouble, __ull2double_rn(a), double(a))
OPERATION(U64ToDoubleUp, __ull2double_ru(a), directed<double>(FE_UPWARD, a))
OPERATION(SignExtend8, (long long)((signed char)(a)), (long long)((signed char)(a)))
OPERATION(SignExtend16, (long long)(short(a)), (long long)(short(a)))
OPERATION(ZeroExtend8, (unsigned long long)((unsigned char)(a)), (unsigned long long)((unsigned char)(a)))
OPERATION(Narrow64, int(a), int(a))

__device__ unsigned saturateByte(int a) {
    unsigned d;
    asm("cvt.sat.u8.s32 %0, %1;" : "=r"(d) : "r"(a));
    return d;
}
__device__ int saturateShort(int a) {
    int d;
    asm("cvt.sat.s16.s32 %0, %1;" : "=r"(d) : "r"(a));
    return d;
}
OPERATION(SaturateByte, saturateByte(a), unsigned(std::clamp(a, 0, 255)))
OPERATION(SaturateShort, saturateShort(a), std::clamp(a, -32768, 32767))

// From float and back through 16 bits.
OPERATION(FloatToHalf, __half_as_ushort(__float2half_rn(a)), Half::round(a))
OPERATION(FloatToBfloat, __bfloat16_as_ushort(__float2bfloat16_rn(a)), Bfloat::round(a))
OPERATION(FloatToHalfPair,
          unsigned(__half_as_ushort(__high2half(__floats2half2_rn(a, b))) << 16 |
                   __half_as_ushort(__low2half(__floats2half2_rn(a, b)))),
          unsigned(Half::round(b) << 16 | Half::round(a)))
OPERATION(FloatToBfloatPair,
          unsigned(__bfloat16_as_ushort(__high2bfloat16(__floats2bfloat162_rn(a, b))) << 16 |
                   __bfloat16_as_ushort(__low2bfloat16(__floats2bfloat162_rn(a, b)))),
          unsigned(Bfloat::round(b) << 16 | Bfloat::round(a)))
OPERATION(S32ToHalf, __half_as_ushort(__int2half_rn(a % 60000)), Half::round(a % 60000))
OPERATION(HalfToS32, __half2int_rz(__float2half_rn(a)), int(std::trunc(Half::wide(Half::round(a)))))
OPERATION(HalfToS32Even, __half2int_rn(__float2half_rn(a)), int(std::rint(Half::wide(Half::round(a)))))
OPERATION(HalfDivide, __half2float(__hdiv(__float2half_rn(a), __float2half_rn(b))),
          float(Half::wide(Half::round(a))) / float(Half::wide(Half::round(b))))
OPERATION(HalfRoot, __half2float(hsqrt(__float2half_rn(a))), float(std::sqrt(Half::wide(Half::round(a)))))
OPERATION(HalfExp, __half2float(hexp(__float2half_rn(a))), float(std::exp(Half::wide(Half::round(a)))))

template <class T>
Inputs<T> numbers(double low, double high) {
    Inputs<T> inputs;
    Random random(5);
    for (int i = 0; i < 300; ++i) inputs.add(T(random.uniform(low, high)), T(random.uniform(0.5, 9)), T(0));
    for (T whole : {T(-3.5), T(-2.5), T(-1), T(0), T(0.5), T(1.5), T(2.5), T(3)})
        if (whole >= T(low)) inputs.add(whole, 1, 0);
    return inputs;
}
template <class T>
Inputs<T> withExtremes(Inputs<T> inputs) {
    for (T a :
         {T(3e9), T(-3e9), T(5e9), T(1e20), T(-1e20), T(INFINITY), T(-INFINITY), T(NAN), T(2147483647.0)})
        inputs.add(a, 1, 0);
    return inputs;
}

}  // namespace

int main() {
    Checks checks("convert_half");
    everyValue<Half>(checks, "half ");
    everyValue<Bfloat>(checks, "bfloat16 ");
    arithmetic<Half>(checks, "half ");
    arithmetic<Bfloat>(checks, "bfloat16 ");

    auto f = withExtremes(numbers<float>(-2000, 2000));
    auto d = withExtremes(numbers<double>(-2e9, 2e9));
    auto inside = numbers<float>(-100000, 100000);
    auto insideD = numbers<double>(-1e15, 1e15);
    CHECK_OPERATION(FloatToS32Even, f);
    CHECK_OPERATION(FloatToS32Zero, f);
    CHECK_OPERATION(FloatToS32Up, f);
    CHECK_OPERATION(FloatToS32Down, f);
    CHECK_OPERATION(FloatToU32Even, f);
    CHECK_OPERATION(FloatToU32Zero, f);
    CHECK_OPERATION(DoubleToS32Zero, d);
    CHECK_OPERATION(DoubleToS32Up, d);
    CHECK_OPERATION(DoubleToU32Down, d);
    CHECK_OPERATION(DoubleToFloat, d);
    CHECK_OPERATION(DoubleToFloatZero, insideD);
    CHECK_OPERATION(DoubleToFloatUp, insideD);
    CHECK_OPERATION(DoubleToFloatDown, insideD);
    CHECK_OPERATION(FloatToDouble, f);
    CHECK_OPERATION(ToS64, inside);
    CHECK_OPERATION(ToS64, insideD);
    CHECK_OPERATION(ToU64, inside);
    CHECK_OPERATION(ToU64, insideD);
    CHECK_OPERATION(ToByte, numbers<float>(-100, 100));

    auto s = integerInputs<int32_t>();
    auto u = integerInputs<uint32_t>();
    auto S = integerInputs<int64_t>();
    auto U = integerInputs<uint64_t>();
    CHECK_OPERATION(S32ToFloat, s);
    CHECK_OPERATION(S32ToFloatZero, s);
    CHECK_OPERATION(S32ToFloatUp, s);
    CHECK_OPERATION(S32ToDouble, s);
    CHECK_OPERATION(U32ToFloat, u);
    CHECK_OPERATION(U32ToFloatDown, u);
    CHECK_OPERATION(S64ToFloat, S);
    CHECK_OPERATION(S64ToDouble, S);
    CHECK_OPERATION(U64ToDouble, U);
    CHECK_OPERATION(U64ToDoubleUp, U);
    CHECK_OPERATION(SignExtend8, s);
    CHECK_OPERATION(SignExtend16, s);
    CHECK_OPERATION(ZeroExtend8, U);
    CHECK_OPERATION(Narrow64, S);
    CHECK_OPERATION(SaturateByte, s);
    CHECK_OPERATION(SaturateShort, s);

    auto wide = numbers<float>(-60000, 60000);
    auto small = numbers<float>(-0.001, 8);
    CHECK_OPERATION(FloatToHalf, wide);
    CHECK_OPERATION(FloatToHalf, small);
    CHECK_OPERATION(FloatToBfloat, f);
    CHECK_OPERATION(FloatToHalfPair, small);
    CHECK_OPERATION(FloatToBfloatPair, small);
    CHECK_OPERATION(S32ToHalf, s);
    CHECK_OPERATION(HalfToS32, wide);
    CHECK_OPERATION(HalfToS32Even, wide);
    auto positive = numbers<float>(0.01, 9);
    const double ulp = 1.0 / 1024;  // the library's division, root and exponential may miss the last bit
    CHECK_OPERATION(HalfDivide, positive, ulp);
    CHECK_OPERATION(HalfRoot, positive, ulp);
    CHECK_OPERATION(HalfExp, positive, 2 * ulp);
    return checks.finish();
}
