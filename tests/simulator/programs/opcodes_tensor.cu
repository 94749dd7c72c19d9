// Tensor cores: mma.sync with the fragments that its definition gives, ldmatrix, and the wmma library.
//
// The operands are small whole numbers: every sum is exact, in any order and in any of the formats.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

#include "opcodes.cuh"

namespace {

/// Whole numbers from -4 to 4.
std::vector<float> matrix(int rows, int columns, int seed) {
    Random random(seed);
    std::vector<float> values(size_t(rows) * columns);
    for (float& v : values) v = float(int(random.next() % 9) - 4);
    return values;
}
/// a (m x k, by rows) times b (k x n, by rows) plus c.
std::vector<float> product(const std::vector<float>& a, const std::vector<float>& b,
                           const std::vector<float>& c, int m, int n, int k) {
    std::vector<float> d = c;
    for (int i = 0; i < m; ++i)
        for (int j = 0; j < n; ++j)
            for (int x = 0; x < k; ++x) d[i * n + j] += a[i * k + x] * b[x * n + j];
    return d;
}

template <class T>
__device__ unsigned two(float low, float high) {  // two 16-bit numbers in a register
    T pair[2] = {T(low), T(high)};
    unsigned bits;
    memcpy(&bits, pair, 4);
    return bits;
}

// ---- mma.sync: lane = 4 * group + inside; each fragment element's row and column as PTX defines them

template <class T>
__device__ void multiply16(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
    if constexpr (sizeof(T) == 2 && std::is_same_v<T, __half>) {
        asm volatile(
            "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
            "{%0, %1, %2, %3};"
            : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    } else {
        asm volatile(
            "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, "
            "%9}, "
            "{%0, %1, %2, %3};"
            : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    }
}
__device__ void loadSums(float (&d)[4], const float* c) {
    int group = threadIdx.x / 4, inside = threadIdx.x % 4;
    for (int i = 0; i < 4; ++i) d[i] = c[(group + i / 2 * 8) * 8 + 2 * inside + i % 2];
}
__device__ void storeSums(float* out, const float (&d)[4]) {
    int group = threadIdx.x / 4, inside = threadIdx.x % 4;
    for (int i = 0; i < 4; ++i) out[(group + i / 2 * 8) * 8 + 2 * inside + i % 2] = d[i];
}

template <class T>
__global__ void mma16(const float* a, const float* b, const float* c, float* out) {
    int group = threadIdx.x / 4, inside = threadIdx.x % 4;
    unsigned ra[4], rb[2];
    for (int i = 0; i < 4; ++i) {
        const float* p = a + (group + i % 2 * 8) * 16 + 2 * inside + i / 2 * 8;
        ra[i] = two<T>(p[0], p[1]);
    }
    for (int i = 0; i < 2; ++i) {
        const float* p = b + (2 * inside + 8 * i) * 8 + group;
        rb[i] = two<T>(p[0], p[8]);
    }
    float d[4];
    loadSums(d, c);
    multiply16<T>(d, ra, rb);
    storeSums(out, d);
}

// Sums in half, too.
__global__ void mma16Half(const float* a, const float* b, const float* c, float* out) {
    int group = threadIdx.x / 4, inside = threadIdx.x % 4;
    unsigned ra[4], rb[2], d[2];
    for (int i = 0; i < 4; ++i) {
        const float* p = a + (group + i % 2 * 8) * 16 + 2 * inside + i / 2 * 8;
        ra[i] = two<__half>(p[0], p[1]);
    }
    for (int i = 0; i < 2; ++i) {
        const float* p = b + (2 * inside + 8 * i) * 8 + group;
        rb[i] = two<__half>(p[0], p[8]);
    }
    for (int i = 0; i < 2; ++i) {
        const float* p = c + (group + 8 * i) * 8 + 2 * inside;
        d[i] = two<__half>(p[0], p[1]);
    }
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%0, %1};"
        : "+r"(d[0]), "+r"(d[1])
        : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]));
    for (int i = 0; i < 2; ++i) {
        __half2 pair;
        memcpy(&pair, &d[i], 4);
        out[(group + 8 * i) * 8 + 2 * inside] = __low2float(pair);
        out[(group + 8 * i) * 8 + 2 * inside + 1] = __high2float(pair);
    }
}

__global__ void mma8Tf32(const float* a, const float* b, const float* c, float* out) {
    int group = threadIdx.x / 4, inside = threadIdx.x % 4;
    unsigned ra[4], rb[2];
    auto tf32 = [](float value) {
        unsigned bits;
        asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(value));
        return bits;
    };
    for (int i = 0; i < 4; ++i) ra[i] = tf32(a[(group + i % 2 * 8) * 8 + inside + i / 2 * 4]);
    for (int i = 0; i < 2; ++i) rb[i] = tf32(b[(inside + 4 * i) * 8 + group]);
    float d[4];
    loadSums(d, c);
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]));
    storeSums(out, d);
}

__global__ void mma4Double(const double* a, const double* b, double* out) {
    int group = threadIdx.x / 4, inside = threadIdx.x % 4;
    double d[2] = {100.0 * group, 0.25 * inside};
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                 : "+d"(d[0]), "+d"(d[1])
                 : "d"(a[4 * group + inside]), "d"(b[8 * inside + group]));
    out[8 * group + 2 * inside] = d[0];
    out[8 * group + 2 * inside + 1] = d[1];
}

// ---- ldmatrix

__device__ unsigned sharedAddress(const void* p) {
    return unsigned(__cvta_generic_to_shared(p));
}

/// Four 8 x 8 matrices of 16-bit numbers, 64 numbers each; what each lane gets of the first one, two, four.
__global__ void loadMatrices(unsigned* out, bool transposed) {
    __shared__ alignas(16) unsigned short s[4 * 64];
    for (int i = threadIdx.x; i < 4 * 64; i += 32) s[i] = static_cast<unsigned short>(i);
    __syncwarp();
    unsigned row = sharedAddress(s + 8 * threadIdx.x), r[7];
    if (transposed) {
        asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];"
                     : "=r"(r[0])
                     : "r"(row)
                     : "memory");
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                     : "=r"(r[1]), "=r"(r[2])
                     : "r"(row)
                     : "memory");
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(r[3]), "=r"(r[4]), "=r"(r[5]), "=r"(r[6])
                     : "r"(row)
                     : "memory");
    } else {
        asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];"
                     : "=r"(r[0])
                     : "r"(row)
                     : "memory");
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                     : "=r"(r[1]), "=r"(r[2])
                     : "r"(row)
                     : "memory");
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(r[3]), "=r"(r[4]), "=r"(r[5]), "=r"(r[6])
                     : "r"(row)
                     : "memory");
    }
    for (int i = 0; i < 7; ++i) out[32 * i + threadIdx.x] = r[i];
}
std::vector<unsigned> hostMatrices(bool transposed) {
    const unsigned matrices[] = {0, 0, 1, 0, 1, 2, 3};
    std::vector<unsigned> out(7 * 32);
    for (unsigned i = 0; i < 7; ++i) {
        for (unsigned lane = 0; lane < 32; ++lane) {
            unsigned first = transposed ? 8 * (2 * (lane % 4)) + lane / 4 : 8 * (lane / 4) + 2 * (lane % 4);
            unsigned second = first + (transposed ? 8 : 1);
            out[32 * i + lane] = (64 * matrices[i] + first) | (64 * matrices[i] + second) << 16;
        }
    }
    return out;
}

/// The usual way: both operands through shared memory, b by columns through the transposed load.
__global__ void mmaThroughShared(const float* a, const float* b, const float* c, float* out) {
    __shared__ alignas(16) __half sa[16 * 16];
    __shared__ alignas(16) __half sb[16 * 8];
    int lane = threadIdx.x;
    for (int i = lane; i < 16 * 16; i += 32) sa[i] = __float2half(a[i]);
    for (int i = lane; i < 16 * 8; i += 32) sb[i] = __float2half(b[i]);
    __syncthreads();
    unsigned ra[4], rb[2];
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(ra[0]), "=r"(ra[1]), "=r"(ra[2]), "=r"(ra[3])
                 : "r"(sharedAddress(sa + lane % 16 * 16 + lane / 16 * 8))
                 : "memory");
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                 : "=r"(rb[0]), "=r"(rb[1])
                 : "r"(sharedAddress(sb + lane % 16 * 8))
                 : "memory");
    float d[4];
    loadSums(d, c);
    multiply16<__half>(d, ra, rb);
    storeSums(out, d);
}

// ---- wmma

template <int m, int n, int k, class T, class Sum>
__global__ void wmmaProduct(const T* a, const T* b, const Sum* c, Sum* out) {
    using namespace nvcuda;
    wmma::fragment<wmma::matrix_a, m, n, k, T, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, m, n, k, T, wmma::row_major> fb;
    wmma::fragment<wmma::accumulator, m, n, k, Sum> fc;
    wmma::load_matrix_sync(fa, a, k);
    wmma::load_matrix_sync(fb, b, n);
    wmma::load_matrix_sync(fc, c, n, wmma::mem_row_major);
    wmma::mma_sync(fc, fa, fb, fc);
    wmma::store_matrix_sync(out, fc, n, wmma::mem_row_major);
}
/// Through shared memory, with b and the result by columns, and the sums doubled element by element.
__global__ void wmmaShared(const __half* a, const __half* b, float* out) {
    using namespace nvcuda;
    __shared__ alignas(32) __half sa[256];
    __shared__ alignas(32) __half sb[256];
    __shared__ alignas(32) float sc[256];
    for (int i = threadIdx.x; i < 256; i += 32) {
        sa[i] = a[i];
        sb[i % 16 * 16 + i / 16] = b[i];
    }
    __syncwarp();
    wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
    wmma::fill_fragment(fc, 0.5f);
    wmma::load_matrix_sync(fa, sa, 16);
    wmma::load_matrix_sync(fb, sb, 16);
    wmma::mma_sync(fc, fa, fb, fc);
    for (int i = 0; i < fc.num_elements; ++i) fc.x[i] *= 2;
    wmma::store_matrix_sync(sc, fc, 16, wmma::mem_col_major);
    __syncwarp();
    for (int i = threadIdx.x; i < 256; i += 32) out[i] = sc[i % 16 * 16 + i / 16];
}

template <class T>
std::vector<T> as(const std::vector<float>& values) {
    std::vector<T> result;
    for (float v : values) result.push_back(T(v));
    return result;
}

template <int m, int n, int k, class T, class Sum>
void wmmaOf(Checks& checks, const std::string& what) {
    auto a = matrix(m, k, 11), b = matrix(k, n, 12), c = matrix(m, n, 13);
    Device<T> da(as<T>(a)), db(as<T>(b));
    Device<Sum> dc(as<Sum>(c)), out(size_t(m) * n);
    wmmaProduct<m, n, k, T, Sum><<<1, 32>>>(static_cast<const T*>(da), static_cast<const T*>(db),
                                            static_cast<const Sum*>(dc), static_cast<Sum*>(out));
    auto got = out.get();
    checks.equal("wmma, " + what, std::vector<float>(got.begin(), got.end()), product(a, b, c, m, n, k));
}

}  // namespace

int main() {
    Checks checks("tensor");
    auto a = matrix(16, 16, 1), b = matrix(16, 8, 2), c = matrix(16, 8, 3);
    Device<float> da(a), db(b), dc(c), out(16 * 8);
    auto want = product(a, b, c, 16, 8, 16);
    mma16<__half><<<1, 32>>>(da, db, dc, out);
    checks.equal("mma m16n8k16 f16", out.get(), want);
    mma16<__nv_bfloat16><<<1, 32>>>(da, db, dc, out);
    checks.equal("mma m16n8k16 bf16", out.get(), want);
    mma16Half<<<1, 32>>>(da, db, dc, out);
    checks.equal("mma m16n8k16 f16 with sums in f16", out.get(), want);
    mmaThroughShared<<<1, 32>>>(da, db, dc, out);
    checks.equal("mma with ldmatrix", out.get(), want);

    // Numbers that are not whole: the products are exact, the sum of 16 is rounded in some order.
    std::vector<float> realA(256), realB(128);
    Random random(14);
    for (float& v : realA) v = __half2float(__float2half(float(random.uniform(-1, 1))));
    for (float& v : realB) v = __half2float(__float2half(float(random.uniform(-1, 1))));
    Device<float> dRealA(realA), dRealB(realB);
    mma16<__half><<<1, 32>>>(dRealA, dRealB, dc, out);
    checks.close("mma m16n8k16 f16, not whole", out.get(), product(realA, realB, c, 16, 8, 16), 0, 2e-5);

    auto a8 = matrix(16, 8, 4), b8 = matrix(8, 8, 5);
    Device<float> da8(a8), db8(b8);
    mma8Tf32<<<1, 32>>>(da8, db8, dc, out);
    checks.equal("mma m16n8k8 tf32", out.get(), product(a8, b8, c, 16, 8, 8));

    auto a4 = matrix(8, 4, 6), b4 = matrix(4, 8, 7);
    std::vector<float> c4(64);
    for (int i = 0; i < 64; ++i) c4[i] = i % 2 ? 0.25f * float(i % 8 / 2) : 100.f * float(i / 8);
    Device<double> da4(as<double>(a4)), db4(as<double>(b4)), out4(64);
    mma4Double<<<1, 32>>>(da4, db4, out4);
    checks.equal("mma m8n8k4 f64", out4.get(), as<double>(product(a4, b4, c4, 8, 8, 4)));

    Device<unsigned> rows(7 * 32);
    loadMatrices<<<1, 32>>>(rows, false);
    checks.equal("ldmatrix", rows.get(), hostMatrices(false));
    loadMatrices<<<1, 32>>>(rows, true);
    checks.equal("ldmatrix.trans", rows.get(), hostMatrices(true));

    wmmaOf<16, 16, 16, __half, float>(checks, "half 16 x 16 x 16");
    wmmaOf<32, 8, 16, __half, float>(checks, "half 32 x 8 x 16");
    wmmaOf<8, 32, 16, __half, float>(checks, "half 8 x 32 x 16");
    wmmaOf<16, 16, 16, __nv_bfloat16, float>(checks, "bfloat16 16 x 16 x 16");
    wmmaOf<8, 8, 4, double, double>(checks, "double 8 x 8 x 4");
    auto wa = matrix(16, 16, 8), wb = matrix(16, 16, 9);
    Device<__half> dwa(as<__half>(wa)), dwb(as<__half>(wb));
    Device<float> wout(256);
    wmmaShared<<<1, 32>>>(dwa, dwb, wout);
    auto wantShared = product(wa, wb, std::vector<float>(256, 0.5f), 16, 16, 16);
    for (float& v : wantShared) v *= 2;
    checks.equal("wmma through shared memory", wout.get(), wantShared);
    return checks.finish();
}
