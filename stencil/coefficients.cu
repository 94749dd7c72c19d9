// coefficients.cu: where the few numbers lie that every thread needs.
//
// Idea:   the cells come as in naive_1d.cu; what differs is where c[k] comes from.
//         parameter  an argument of the kernel. Arguments lie in constant memory: the instruction that
//                    multiplies names c[k] as an operand, and there is no load at all.
//         constant   `__constant__`: the same memory, up to 64 KB, filled by the host beforehand.
//         read_only  `const __restrict__`: nothing else writes it, so the compiler loads it through the
//                    read-only path (ld.global.nc), which has been L1 since Maxwell.
//         shared     copied there by each block first.
// Wins:   constant memory hands one word to the whole warp. While all lanes want the same c[k], as a
//         stencil does, nothing is cheaper.
// Loses:  lanes that want different words are served one word after another. The _divergent rungs add the
//         same terms, but lane i begins at c[1 + i mod RADIUS]: RADIUS different words at every step. For
//         L1 that is one request as before; in shared memory different words lie in different banks.
// Wrong still: the cells, a word at a time (vectorized_1d.cu).
// Text 2, stencil_1d_readonly against __constant__.
#include "difference.cuh"

constexpr int MAX_WORDS = 8;  // the largest --radius here

template <typename T>
__constant__ T c_constant[MAX_WORDS + 1];

/// All lanes use c[1], then all c[2], ...; or each lane begins elsewhere.
enum class Order { uniform, divergent };

template <Order ORDER, int RADIUS, typename T, typename C>
__device__ void stencil_1d(const T* in, T* out, const Domain& d, const C& c) {
    const int64_t first = blockIdx.x * int64_t{BLOCK_SIZE}, i = first + threadIdx.x;
    if (!d.inner_x(first, first + BLOCK_SIZE, RADIUS)) {
        if (i < d.nx) out[i] = difference_at_edge<RADIUS>(in, d, i, c);
    } else if (ORDER == Order::uniform) {
        out[i] = difference<RADIUS>(c, [&](int k) { return in[i + k]; });
    } else {
        T sum = 0;
        int k = 1 + threadIdx.x % RADIUS;
#pragma unroll
        for (int term = 0; term < RADIUS; ++term) {
            sum += c[k] * (in[i + k] - in[i - k]);
            k = k == RADIUS ? 1 : k + 1;
        }
        out[i] = sum;
    }
}

template <Order ORDER, int RADIUS, typename T>
__global__ void with_parameter(const T* in, T* out, Domain d, const __grid_constant__ Coefficients<T> c) {
    stencil_1d<ORDER, RADIUS>(in, out, d, c);
}

template <Order ORDER, int RADIUS, typename T>
__global__ void with_constant(const T* in, T* out, Domain d) {
    stencil_1d<ORDER, RADIUS>(in, out, d, c_constant<T>);
}

template <Order ORDER, int RADIUS, typename T>
__global__ void with_read_only(const T* in, T* out, Domain d, const T* __restrict__ c) {
    stencil_1d<ORDER, RADIUS>(in, out, d, c);
}

template <Order ORDER, int RADIUS, typename T>
__global__ void with_shared(const T* in, T* out, Domain d, const T* c) {
    __shared__ T c_shared[RADIUS + 1];
    if (threadIdx.x <= RADIUS) c_shared[threadIdx.x] = c[threadIdx.x];
    __syncthreads();
    stencil_1d<ORDER, RADIUS>(in, out, d, c_shared);
}

template <Order ORDER>
void add_places(Stencil& ladder, const std::string& suffix, const std::string& how) {
    const auto name = [&](const char* place) { return place + suffix; };
    ladder.variant(name("parameter"), "kernel argument, " + how, [](const auto& t) {
        with_radius<MAX_WORDS>(t.radius, [&](auto radius) {
            with_parameter<ORDER, radius()><<<blocks(t.domain), BLOCK_SIZE>>>(t.in, t.out, t.domain, t.c);
        });
    });
    ladder.variant(name("constant"), "__constant__, " + how, [](const auto& t) {
        with_radius<MAX_WORDS>(t.radius, [&](auto radius) {
            with_constant<ORDER, radius()><<<blocks(t.domain), BLOCK_SIZE>>>(t.in, t.out, t.domain);
        });
    });
    ladder.variant(name("read_only"), "const __restrict__, " + how, [](const auto& t) {
        with_radius<MAX_WORDS>(t.radius, [&](auto radius) {
            with_read_only<ORDER, radius()>
                <<<blocks(t.domain), BLOCK_SIZE>>>(t.in, t.out, t.domain, t.c_global);
        });
    });
    ladder.variant(name("shared"), "copied by each block, " + how, [](const auto& t) {
        with_radius<MAX_WORDS>(t.radius, [&](auto radius) {
            with_shared<ORDER, radius()><<<blocks(t.domain), BLOCK_SIZE>>>(t.in, t.out, t.domain, t.c_global);
        });
    });
}

int main(int argc, char** argv) {
    Stencil ladder("coefficients", "A 1-D stencil with its coefficients in four places.", argc, argv,
                   difference_1d, RADIUS);
    ladder.family.takes_radius(MAX_WORDS);
    ladder.family.before([](const auto& task) {
        using T = std::decay_t<decltype(*task.in)>;
        CHECK_CUDA_CALL(cudaMemcpyToSymbol(c_constant<T>, task.c.at, (task.radius + 1) * sizeof(T)));
    });
    add_places<Order::uniform>(ladder, "", "one word a warp");
    add_places<Order::divergent>(ladder, "_divergent", "RADIUS words a warp");
    return ladder.run();
}
