// vectorized_1d.cu: 16-byte loads, neighbours by shuffle. The top rung in 1-D.
//
// Idea:   a thread loads packs of 16 bytes (V = 4 floats or 2 doubles), and what it needs of its neighbours'
//         packs it gets from their registers. A warp takes a strip of ROWS rows of 32 packs. Only the packs
//         before the first row and behind the last are loaded besides, M = RADIUS / V of them (rounded up),
//         by the lanes that would hold them if there were one row more.
//
//                       lane 0    lane 1   ...   lane 31
//         row -1                                [ M packs]
//         row 0         [pack ]   [pack ]  ...   [pack  ]     left of lane 0, row r: lane 31, row r - 1
//         row 1         [pack ]   [pack ]  ...   [pack  ]     right of lane 31, row r: lane 0, row r + 1
//         row ROWS      [M packs]
//
// Speed:  ROWS loads of 16 bytes are under way in each thread before the first is used; that makes the bytes
//         under way that the memory wants (transpose/copy.cu), and no barrier holds anyone back.
// Cost:   about 2 RADIUS shuffles a pack for floats. Strips at the edge go cell by cell.
// Wrong still: nothing at this radius. The bytes are read once and written once, like the copy's. To be faster
//         than that, more than one step must be taken per pass (temporal_2d.cu).
// Text 2, stencil_1d, at the end of its road.
#include "difference.cuh"

constexpr int WARP_SIZE = 32, ROWS = 2;

/// 16 bytes: V cells.
template <typename T>
struct alignas(16) Pack {
    static constexpr int V = 16 / sizeof(T);
    T at[V];
};

template <int RADIUS, typename T>
__global__ void __launch_bounds__(BLOCK_SIZE)
    stencil_1d_vectorized(const T* in, T* out, Domain d, Coefficients<T> c) {
    constexpr int V = Pack<T>::V, M = (RADIUS + V - 1) / V;
    constexpr int STRIP = ROWS * WARP_SIZE * V;
    constexpr unsigned ALL = 0xFFFFFFFF;
    const int lane = threadIdx.x % WARP_SIZE;
    const int64_t warp = blockIdx.x * int64_t{BLOCK_SIZE / WARP_SIZE} + threadIdx.x / WARP_SIZE;
    const int64_t first = warp * STRIP;
    if (!d.inner_x(first, first + STRIP, M * V)) {
        for (int64_t i = first + lane; i < first + STRIP && i < d.nx; i += WARP_SIZE)
            out[i] = difference_at_edge<RADIUS>(in, d, i, c);
        return;
    }

    const Pack<T>* const from = reinterpret_cast<const Pack<T>*>(in + first) + lane;
    Pack<T>* const to = reinterpret_cast<Pack<T>*>(out + first) + lane;
    Pack<T> before = {}, behind = {}, row[ROWS];
    if (lane >= WARP_SIZE - M) before = from[-WARP_SIZE];
#pragma unroll
    for (int r = 0; r < ROWS; ++r) row[r] = from[r * WARP_SIZE];
    if (lane < M) behind = from[ROWS * WARP_SIZE];

#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        const Pack<T>& previous = r == 0 ? before : row[r - 1];
        const Pack<T>& next = r == ROWS - 1 ? behind : row[r + 1];
        // cells[M * V] is the first of this lane's own pack.
        T cells[(M + 1 + M) * V];
#pragma unroll
        for (int v = 0; v < V; ++v) {
            cells[M * V + v] = row[r].at[v];
#pragma unroll
            for (int away = 1; away <= M; ++away) {
                // Each lane gives what the lane `away` from it needs: past the warp's end, of another row.
                const T to_the_right = lane >= WARP_SIZE - away ? previous.at[v] : row[r].at[v];
                const T to_the_left = lane < away ? next.at[v] : row[r].at[v];
                if (away * V - v <= RADIUS)
                    cells[(M - away) * V + v] =
                        __shfl_sync(ALL, to_the_right, (lane + WARP_SIZE - away) % WARP_SIZE);
                if (away * V + v < V + RADIUS)
                    cells[(M + away) * V + v] = __shfl_sync(ALL, to_the_left, (lane + away) % WARP_SIZE);
            }
        }
        Pack<T> result;
#pragma unroll
        for (int v = 0; v < V; ++v)
            result.at[v] = difference<RADIUS>(c, [&](int k) { return cells[M * V + v + k]; });
        to[r * WARP_SIZE] = result;
    }
}

int main(int argc, char** argv) {
    Stencil ladder("vectorized_1d",
                   "A 1-D stencil with 16-byte loads and shuffled edges: the top rung in 1-D.", argc, argv,
                   difference_1d, RADIUS);
    ladder.takes_radius();
    ladder.variant("vectorized", "16 bytes a load, neighbours by shuffle", [](const auto& task) {
        using T = std::decay_t<decltype(*task.in)>;
        with_radius(task.radius, [&](auto radius) {
            stencil_1d_vectorized<radius()>
                <<<blocks(task.domain, BLOCK_SIZE * ROWS * Pack<T>::V), BLOCK_SIZE>>>(task.in, task.out,
                                                                                      task.domain, task.c);
        });
    });
    return ladder.run();
}
