// The CUDA runtime's state behind the cudart_*.cpp files.
#pragma once
#include <cuda_runtime_api.h>

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "machine.h"
#include "streams.h"

// What the runtime's opaque handles point to.
struct CUgraphNode_st;
struct CUstream_st {
    int id = ladder::kLegacyStream;
    unsigned flags = 0;
    int priority = 0;
    CUgraph_st* capture = nullptr;              ///< the graph that this stream is being captured into
    std::vector<CUgraphNode_st*> capture_tail;  ///< the nodes that its next node depends on
    bool capture_origin = false;
};
struct CUevent_st {
    ladder::StreamClock position;
    bool recorded = false;
    CUgraph_st* capture = nullptr;
    std::vector<CUgraphNode_st*> capture_tail;
};

namespace ladder {

/// A kernel launch with its arguments copied.
struct LaunchRequest {
    const void* symbol = nullptr;
    const Function* function = nullptr;
    dim3 grid, block, cluster{1, 1, 1};
    bool cooperative = false, clustered = false;
    size_t dynamic_shared = 0;
    std::vector<char> parameters;
};

/// What cudaFuncSetAttribute changed.
struct KernelSymbol {
    Module* module = nullptr;
    std::string name;
    size_t max_dynamic_shared = 48 << 10;
    bool max_dynamic_set = false;
};

struct DeviceLimits {
    static constexpr int kMultiprocessors = 8, kThreadsPerBlock = 1024, kThreadsPerMultiprocessor = 2048;
    static constexpr int kBlocksPerMultiprocessor = 32, kClusterBlocks = 8, kRegisters = 65536;
    static constexpr size_t kShared = 48 << 10, kSharedOptin = 227 << 10,
                            kSharedPerMultiprocessor = 228 << 10;
    static constexpr size_t kSharedReserved = 1 << 10, kL2 = 60 << 20, kConstant = 64 << 10;
    static constexpr int kGridX = 2147483647, kGridYZ = 65535, kBlockZ = 64;
};

using Operation = std::function<cudaError_t(int)>;

std::recursive_mutex& runtime_mutex();

/// Remembers an error as the last one and returns it.
cudaError_t remember(cudaError_t error);
/// The error that a fault has left for good, or success.
cudaError_t sticky_error();
void set_sticky(cudaError_t error);

KernelSymbol* find_kernel(const void* symbol);
const Function* find_function(const void* symbol);

cudaError_t prepare_launch(const void* symbol, dim3 grid, dim3 block, void** arguments, size_t shared,
                           LaunchRequest& r);
cudaError_t check_launch(LaunchRequest& r);
cudaError_t run_launch(const LaunchRequest& r, int operation);
cudaError_t submit_launch(LaunchRequest r, cudaStream_t stream);

CUstream_st& stream_of(cudaStream_t stream);
/// Runs an operation in stream order, or adds it to the graph that the stream is captured into.
cudaError_t submit(cudaStream_t stream, const std::string& name, Operation run,
                   const LaunchRequest* launch = nullptr);

/// A checked copy between any two kinds of memory.
cudaError_t copy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, int operation,
                 const char* call);
cudaError_t fill(void* to, int value, size_t bytes, int operation, const char* call);

CUgraphNode_st* add_node(CUgraph_st* graph, const std::vector<CUgraphNode_st*>& after,
                         const std::string& name, Operation run, const LaunchRequest* launch);

/// Every entry point of the runtime holds this.
struct Entry {
    std::lock_guard<std::recursive_mutex> lock{runtime_mutex()};
};

}  // namespace ladder
