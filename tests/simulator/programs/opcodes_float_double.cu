// Floating point in 32 and 64 bits: what IEEE 754 rounds correctly is compared exactly, the rest within
// a bound.
#include <cfenv>

#include "opcodes.cuh"

namespace {

// A correctly rounded operation in a given direction. The barriers keep the compiler from moving it out
// of there.
template <class T, class F>
T rounded(int direction, F f, T a, T b, T c = 0) {
    volatile T x = a, y = b, z = c;
    std::fesetround(direction);
    volatile T result = f(T(x), T(y), T(z));
    std::fesetround(FE_TONEAREST);
    return result;
}
template <class T>
T plus(T a, T b, T) {
    return a + b;
}
template <class T>
T times(T a, T b, T) {
    return a * b;
}
template <class T>
T over(T a, T b, T) {
    return a / b;
}
template <class T>
T root(T a, T, T) {
    return std::sqrt(a);
}
template <class T>
T fused(T a, T b, T c) {
    return std::fma(a, b, c);
}

OPERATION(Add, a + b, T(a + b))
OPERATION(Sub, a - b, T(a - b))
OPERATION(Div, a / b, T(a / b))
OPERATION(Sqrt, sqrt(a), std::sqrt(a))
OPERATION(Fma, fma(a, b, c), std::fma(a, b, c))
OPERATION(Negate, -a, T(-a))
OPERATION(Absolute, fabs(a), std::fabs(a))
OPERATION(CopySign, copysign(a, b), std::copysign(a, b))
OPERATION(Minimum, fmin(a, b), std::fmin(a, b))
OPERATION(Maximum, fmax(a, b), std::fmax(a, b))
OPERATION(Compare, ((a < b) + 2 * (a <= b) + 4 * (a == b) + 8 * (a != b) + 16 * (a > b) + 32 * (a >= b)),
          ((a < b) + 2 * (a <= b) + 4 * (a == b) + 8 * (a != b) + 16 * (a > b) + 32 * (a >= b)))
OPERATION(CompareUnordered, (!(a < b) + 2 * !(a <= b) + 4 * !(a > b) + 8 * !(a >= b)),
          (!(a < b) + 2 * !(a <= b) + 4 * !(a > b) + 8 * !(a >= b)))
OPERATION(Select, (a > c ? b : c), (a > c ? b : c))
OPERATION(Classify, ((isnan(a) ? 1 : 0) + (isinf(a) ? 2 : 0) + (isfinite(a) ? 4 : 0) + (signbit(a) ? 8 : 0)),
          ((std::isnan(a) ? 1 : 0) + (std::isinf(a) ? 2 : 0) + (std::isfinite(a) ? 4 : 0) +
           (std::signbit(a) ? 8 : 0)))
OPERATION(Floor, floor(a), std::floor(a))
OPERATION(Ceil, ceil(a), std::ceil(a))
OPERATION(Trunc, trunc(a), std::trunc(a))
OPERATION(ToEven, rint(a), std::rint(a))
OPERATION(AwayFromZero, round(a), std::round(a))
OPERATION(Modulo, fmod(a, b), std::fmod(a, b))
OPERATION(Scale, ldexp(a, 5), std::ldexp(a, 5))
OPERATION(NextUp, nextafter(a, T(4)), std::nextafter(a, T(4)))
OPERATION(Bits32, __float_as_int(a), [&] {
    int i;
    std::memcpy(&i, &a, 4);
    return i;
}())
OPERATION(Bits64, __double_as_longlong(a), [&] {
    long long i;
    std::memcpy(&i, &a, 8);
    return i;
}())
OPERATION(Saturate, __saturatef(a) + 0.f, (std::isnan(a) ? 0.f : std::fmin(1.f, std::fmax(0.f, a)) + 0.f))

#define DIRECTIONS(name, function, host)                                                     \
    OPERATION(name##TowardZero, function##z(a, b), rounded<T>(FE_TOWARDZERO, host<T>, a, b)) \
    OPERATION(name##Up, function##u(a, b), rounded<T>(FE_UPWARD, host<T>, a, b))             \
    OPERATION(name##Down, function##d(a, b), rounded<T>(FE_DOWNWARD, host<T>, a, b))
DIRECTIONS(AddF, __fadd_r, plus)
DIRECTIONS(MulF, __fmul_r, times)
DIRECTIONS(DivF, __fdiv_r, over)
DIRECTIONS(AddD, __dadd_r, plus)
DIRECTIONS(MulD, __dmul_r, times)
DIRECTIONS(DivD, __ddiv_r, over)
OPERATION(FmaFTowardZero, __fmaf_rz(a, b, c), rounded<T>(FE_TOWARDZERO, fused<T>, a, b, c))
OPERATION(FmaFUp, __fmaf_ru(a, b, c), rounded<T>(FE_UPWARD, fused<T>, a, b, c))
OPERATION(FmaDDown, __fma_rd(a, b, c), rounded<T>(FE_DOWNWARD, fused<T>, a, b, c))
OPERATION(SqrtFUp, __fsqrt_ru(a), rounded<T>(FE_UPWARD, root<T>, a, b))
OPERATION(SqrtDDown, __dsqrt_rd(a), rounded<T>(FE_DOWNWARD, root<T>, a, b))
OPERATION(ReciprocalF, __frcp_rn(a), T(1 / a))
OPERATION(ReciprocalDUp, __drcp_ru(a), rounded<T>(FE_UPWARD, over<T>, T(1), a))

// The library, by CUDA's table of errors: a few units in the last place.
OPERATION(Sin, sin(a), std::sin(a))
OPERATION(Cos, cos(a), std::cos(a))
OPERATION(Tan, tan(a), std::tan(a))
OPERATION(Exp, exp(a), std::exp(a))
OPERATION(Exp2, exp2(a), std::exp2(a))
OPERATION(Log, log(a), std::log(a))
OPERATION(Log2, log2(a), std::log2(a))
OPERATION(Pow, pow(a, b), std::pow(a, b))
OPERATION(Tanh, tanh(a), std::tanh(a))
OPERATION(Atan2, atan2(a, b), std::atan2(a, b))
OPERATION(Erf, erf(a), std::erf(a))
OPERATION(Cbrt, cbrt(a), std::cbrt(a))
OPERATION(Hypot, hypot(a, b), std::hypot(a, b))
OPERATION(InverseRoot, rsqrt(a), T(1 / std::sqrt(a)))

// The special function units: absolute bounds where the value may vanish.
OPERATION(FastSin, __sinf(a), std::sin(a))
OPERATION(FastCos, __cosf(a), std::cos(a))
OPERATION(FastExp, __expf(a), std::exp(a))
OPERATION(FastLog, __logf(a), std::log(a))
OPERATION(FastDivide, __fdividef(a, b), T(a / b))
OPERATION(FastPow, __powf(a, b), std::pow(a, b))

__device__ float exp2Approximate(float a) {
    float d;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(d) : "f"(a));
    return d;
}
__device__ float reciprocalApproximate(float a) {
    float d;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(d) : "f"(a));
    return d;
}
__device__ float rootApproximate(float a) {
    float d;
    asm("sqrt.approx.f32 %0, %1;" : "=f"(d) : "f"(a));
    return d;
}
__device__ float tanhApproximate(float a) {
    float d;
    asm("tanh.approx.f32 %0, %1;" : "=f"(d) : "f"(a));
    return d;
}
__device__ float minimumNan(float a, float b) {
    float d;
    asm("min.NaN.f32 %0, %1, %2;" : "=f"(d) : "f"(a), "f"(b));
    return d;
}
__device__ float addFlushed(float a, float b) {
    float d;
    asm("add.rn.ftz.f32 %0, %1, %2;" : "=f"(d) : "f"(a), "f"(b));
    return d;
}
__device__ int isSubnormal(float a) {
    int d;
    asm("{.reg .pred p;\n\ttestp.subnormal.f32 p, %1;\n\tselp.s32 %0, 1, 0, p;}" : "=r"(d) : "f"(a));
    return d;
}
float flushed(float a) {
    return std::fpclassify(a) == FP_SUBNORMAL ? std::copysign(0.f, a) : a;
}

OPERATION(Exp2Approximate, exp2Approximate(a), std::exp2(a))
OPERATION(ReciprocalApproximate, reciprocalApproximate(a), T(1 / a))
OPERATION(RootApproximate, rootApproximate(a), std::sqrt(a))
OPERATION(TanhApproximate, tanhApproximate(a), std::tanh(a))
OPERATION(MinimumNan, minimumNan(a, b), (std::isnan(a) || std::isnan(b) ? NAN : a < b ? a : b))
OPERATION(AddFlushed, addFlushed(a, b), flushed(flushed(a) + flushed(b)))
OPERATION(Subnormal, isSubnormal(a), int(std::fpclassify(a) == FP_SUBNORMAL))

/// All pairs of special values, and random ones of all magnitudes.
template <class T>
Inputs<T> specialInputs() {
    using Limits = std::numeric_limits<T>;
    const T edges[] = {T(0),
                       T(-0.0),
                       T(1),
                       T(-1.5),
                       T(2.5),
                       T(0.5),
                       T(3),
                       Limits::infinity(),
                       -Limits::infinity(),
                       Limits::quiet_NaN(),
                       Limits::max(),
                       Limits::lowest(),
                       Limits::min(),
                       Limits::denorm_min(),
                       T(Limits::min() / 3),
                       T(1e9),
                       T(-123456.75)};
    Inputs<T> inputs;
    Random random(2);
    for (T a : edges)
        for (T b : edges) inputs.add(a, b, T(random.uniform(-4, 4)));
    for (int i = 0; i < 200; ++i) {
        auto any = [&] { return T(std::ldexp(random.uniform(-2, 2), int(random.next() % 60) - 30)); };
        inputs.add(any(), any(), any());
    }
    return inputs;
}

template <class T>
Inputs<T> rangeInputs(double low, double high, double lowB = -2, double highB = 2) {
    Inputs<T> inputs;
    Random random(3);
    for (int i = 0; i < 256; ++i)
        inputs.add(T(random.uniform(low, high)), T(random.uniform(lowB, highB)), T(random.uniform(-4, 4)));
    return inputs;
}

template <class T>
void exact(Checks& checks) {
    auto special = specialInputs<T>();
    CHECK_OPERATION(Add, special);
    CHECK_OPERATION(Sub, special);
    CHECK_OPERATION(Div, special);
    CHECK_OPERATION(Sqrt, special);
    CHECK_OPERATION(Fma, special);
    CHECK_OPERATION(Negate, special);
    CHECK_OPERATION(Absolute, special);
    CHECK_OPERATION(CopySign, special);
    CHECK_OPERATION(Compare, special);
    CHECK_OPERATION(CompareUnordered, special);
    CHECK_OPERATION(Select, special);
    CHECK_OPERATION(Classify, special);
    CHECK_OPERATION(Floor, special);
    CHECK_OPERATION(Ceil, special);
    CHECK_OPERATION(Trunc, special);
    CHECK_OPERATION(ToEven, special);
    CHECK_OPERATION(AwayFromZero, special);
    CHECK_OPERATION(NextUp, special);

    // Without zeros of both signs, whose minimum may be either.
    auto finite = rangeInputs<T>(-100, 100, -3, 50);
    CHECK_OPERATION(Minimum, finite);
    CHECK_OPERATION(Maximum, finite);
    CHECK_OPERATION(Modulo, finite);
    CHECK_OPERATION(Scale, finite);
    Inputs<T> nan;
    nan.add(T(NAN), 1, 0);
    nan.add(-2, T(NAN), 0);
    CHECK_OPERATION(Minimum, nan);
    CHECK_OPERATION(Maximum, nan);
}

template <class T>
void library(Checks& checks) {
    const double ulp = std::numeric_limits<T>::epsilon();
    auto angle = rangeInputs<T>(-50, 50), positive = rangeInputs<T>(0.001, 90), small = rangeInputs<T>(-3, 3);
    CHECK_OPERATION(Sin, angle, 3 * ulp);
    CHECK_OPERATION(Cos, angle, 3 * ulp);
    CHECK_OPERATION(Tan, angle, 6 * ulp);
    CHECK_OPERATION(Sin, rangeInputs<T>(-1e7, 1e7), 3 * ulp);  // the long reduction of the argument
    CHECK_OPERATION(Exp, angle, 3 * ulp);
    CHECK_OPERATION(Exp2, angle, 3 * ulp);
    CHECK_OPERATION(Log, positive, 2 * ulp, ulp);
    CHECK_OPERATION(Log2, positive, 2 * ulp, ulp);
    CHECK_OPERATION(Pow, positive, 8 * ulp);
    CHECK_OPERATION(Tanh, small, 3 * ulp);
    CHECK_OPERATION(Atan2, small, 4 * ulp);
    CHECK_OPERATION(Erf, small, 3 * ulp);
    CHECK_OPERATION(Cbrt, angle, 3 * ulp);
    CHECK_OPERATION(Hypot, small, 4 * ulp);
    CHECK_OPERATION(InverseRoot, positive, 3 * ulp);
}

}  // namespace

int main() {
    Checks checks("float_double");
    exact<float>(checks);
    exact<double>(checks);
    library<float>(checks);
    library<double>(checks);

    auto f = specialInputs<float>();
    auto F = rangeInputs<float>(0.01, 30, 0.5, 8);
    auto D = rangeInputs<double>(0.01, 30, 0.5, 8);
    CHECK_OPERATION(Bits32, F);
    CHECK_OPERATION(Bits64, D);
    CHECK_OPERATION(Saturate, f);
    CHECK_OPERATION(AddFTowardZero, F);
    CHECK_OPERATION(AddFUp, F);
    CHECK_OPERATION(AddFDown, F);
    CHECK_OPERATION(MulFTowardZero, F);
    CHECK_OPERATION(MulFUp, F);
    CHECK_OPERATION(MulFDown, F);
    CHECK_OPERATION(DivFTowardZero, F);
    CHECK_OPERATION(DivFUp, F);
    CHECK_OPERATION(DivFDown, F);
    CHECK_OPERATION(AddDTowardZero, D);
    CHECK_OPERATION(AddDUp, D);
    CHECK_OPERATION(AddDDown, D);
    CHECK_OPERATION(MulDTowardZero, D);
    CHECK_OPERATION(MulDUp, D);
    CHECK_OPERATION(MulDDown, D);
    CHECK_OPERATION(DivDTowardZero, D);
    CHECK_OPERATION(DivDUp, D);
    CHECK_OPERATION(DivDDown, D);
    CHECK_OPERATION(FmaFTowardZero, F);
    CHECK_OPERATION(FmaFUp, F);
    CHECK_OPERATION(FmaDDown, D);
    CHECK_OPERATION(SqrtFUp, F);
    CHECK_OPERATION(SqrtDDown, D);
    CHECK_OPERATION(ReciprocalF, F);
    CHECK_OPERATION(ReciprocalDUp, D);

    auto angle = rangeInputs<float>(-3.1, 3.1);
    CHECK_OPERATION(FastSin, angle, 0, 5e-7);
    CHECK_OPERATION(FastCos, angle, 0, 5e-7);
    CHECK_OPERATION(FastExp, angle, 1e-6);
    CHECK_OPERATION(FastLog, F, 1e-6, 4e-7);
    CHECK_OPERATION(FastDivide, F, 5e-7);
    CHECK_OPERATION(FastPow, F, 2e-5);
    CHECK_OPERATION(Exp2Approximate, angle, 5e-7);
    CHECK_OPERATION(ReciprocalApproximate, F, 5e-7);
    CHECK_OPERATION(RootApproximate, F, 5e-7);
    CHECK_OPERATION(TanhApproximate, angle, 2e-3);
    CHECK_OPERATION(MinimumNan, F);
    CHECK_OPERATION(AddFlushed, f);
    CHECK_OPERATION(Subnormal, f);
    return checks.finish();
}
