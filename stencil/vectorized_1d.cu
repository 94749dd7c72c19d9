// vectorized_1d.cu: 16 bytes a load, and the neighbours' packs from L1 or by shuffle. The top rung in 1-D.
//
// Idea:   a thread takes a pack of 16 bytes (V = 4 floats or 2 doubles). What its cells need besides lies
//         in M packs on either side, M = RADIUS / V rounded up, each at an address that is a multiple of
//         16 too.
//         vectorized  loads those as well: one load of 16 bytes for each. L1 has them.
//         shuffled    asks the lanes that hold them. Only the packs before the warp's first and behind its
//                     last are loaded, by the lanes that are nearest the end they are needed at:
//
//                         [ M packs]  lane 0   lane 1   ...   lane 31  [ M packs]
//                          before      pack     pack           pack     behind
//
// Speed:  as in a copy with 16 bytes a thread, a pack is in flight in every thread, and no barrier holds
//         anyone back; it is for the memory alone to say how fast.
// Cost:   a shuffle moves 4 bytes a lane, a load 16. At radius 4 neither matters; at radius 16 the floats
//         that a pack needs from others are 32 shuffles or 8 loads, and the table shows which is the
//         shorter way.
// Wrong still: nothing at this radius. The bytes are read once and written once, like the copy's. To be
//         faster than that, a pass must take more than one step (temporal_2d.cu).
// Text 2, stencil_1d, at the end of its road.
#include "difference.cuh"
#include "packs.cuh"

constexpr int THREADS = 128;

/// A pack and M on either side of it: near[M] is the thread's own.
template <int RADIUS, typename T>
struct Neighbourhood {
    static constexpr int V = 16 / sizeof(T), M = (RADIUS + V - 1) / V;
    Pack<T, V> near[M + 1 + M];

    __device__ Pack<T, V> difference_of_packs(const Coefficients<T>& c) const {
        Pack<T, V> result;
#pragma unroll
        for (int v = 0; v < V; ++v)
            result.at[v] = difference<RADIUS>(c, [&](int k) {
                const int cell = M * V + v + k;
                return near[cell / V].at[cell % V];
            });
        return result;
    }
};

/// A block at the edge: cell by cell.
template <int RADIUS, typename T>
__device__ void block_at_edge(const T* in, T* out, const Domain& d, const Coefficients<T>& c, int64_t first) {
    const int64_t end = min(first + THREADS * int64_t{16 / sizeof(T)}, d.nx);
    for (int64_t i = first + threadIdx.x; i < end; i += THREADS)
        out[i] = difference_at_edge<RADIUS>(in, d, i, c);
}

template <int RADIUS, typename T>
__global__ void stencil_1d_vectorized(const T* in, T* out, Domain d, Coefficients<T> c) {
    constexpr int V = Neighbourhood<RADIUS, T>::V, M = Neighbourhood<RADIUS, T>::M;
    const int64_t first = blockIdx.x * int64_t{THREADS * V};
    if (!d.inner_x(first, first + THREADS * V, M * V)) return block_at_edge<RADIUS>(in, out, d, c, first);

    const Pack<T, V>* const mine = reinterpret_cast<const Pack<T, V>*>(in + first) + threadIdx.x;
    Neighbourhood<RADIUS, T> n;
#pragma unroll
    for (int m = -M; m <= M; ++m) n.near[M + m] = mine[m];
    reinterpret_cast<Pack<T, V>*>(out + first)[threadIdx.x] = n.difference_of_packs(c);
}

template <int RADIUS, typename T>
__global__ void stencil_1d_shuffled(const T* in, T* out, Domain d, Coefficients<T> c) {
    constexpr int V = Neighbourhood<RADIUS, T>::V, M = Neighbourhood<RADIUS, T>::M;
    const int64_t first = blockIdx.x * int64_t{THREADS * V};
    if (!d.inner_x(first, first + THREADS * V, M * V)) return block_at_edge<RADIUS>(in, out, d, c, first);

    const int lane = threadIdx.x % WARP_SIZE;
    const Pack<T, V>* const mine = reinterpret_cast<const Pack<T, V>*>(in + first) + threadIdx.x;
    Pack<T, V> before = {}, behind = {};
    const Pack<T, V> own = mine[0];
    if (lane >= WARP_SIZE - M) before = mine[-WARP_SIZE];
    if (lane < M) behind = mine[WARP_SIZE];

    Neighbourhood<RADIUS, T> n;
    n.near[M] = own;
#pragma unroll
    for (int away = 1; away <= M; ++away)
#pragma unroll
        for (int v = 0; v < V; ++v) {
            // Lanes count in a ring: those past the end give what lies before or behind the warp.
            const T to_the_right = lane >= WARP_SIZE - away ? before.at[v] : own.at[v];
            const T to_the_left = lane < away ? behind.at[v] : own.at[v];
            if (away * V - v <= RADIUS)
                n.near[M - away].at[v] =
                    __shfl_sync(ALL_LANES, to_the_right, (lane + WARP_SIZE - away) % WARP_SIZE);
            if (away * V + v < V + RADIUS)
                n.near[M + away].at[v] = __shfl_sync(ALL_LANES, to_the_left, (lane + away) % WARP_SIZE);
        }
    reinterpret_cast<Pack<T, V>*>(out + first)[threadIdx.x] = n.difference_of_packs(c);
}

int main(int argc, char** argv) {
    Stencil ladder("vectorized_1d", "A 1-D stencil with 16-byte loads: the top rung in 1-D.", argc, argv,
                   difference_1d, RADIUS);
    ladder.family.takes_radius();
    const auto tiles = [](const Domain& d, int element_bytes) {
        return blocks(d, THREADS * 16 / element_bytes);
    };
    ladder.variant("vectorized", "16 bytes a load, neighbours from L1", [=](const auto& t) {
        with_radius(t.radius, [&](auto radius) {
            stencil_1d_vectorized<radius()>
                <<<tiles(t.domain, sizeof(*t.in)), THREADS>>>(t.in, t.out, t.domain, t.c);
        });
    });
    ladder.variant("shuffled", "16 bytes a load, neighbours by shuffle", [=](const auto& t) {
        with_radius(t.radius, [&](auto radius) {
            stencil_1d_shuffled<radius()>
                <<<tiles(t.domain, sizeof(*t.in)), THREADS>>>(t.in, t.out, t.domain, t.c);
        });
    });
    return ladder.run();
}
