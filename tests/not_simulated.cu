// not_simulated.cu: a variant with an instruction that the simulator does not have, to see what the harness makes of it.
#include "../transpose/transpose.cuh"

template <typename T>
__global__ void transpose_behind_wgmma(const T* in, T* out, Extent e) {
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (i < int64_t{e.rows} * e.cols) out[i % e.cols * e.rows + i / e.cols] = in[i];
}

int main(int argc, char** argv) {
    Transpose ladder("not_simulated", "What only a GPU can run: a test of the harness.", argc, argv);
    ladder
        .variant("wgmma", "an instruction of Hopper's alone",
                 [](auto t) {
                     transpose_behind_wgmma<<<grid_of_tiles(ceil_div(t.extent.count(), 256), 1), 256>>>(
                         t.in, t.out, t.extent);
                 })
        .unless([](const DeviceInfo& device, const auto&) {
            return device.major == 9 ? "" : "needs an sm_90 GPU";
        });
    return ladder.run();
}
