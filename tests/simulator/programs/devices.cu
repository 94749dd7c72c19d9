// Two devices: what belongs to which, and the way from one to the other. Runs under the simulator with
// LADDER_SIMULATOR_DEVICES=2, or on two GPUs that reach each other's memory.
#include <cuda_runtime.h>

#include <cstdio>

namespace {

bool wrong = false;

void expect(bool ok, const char* what) {
    if (ok) return;
    wrong = true;
    std::fprintf(stderr, "devices: %s\n", what);
}
void call(cudaError_t error) {
    expect(error == cudaSuccess, cudaGetErrorString(error));
}

__global__ void write(int* out) {
    out[threadIdx.x] = threadIdx.x;
}
__global__ void increment(const int* in, int* out) {
    out[threadIdx.x] = in[threadIdx.x] + 1;
}

}  // namespace

int main() {
    int count = 0, current = -1, can = 0;
    call(cudaGetDeviceCount(&count));
    expect(count >= 2, "two devices");
    expect(cudaSetDevice(count) == cudaErrorInvalidDevice, "a device that is not there");
    call(cudaGetDevice(&current));
    expect(current == 0, "the first device is current");
    call(cudaDeviceCanAccessPeer(&can, 0, 1));
    expect(can == 1, "0 reaches 1");
    call(cudaDeviceEnablePeerAccess(1, 0));
    expect(cudaDeviceEnablePeerAccess(1, 0) == cudaErrorPeerAccessAlreadyEnabled, "enabled twice");
    expect(cudaDeviceEnablePeerAccess(0, 0) == cudaErrorInvalidDevice, "a device is no peer of itself");
    cudaGetLastError();

    cudaStream_t streams[2];
    cudaEvent_t events[2];
    int* data[2];
    for (int d = 0; d < 2; ++d) {
        call(cudaSetDevice(d));
        call(cudaStreamCreateWithFlags(&streams[d], cudaStreamNonBlocking));
        call(cudaEventCreateWithFlags(&events[d], cudaEventDisableTiming));
        call(cudaMalloc(&data[d], 64 * sizeof(int)));
    }
    // The second device is current now.
    write<<<1, 64, 0, streams[0]>>>(data[0]);
    expect(cudaGetLastError() == cudaErrorInvalidResourceHandle, "a launch into a stream of another device");
    expect(cudaEventRecord(events[1], streams[0]) == cudaErrorInvalidResourceHandle,
           "an event of another device");
    cudaGetLastError();

    // From the first device's kernel to the second's: an event goes with the data.
    call(cudaSetDevice(0));
    write<<<1, 64, 0, streams[0]>>>(data[0]);
    call(cudaMemcpyPeerAsync(data[1], 1, data[0], 0, 64 * sizeof(int), streams[0]));
    call(cudaEventRecord(events[0], streams[0]));
    call(cudaSetDevice(1));
    call(cudaStreamWaitEvent(streams[1], events[0], 0));
    increment<<<1, 64, 0, streams[1]>>>(data[1], data[1]);
    call(cudaGetLastError());
    int got[64];
    call(cudaMemcpyAsync(got, data[1], sizeof got, cudaMemcpyDeviceToHost, streams[1]));
    call(cudaStreamSynchronize(streams[1]));
    for (int i = 0; i < 64; ++i) expect(got[i] == i + 1, "a value that came the whole way");

    for (int d = 0; d < 2; ++d) {
        call(cudaSetDevice(d));
        call(cudaFree(data[d]));
        call(cudaEventDestroy(events[d]));
        call(cudaStreamDestroy(streams[d]));
    }
    return wrong;
}
