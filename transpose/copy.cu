// copy.cu: how fast can bytes move at all?
//
// Idea:   a copy reads and writes every byte once, as a transpose must, and nothing stands in its way.
//         What is left to choose is how many bytes each thread moves. The memory is far away, so its speed
//         is that of the bytes in flight: threads on a multiprocessor x bytes a thread (Little's law). An
//         H200 wants about 48 KB in flight on each multiprocessor (NVIDIA's CUB tunes for that figure);
//         2048 threads with 4 bytes are 8 KB.
// Cost:   16-byte accesses need addresses that are multiples of 16.
// Wrong still: nothing. The copy with 16 bytes a thread is the ceiling of this family.
// Text 1 and 2: coalesced access, memory transactions.
#include "transpose.cuh"

int main(int argc, char** argv) {
    Transpose ladder("copy", "Copies with 4, 8 and 16 bytes a thread: the ceiling of the transpose family.",
                     argc, argv);
    ladder.variant("copy_4_bytes", "a float a thread", TransposeFamily::copy_with<uint32_t>).copies = true;
    ladder.variant("copy_8_bytes", "a float2 a thread", TransposeFamily::copy_with<uint2>).copies = true;
    ladder.variant("copy_16_bytes", "a float4 a thread", TransposeFamily::copy_with<uint4>).copies = true;
    ladder
        .variant("memcpy", "cudaMemcpyAsync, device to device",
                 [](auto t) {
                     CHECK_CUDA_CALL(cudaMemcpyAsync(t.out, t.in, t.extent.count() * sizeof(*t.in),
                                                     cudaMemcpyDeviceToDevice));
                 })
        .copies = true;
    return ladder.run();
}
