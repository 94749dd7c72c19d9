// Instructions of a whole warp: shuffles, votes, matches, reductions, masks, elections.
#include "opcodes.cuh"

namespace {

constexpr unsigned ALL = 0xffffffffu;

// ---- shuffles: all kinds, widths and distances, against the definition

__global__ void shuffles(int* out, int width, int distance) {
    int lane = threadIdx.x, v = 100 + lane;
    out[lane] = __shfl_sync(ALL, v, distance, width);
    out[32 + lane] = __shfl_up_sync(ALL, v, distance, width);
    out[64 + lane] = __shfl_down_sync(ALL, v, distance, width);
    out[96 + lane] = __shfl_xor_sync(ALL, v, distance, width);
}
std::vector<int> hostShuffles(int width, int distance) {
    std::vector<int> out(128);
    for (int lane = 0; lane < 32; ++lane) {
        int first = lane / width * width, last = first + width - 1;
        int sources[] = {first + distance % width, lane - distance, lane + distance, lane ^ distance};
        if (sources[1] < first) sources[1] = lane;
        if (sources[2] > last) sources[2] = lane;
        if (sources[3] > last) sources[3] = lane;
        for (int kind = 0; kind < 4; ++kind) out[32 * kind + lane] = 100 + sources[kind];
    }
    return out;
}

template <class T>
__global__ void shuffleType(const T* in, T* out) {
    out[threadIdx.x] = __shfl_sync(ALL, in[threadIdx.x], (threadIdx.x * 7 + 3) % 32);
}
template <class T>
void shuffleOf(Checks& checks, const std::string& type) {
    std::vector<T> in(32), want(32);
    for (int i = 0; i < 32; ++i) in[i] = T(i * 1e9 + 0.5 * i);
    for (int i = 0; i < 32; ++i) want[i] = in[(i * 7 + 3) % 32];
    Device<T> from(in), to(32);
    shuffleType<T><<<1, 32>>>(from, to);
    checks.equal("shuffle of " + type, to.get(), want);
}

// The predicate that a shuffle returns beside its value.
__global__ void shufflePredicate(int* out) {
    int d, inside;
    asm volatile(
        "{.reg .pred p;\n\tshfl.sync.down.b32 %0|p, %2, 5, 0x1f, 0xffffffff;\n\tselp.s32 %1, 1, 0, p;}"
        : "=r"(d), "=r"(inside)
        : "r"(int(threadIdx.x)));
    out[threadIdx.x] = 10 * d + inside;
}

__global__ void reduceByShuffles(const float* in, float* out) {
    float v = in[threadIdx.x];
    for (int k = 16; k > 0; k /= 2) v += __shfl_xor_sync(ALL, v, k);
    out[threadIdx.x] = v;
}
__global__ void scanByShuffles(const int* in, int* out) {
    int lane = threadIdx.x % 32, v = in[threadIdx.x];
    for (int k = 1; k < 32; k *= 2) {
        int before = __shfl_up_sync(ALL, v, k);
        if (lane >= k) v += before;
    }
    out[threadIdx.x] = v;
}

// Two halves of the warp shuffle on their own, each in its branch.
__global__ void shuffleHalves(int* out) {
    int lane = threadIdx.x, v = lane;
    if (lane < 16)
        v = __shfl_sync(0x0000ffffu, v, 15 - lane);
    else
        v = 100 + __shfl_sync(0xffff0000u, v, 47 - lane);
    out[lane] = v;
}

// ---- votes and matches

__global__ void votes(const int* in, unsigned* out) {
    int v = in[threadIdx.x];
    out[threadIdx.x] = __ballot_sync(ALL, v > 50);
    out[32 + threadIdx.x] = __any_sync(ALL, v > 98) + 2 * __all_sync(ALL, v >= 0) +
                            4 * __any_sync(ALL, v > 1000) + 8 * __all_sync(ALL, v > 50);
    int uniform;
    asm volatile(
        "{.reg .pred p, q;\n\tsetp.gt.s32 p, %1, 50;\n\tvote.sync.uni.pred q, p, 0xffffffff;\n\t"
        "selp.s32 %0, 1, 0, q;}"
        : "=r"(uniform)
        : "r"(v));
    out[64 + threadIdx.x] = unsigned(uniform);
    if (threadIdx.x % 2) out[96 + threadIdx.x] = __ballot_sync(0xaaaaaaaau, v % 3 == 0);
}
template <class T>
__global__ void matches(const T* in, unsigned* out) {
    out[threadIdx.x] = __match_any_sync(ALL, in[threadIdx.x]);
    int all = 0, half = 0;
    out[32 + threadIdx.x] = __match_all_sync(ALL, T(7), &all);
    out[64 + threadIdx.x] =
        __match_all_sync(ALL, in[threadIdx.x], &half) + 8 * unsigned(half) + unsigned(all);
}
template <class T>
void matchOf(Checks& checks, const std::string& type) {
    std::vector<T> in(32);
    std::vector<unsigned> want(96);
    for (int i = 0; i < 32; ++i) in[i] = T(i * i % 7) * T(sizeof(T) == 8 ? 1ll << 33 : 1);
    for (int i = 0; i < 32; ++i) {
        for (int j = 0; j < 32; ++j) want[i] |= unsigned(in[i] == in[j]) << j;
        want[32 + i] = ALL;
        want[64 + i] = 1;
    }
    Device<T> from(in);
    Device<unsigned> out(96);
    matches<T><<<1, 32>>>(from, out);
    checks.equal("match of " + type, out.get(), want);
}

// ---- redux, masks, elections

__global__ void reduxes(const int* in, int* out) {
    int v = in[threadIdx.x];
    unsigned u = unsigned(v);
    int results[] = {__reduce_add_sync(ALL, v),
                     __reduce_min_sync(ALL, v),
                     __reduce_max_sync(ALL, v),
                     int(__reduce_add_sync(ALL, u)),
                     int(__reduce_min_sync(ALL, u)),
                     int(__reduce_max_sync(ALL, u)),
                     int(__reduce_and_sync(ALL, u | 0x10u)),
                     int(__reduce_or_sync(ALL, u)),
                     int(__reduce_xor_sync(ALL, u))};
    for (int k = 0; k < 9; ++k) out[32 * k + threadIdx.x] = results[k];
    int part = -1;
    if (threadIdx.x % 4 == 2) part = __reduce_add_sync(0x44444444u, v);
    out[32 * 9 + threadIdx.x] = part;
}

__global__ void activeMasks(unsigned* out) {
    unsigned before = __activemask();
    __syncwarp();
    unsigned lanes;
    asm volatile(
        "{.reg .b32 a, b, c, d;\n\tmov.u32 a, %%lanemask_lt;\n\tmov.u32 b, %%lanemask_le;\n\t"
        "mov.u32 c, %%lanemask_eq;\n\tmov.u32 d, %%lanemask_gt;\n\txor.b32 a, a, b;\n\t"
        "xor.b32 a, a, c;\n\tor.b32 %0, a, d;}"
        : "=r"(lanes));
    out[threadIdx.x] = before;
    out[64 + threadIdx.x] = lanes;
}

// Which lane is elected is for the hardware to say; that it is one, and the same for all, is not.
__global__ void elections(unsigned* out) {
    unsigned leader, elected;
    asm volatile("{.reg .pred p;\n\telect.sync %0|p, 0xffffffff;\n\tselp.u32 %1, 1, 0, p;}"
                 : "=r"(leader), "=r"(elected));
    out[threadIdx.x] = leader;
    out[32 + threadIdx.x] = elected;
}

__global__ void specialRegisters(int* out) {
    int lane, warp;
    asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
    asm volatile("mov.u32 %0, %%warpid;" : "=r"(warp));
    int t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    int b = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    out[b * 96 + t] = lane + 1000 * b + 100000 * int(warpSize) + 0 * warp;
}

// Lanes that went different ways meet again at __syncwarp, and see each other's writes there.
__global__ void convergence(int* out) {
    __shared__ int s[32];
    int lane = threadIdx.x;
    if (lane % 2)
        s[lane] = 10 * lane;
    else
        s[lane] = -lane;
    __syncwarp();
    int neighbour = s[lane ^ 1];
    __syncwarp();
    if (lane < 8) {
        s[lane] = neighbour;
        __syncwarp(0xffu);
        neighbour += s[7 - lane];
    }
    out[lane] = neighbour;
}

}  // namespace

int main() {
    Checks checks("warp");
    Device<int> four(128);
    for (int width : {32, 16, 8, 4, 2}) {
        for (int distance : {0, 1, 3, 9, 17, 31}) {
            shuffles<<<1, 32>>>(four, width, distance);
            checks.equal("shuffles by " + std::to_string(distance) + " of " + std::to_string(width),
                         four.get(), hostShuffles(width, distance));
        }
    }
    shuffleOf<int>(checks, "int");
    shuffleOf<unsigned>(checks, "unsigned");
    shuffleOf<long long>(checks, "long long");
    shuffleOf<float>(checks, "float");
    shuffleOf<double>(checks, "double");

    Device<int> out(32);
    std::vector<int> want(32);
    shufflePredicate<<<1, 32>>>(out);
    for (int i = 0; i < 32; ++i) want[i] = i + 5 < 32 ? 10 * (i + 5) + 1 : 10 * i;
    checks.equal("shuffle's predicate", out.get(), want);
    std::vector<float> reals(32);
    float sum = 0;
    for (int i = 0; i < 32; ++i) sum += reals[i] = float(i * 3);  // whole numbers: exact in any order
    Device<float> realsIn(reals), realsOut(32);
    reduceByShuffles<<<1, 32>>>(realsIn, realsOut);
    checks.equal("reduction by shuffles", realsOut.get(), std::vector<float>(32, sum));

    std::vector<int> in(64), scan(64);
    Random random(7);
    for (int i = 0; i < 64; ++i) in[i] = int(random.next() % 100);
    for (int i = 0; i < 64; ++i) scan[i] = in[i] + (i % 32 ? scan[i - 1] : 0);
    Device<int> input(in), scanned(64);
    scanByShuffles<<<1, 64>>>(input, scanned);
    checks.equal("scan by shuffles", scanned.get(), scan);
    shuffleHalves<<<1, 32>>>(out);
    for (int i = 0; i < 32; ++i) want[i] = i < 16 ? 15 - i : 100 + 47 - i;
    checks.equal("shuffles in two branches", out.get(), want);

    Device<unsigned> voted(128);
    votes<<<1, 32>>>(input, voted);
    std::vector<unsigned> wantVotes(128);
    unsigned ballot = 0, thirds = 0;
    bool any = false, all = true;
    for (int i = 0; i < 32; ++i) {
        ballot |= unsigned(in[i] > 50) << i;
        if (i % 2) thirds |= unsigned(in[i] % 3 == 0) << i;
        any = any || in[i] > 98;
        all = all && in[i] > 50;
    }
    for (int i = 0; i < 32; ++i) {
        wantVotes[i] = ballot;
        wantVotes[32 + i] = any + 2 + 8 * all;
        wantVotes[64 + i] = ballot == 0 || ballot == ALL;
        wantVotes[96 + i] = i % 2 ? thirds : 0;
    }
    checks.equal("votes", voted.get(), wantVotes);
    matchOf<int>(checks, "int");
    matchOf<unsigned>(checks, "unsigned");
    matchOf<long long>(checks, "long long");

    std::vector<int> mixed(32), wantRedux(320);
    for (int i = 0; i < 32; ++i) mixed[i] = int(random.next() % 100000) - 50000;
    int add = 0, low = mixed[0], high = mixed[0], quarter = 0;
    unsigned lowU = mixed[0], highU = mixed[0], both = ALL, either = 0, odd = 0;
    for (int i = 0; i < 32; ++i) {
        unsigned u = unsigned(mixed[i]);
        add += mixed[i];
        low = std::min(low, mixed[i]), high = std::max(high, mixed[i]);
        lowU = std::min(lowU, u), highU = std::max(highU, u);
        both &= u | 0x10u, either |= u, odd ^= u;
        if (i % 4 == 2) quarter += mixed[i];
    }
    int results[] = {add, low, high, add, int(lowU), int(highU), int(both), int(either), int(odd)};
    for (int i = 0; i < 32; ++i) {
        for (int k = 0; k < 9; ++k) wantRedux[32 * k + i] = results[k];
        wantRedux[32 * 9 + i] = i % 4 == 2 ? quarter : -1;
    }
    Device<int> mixedIn(mixed), reduced(320);
    reduxes<<<1, 32>>>(mixedIn, reduced);
    checks.equal("redux", reduced.get(), wantRedux);

    Device<unsigned> masks(128);
    activeMasks<<<1, 48>>>(masks);
    std::vector<unsigned> wantMasks(128);
    for (int i = 0; i < 48; ++i) {
        wantMasks[i] = i < 32 ? ALL : 0xffffu;
        wantMasks[64 + i] = ~((2u << (i % 32)) - 1);
    }
    checks.equal("active masks", masks.get(), wantMasks);

    Device<unsigned> election(64);
    elections<<<1, 32>>>(election);
    auto elected = election.get();
    int leaders = 0;
    bool agreed = true;
    for (int i = 0; i < 32; ++i) {
        leaders += int(elected[32 + i]);
        agreed = agreed && elected[i] == elected[0] && (!elected[32 + i] || elected[0] == unsigned(i));
    }
    checks.that(leaders == 1 && agreed, "election");

    Device<int> registers(8 * 96);
    specialRegisters<<<dim3(2, 2, 2), dim3(4, 8, 3)>>>(registers);
    std::vector<int> wantRegisters(8 * 96);
    for (int i = 0; i < 8 * 96; ++i) wantRegisters[i] = i % 96 % 32 + 1000 * (i / 96) + 3200000;
    checks.equal("indices and lane numbers", registers.get(), wantRegisters);

    convergence<<<1, 32>>>(out);
    auto written = [](int i) { return i % 2 ? 10 * i : -i; };
    for (int i = 0; i < 32; ++i) want[i] = written(i ^ 1) + (i < 8 ? written((7 - i) ^ 1) : 0);
    checks.equal("convergence", out.get(), want);
    return checks.finish();
}
