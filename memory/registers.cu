// registers.cu: when what a thread remembers does not fit in its registers.
//
// Idea:   a thread keeps 64 words and mixes them, round after round. An array lies in registers if every
//         index into it is known when the code is compiled, and if there are enough registers. Otherwise all
//         of it, or what is too much, lies in local memory: the thread's own part of global memory, which
//         with luck stays in L1.
//         in_registers:  unrolled, as many registers as the compiler likes.
//         cap_R:         the same code within R registers: the compiler spills the rest.
//         dynamic_index: a loop that is not unrolled: an index which is not known has no register.
// registers, local bytes: what the compiler says of each kernel, asked of the runtime
//         (cudaFuncGetAttributes). It is what nvcc -Xptxas -v prints. Under the simulator there is no machine
//         code, so no cap and no spill.
// Checked: what each thread ends with.
// Text 2, registers, and local memory where they do not suffice.
#include <numeric>

#include "memory.cuh"

constexpr int WORDS = 64, BLOCK_SIZE = 256;
constexpr uint32_t FACTOR = 2654435761u;

/// `shift` is 0. The compiler does not know that: so it does not know an index either, unless the loop is
/// unrolled and the shift left out.
template <bool known>
__device__ uint32_t mix(uint32_t first, int rounds, int shift) {
    uint32_t a[WORDS];
    for (int k = 0; k < WORDS; ++k) a[k] = first + k;
#pragma unroll 1
    for (int round = 0; round < rounds; ++round) {
#pragma unroll(known ? WORDS : 1)
        for (int k = 0; k < WORDS; ++k) {
            const int i = known ? k : k + shift;
            a[i % WORDS] = a[i % WORDS] * FACTOR + a[(i + 1) % WORDS];
        }
    }
    uint32_t sum = 0;
    for (int k = 0; k < WORDS; ++k) sum += a[k];
    return sum;
}

template <bool known>
__global__ void __launch_bounds__(BLOCK_SIZE)
    mix_words(const uint32_t* in, int64_t n, int rounds, int shift, uint32_t* out) {
    const int64_t i = blockIdx.x * int64_t{BLOCK_SIZE} + threadIdx.x;
    if (i < n) out[i] = mix<known>(in[i], rounds, shift);
}

#if CUDART_VERSION >= 12040  // __maxnreg__
template <int REGISTERS>
__global__ void __maxnreg__(REGISTERS)
    mix_capped(const uint32_t* in, int64_t n, int rounds, int shift, uint32_t* out) {
    const int64_t i = blockIdx.x * int64_t{BLOCK_SIZE} + threadIdx.x;
    if (i < n) out[i] = mix<true>(in[i], rounds, shift);
}
#endif

uint32_t reference(uint32_t first, int64_t rounds) {
    uint32_t a[WORDS];
    std::iota(a, a + WORDS, first);
    for (int64_t round = 0; round < rounds; ++round)
        for (int k = 0; k < WORDS; ++k) a[k] = a[k] * FACTOR + a[(k + 1) % WORDS];
    return std::accumulate(a, a + WORDS, 0u);
}

class Registers : public Memory {
 public:
    Registers(int argc, char** argv)
        : Memory("registers", "The same work in registers, spilled, and by an index that is not known.", argc,
                 argv) {
        program.command_line.size("--n", n, 1, int64_t{1} << 31, 300, "threads");
        program.command_line.size("--rounds", rounds, 1, 1 << 16, 3, "rounds over the array");
        program.sweep_sizes = {"--n 64Ki", "--n 1Mi"};
        program.test_sizes = {"--n 1", "--n 31 --rounds 1", "--n 255", "--n 256 --rounds 2", "--n 257"};
        family.ceiling = "in_registers";
        family.columns = {{"registers", "a thread"}, {"local", "bytes a thread"}};
        family.layout = [this] {
            Layout layout;
            layout.headline = std::to_string(n) + " threads, " + std::to_string(rounds) + " rounds";
            layout.in = layout.out = n;
            return layout;
        };
    }

    Entry& mixes(const std::string& name, const std::string& note,
                 void (*kernel)(const uint32_t*, int64_t, int, int, uint32_t*)) {
        Entry& v = variant(name, note, [=](const Buffers& t) {
            kernel<<<static_cast<unsigned>(ceil_div(n, BLOCK_SIZE)), BLOCK_SIZE>>>(
                t.in, n, static_cast<int>(rounds), 0, t.out);
        });
        v.expected = [=](int64_t i) { return reference(word_at(program.options.seed, i), rounds); };
        v.read = [=](const std::vector<long long>&) {
            cudaFuncAttributes a;
            CHECK_CUDA_CALL(cudaFuncGetAttributes(&a, kernel));
            return std::vector<Reading>{{static_cast<double>(a.numRegs), 1, 255},
                                        {static_cast<double>(a.localSizeBytes)}};
        };
        return v;
    }

 private:
    int64_t n = 1 << 20, rounds = 16;
};

int main(int argc, char** argv) {
    Registers ladder(argc, argv);
    ladder.mixes("in_registers", "unrolled, no cap", mix_words<true>).role = Role::ceiling;
#if CUDART_VERSION >= 12040
    ladder.mixes("cap_64", "at most 64 registers: some spilled", mix_capped<64>);
    ladder.mixes("cap_48", "at most 48", mix_capped<48>);
    ladder.mixes("cap_32", "at most 32: half of the array spilled", mix_capped<32>);
#endif
    ladder.mixes("dynamic_index", "not unrolled: the array in local memory", mix_words<false>);
    return ladder.run();
}
