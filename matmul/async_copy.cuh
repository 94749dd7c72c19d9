// async_copy.cuh: cp.async, copies from global to shared memory that pass the registers by (sm_80). Before, an ordinary
// copy stands for it, done at once.
#pragma once
#include <cstdint>
#include <type_traits>

/// Starts the copy of BYTES, 4 or 16; or, where there is nothing to read, of as many zeros.
template <int BYTES>
__device__ void copy_async(void* to, const void* from, bool is_there) {
#if __CUDA_ARCH__ >= 800
    const auto address = static_cast<uint32_t>(__cvta_generic_to_shared(to));
    const int bytes_read = is_there ? BYTES : 0;
    if constexpr (BYTES == 16)  // .cg: past the L1 cache; there is no such copy of 4
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address), "l"(from),
                     "r"(bytes_read)
                     : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(address), "l"(from), "r"(bytes_read)
                     : "memory");
#else
    using Word = std::conditional_t<BYTES == 16, uint4, uint32_t>;
    *static_cast<Word*>(to) = is_there ? *static_cast<const Word*>(from) : Word{};
#endif
}

/// The copies that this thread started since the last call are a group.
__device__ inline void end_group() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

/// Waits until all of this thread's groups but the last N are there.
template <int N>
__device__ void wait_for_groups() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
#endif
}
