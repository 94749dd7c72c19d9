// fused_steps.cu: several steps in one pass leave the very bits that as many passes of one step leave. Each variant takes
// the steps both ways and writes NaN, which no check lets pass, where the two differ.
#define main temporal_2d_main  // the lesson's kernels, not its program
#include "../stencil/temporal_2d.cu"
#undef main

template <typename T>
__global__ void mark_differences(T* cells, const T* others, int64_t n) {
    const int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
    if (i >= n) return;
    const auto* a = reinterpret_cast<const unsigned char*>(&cells[i]);
    const auto* b = reinterpret_cast<const unsigned char*>(&others[i]);
    bool same = true;
    for (size_t k = 0; k < sizeof(T); ++k) same &= a[k] == b[k];
    if (!same) cells[i] = NAN;
}

template <typename T, typename TakeSteps>
void compare_with_single_steps(const Task<T>& task, const TakeSteps& take_steps_of) {
    const int64_t count = task.domain.count();
    DeviceBuffer<T> single[] = {DeviceBuffer<T>(count), DeviceBuffer<T>(count)};
    for (DeviceBuffer<T>& cells : single) cells.poison();
    Task<T> one = task;
    one.steps = 1;
    for (int64_t step = 0; step < task.steps; ++step) {
        one.out = single[step % 2].data();
        take_steps_of(one);
        one.in = one.out;
    }
    take_steps_of(task);
    mark_differences<<<static_cast<unsigned>(ceil_div(count, 256)), 256>>>(task.out, one.out, count);
    CHECK_CUDA_CALL(cudaDeviceSynchronize());  // before `single` is freed
}

int main(int argc, char** argv) {
    Stencil ladder("fused_steps", "Several steps in one pass against as many single steps.", argc, argv,
                   star_2d, 1);
    ladder.family.takes_steps(2, MOST_STEPS);
    ladder.program.test_sizes.clear();
    for (const char* boundary : {"keep", "zero", "clamp", "periodic"})
        for (const char* size :
             {"--n 1 --steps 2", "--nx 131 --ny 67 --steps 1", "--nx 131 --ny 67 --steps 2",
              "--nx 259 --ny 143 --steps 5", "--nx 131 --ny 67 --steps 5 --type double"})
            ladder.program.test_sizes.push_back(std::string(size) + " --boundary " + boundary);

    ladder.variant("shared", "the tile in shared memory, twice", [](const auto& task) {
        compare_with_single_steps(task, [](const auto& t) { take_steps_in_shared(t); });
    });
    ladder.variant("registers", "16 rows a warp, outer rows through shared", [](const auto& task) {
        compare_with_single_steps(task, [](const auto& t) { take_steps_in_registers<1>(t); });
    });
    ladder
        .variant("cluster", "the same, by two blocks of a cluster",
                 [](const auto& task) {
                     compare_with_single_steps(task,
                                               [](const auto& t) { take_steps_in_registers<CLUSTER>(t); });
                 })
        .unless([](const DeviceInfo& device, const auto&) {
            return device.major < 9 ? "clusters need an sm_90 GPU or newer" : "";
        });
    return ladder.run();
}
