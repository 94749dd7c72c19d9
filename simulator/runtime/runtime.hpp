// The CUDA runtime's state behind the files of this folder.
#pragma once
#include <cuda_runtime_api.h>

#include <functional>
#include <mutex>

#include "machine/machine.hpp"
#include "machine/streams.hpp"

// What the runtime's opaque handles point to.
struct CUgraphNode_st;
struct CUstream_st {
    int id = ladder::LEGACY_STREAM;
    int device = 0;
    unsigned flags = 0;
    int priority = 0;
    CUgraph_st* capture = nullptr;                ///< the graph that this stream is being captured into
    std::vector<CUgraphNode_st*> capture_tail{};  ///< the nodes that its next node depends on
    bool capture_origin = false;
};
struct CUevent_st {
    ladder::StreamClock position;
    int device = 0;
    bool recorded = false;
    CUgraph_st* capture = nullptr;
    std::vector<CUgraphNode_st*> capture_tail;
};

namespace ladder {
/// What cudaFuncSetAttribute changed.
struct KernelSymbol {
    Module* module = nullptr;
    std::string name;
    size_t max_dynamic_shared = 48 << 10;
    bool max_dynamic_set = false;
};

struct DeviceLimits {
    static constexpr int THREADS_PER_BLOCK = 1024, THREADS_PER_MULTIPROCESSOR = 2048, REGISTERS = 65536;
    static constexpr int BLOCKS_PER_MULTIPROCESSOR = 32, CLUSTER_BLOCKS = 8;
    static constexpr int SHARED = 48 << 10, SHARED_OPTIN = 227 << 10, SHARED_PER_MULTIPROCESSOR = 228 << 10;
    static constexpr int SHARED_RESERVED = 1 << 10, L2 = 60 << 20, CONSTANT = 64 << 10;
    static constexpr int H200_MULTIPROCESSORS =
        132;  ///< of the chip; the simulator's device says that it has fewer
    static constexpr int GRID_X = 2147483647, GRID_YZ = 65535, BLOCK_Z = 64;
};

using Operation = std::function<cudaError_t(int)>;

std::recursive_mutex& runtime_mutex();

/// Remembers an error of a call as the last one and returns it.
cudaError_t remember(cudaError_t error, const char* call = __builtin_FUNCTION());
/// Reports the errors that the program never asked for, nor had put into words.
void report_ignored_errors();
/// The error that a fault has left for good, or success.
cudaError_t sticky_error();
void set_sticky(cudaError_t error);

KernelSymbol* find_kernel(const void* symbol);
const Function* find_function(const void* symbol);

/// A launch with its arguments copied; no error if the runtime would accept it.
cudaError_t prepare_launch(const void* symbol, dim3 grid, dim3 block, void** arguments, size_t shared,
                           Launch& l);
cudaError_t check_launch(Launch& l);
cudaError_t run_launch(Launch l, int operation);

/// The driver's cuTensorMapEncodeTiled.
void* tensor_map_encoder();

/// Streams and events that were never destroyed, in words.
std::vector<std::string> handle_leaks();

CUstream_st& stream_of(cudaStream_t stream);
/// The device of the calling thread, and that of a stream: the default stream is the current device's. (It is
/// one for all devices here, so that some orders between devices are not missed where they should be.)
int current_device();
bool on_current_device(cudaStream_t stream);
/// Runs an operation in stream order, or adds it to the graph that the stream is captured into.
cudaError_t submit(cudaStream_t stream, const std::string& name, Operation run,
                   const Launch* launch = nullptr);

/// A copy of some rows between any two kinds of memory.
struct Rows {
    void* to;
    size_t to_pitch;
    const void* from;
    size_t from_pitch, width, height;
    cudaMemcpyKind kind;
};
inline Rows one_row(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
    return {to, bytes, from, bytes, bytes, 1, kind};
}
/// The operations of the calls for copies and fills, with every check.
Operation copying(const Rows& rows, const char* call);
Operation filling(void* to, size_t pitch, int value, size_t width, size_t height, const char* call);
/// Runs an operation after which the host waits for the stream.
cudaError_t submit_and_wait(cudaStream_t stream, const char* call, Operation run);

CUgraphNode_st* add_node(CUgraph_st* graph, const std::vector<CUgraphNode_st*>& after,
                         const std::string& name, Operation run, const Launch* launch);

/// The entry points of the runtime hold this.
struct Entry {
    std::lock_guard<std::recursive_mutex> lock{runtime_mutex()};
};

/// The whole of many entry points.
template <class T, class V>
cudaError_t give(T* to, V value) {
    *to = value;
    return cudaSuccess;
}
}  // namespace ladder
