// cub.cuh: the baseline of this family, the reductions of CUB, which comes with the CUDA toolkit.
#pragma once
#include "reduce.cuh"

#if __has_include(<cub/device/device_reduce.cuh>)
#include <cub/device/device_reduce.cuh>
#include <cub/version.cuh>
#define LADDER_CUB_VERSION CUB_VERSION
#else
#define LADDER_CUB_VERSION 0
#endif

namespace cub_baseline {

/// One call of CUB; without a workspace it only says how large that must be.
#if LADDER_CUB_VERSION
template <typename T>
cudaError_t call(void* workspace, size_t& bytes, const Task<Sum<T>>& task) {
    return cub::DeviceReduce::Sum(workspace, bytes, task.in, task.result, task.n);
}
template <typename T>
cudaError_t call(void* workspace, size_t& bytes, const Task<Max<T>>& task) {
    return cub::DeviceReduce::Max(workspace, bytes, task.in, task.result, task.n);
}
template <typename T>
cudaError_t call(void* workspace, size_t& bytes, const Task<Min<T>>& task) {
    return cub::DeviceReduce::Min(workspace, bytes, task.in, task.result, task.n);
}
#endif
template <typename T>
cudaError_t call(void* workspace, size_t& bytes, const Task<ArgMax<T>>& task) {
#if LADDER_CUB_VERSION >= 200800
    return cub::DeviceReduce::ArgMax(workspace, bytes, task.in, &task.result->value, &task.result->index,
                                     task.n);
#else
    return cudaErrorNotSupported;
#endif
}

/// Why CUB has no say here, or "".
template <typename Op>
std::string obstacle(const Task<Op>& task) {
    using T = typename Op::Element;
    if (!LADDER_CUB_VERSION) return "built without CUB";
    if (simulated()) return "a library's kernels are not simulated";
    if (task.n == 0) return "its result of nothing is another";
    if (task.may_be_nan && !std::is_same_v<Op, Sum<T>>) return "has no rule for NaN";
    if (std::is_same_v<Op, ArgMax<T>> && LADDER_CUB_VERSION < 200800)
        return "needs CUB 2.8: its index has 32 bits";
    if (task.n > INT32_MAX && LADDER_CUB_VERSION < 200500) return "needs CUB 2.5: its count has 32 bits";
    return "";
}

}  // namespace cub_baseline

/// Adds CUB's Sum, Max, Min or ArgMax. The workspace is made at the first launch, which is not timed.
template <typename L>
void add_cub(L& ladder) {
    auto& cub = ladder.baseline("cub", "cub::DeviceReduce: the baseline", [](const auto& task) {
        static size_t bytes = 0;
        static DeviceBuffer<char>* workspace = [&] {
            CHECK_CUDA_CALL(cub_baseline::call(nullptr, bytes, task));
            return new DeviceBuffer<char>(std::max<int64_t>(1, static_cast<int64_t>(bytes)));
        }();
        CHECK_CUDA_CALL(cub_baseline::call(workspace->data(), bytes, task));
    });
    cub.ordered = false;
    cub.unless([](const DeviceInfo&, const auto& task) { return cub_baseline::obstacle(task); });
}
