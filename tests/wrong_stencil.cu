// wrong_stencil.cu: halos that are wrong on purpose, beside a right one: the two faults that
// stencil/shared_1d.cu tells of, one halo cell left out, and two coefficients swapped.
#include "../stencil/difference.cuh"

enum class Fault { none, left_hole, right_of_block, one_halo_cell, swapped };

constexpr int THREADS = 16;  // no more than the largest radius: less would hide the hole at the left

template <Fault FAULT, typename T>
__global__ void stencil_1d(const T* in, T* out, Domain d, Coefficients<T> c, int radius) {
    __shared__ T tile[MAX_RADIUS + THREADS + MAX_RADIUS];
    const int64_t first = blockIdx.x * int64_t{THREADS}, i = first + threadIdx.x;
    // A place that is not filled holds what no cell holds.
    for (int at = threadIdx.x; at < THREADS + 2 * radius; at += THREADS) tile[at] = T(7);
    __syncthreads();

    T* const mine = &tile[radius + threadIdx.x];
    if (FAULT != Fault::right_of_block || i < d.nx) mine[0] = d.read(in, i);
    if (threadIdx.x < radius) {
        if (FAULT != Fault::left_hole || i > radius) mine[-radius] = d.read(in, i - radius);
        if (FAULT != Fault::one_halo_cell || i != THREADS) mine[THREADS] = d.read(in, i + THREADS);
    }
    __syncthreads();

    if (i >= d.nx) return;
    T sum = 0;
    for (int k = 1; k <= radius; ++k) {
        const int which = FAULT == Fault::swapped && k <= 2 ? 3 - k : k;
        sum += c[which] * (mine[k] - mine[-k]);
    }
    out[i] = d.stays(i, radius) ? in[i] : sum;
}

template <Fault FAULT>
void add(Stencil& ladder, const char* name, const char* note) {
    ladder.variant(name, note, [](const auto& task) {
        stencil_1d<FAULT>
            <<<blocks(task.domain, THREADS), THREADS>>>(task.in, task.out, task.domain, task.c, task.radius);
    });
}

int main(int argc, char** argv) {
    Stencil ladder("wrong_stencil", "Wrong on purpose: a test of the check.", argc, argv, difference_1d,
                   RADIUS);
    ladder.family.takes_radius();
    add<Fault::none>(ladder, "right", "nothing wrong here");
    add<Fault::left_hole>(ladder, "left_hole", "idx > RADIUS: in[0] is no cell's halo");
    add<Fault::right_of_block>(ladder, "right_of_block",
                               "right halo behind the last thread, not the last cell");
    add<Fault::one_halo_cell>(ladder, "one_halo_cell", "one cell of one block's halo is not loaded");
    add<Fault::swapped>(ladder, "swapped", "c[1] and c[2] swapped");
    return ladder.run();
}
