// Streams, events, host functions and stream capture. Work runs at once; its order is what is kept.
#include <algorithm>

#include "runtime/runtime.hpp"

namespace ladder {
namespace {
std::vector<CUstream_st*>& streams() {
    static auto* all = new std::vector<CUstream_st*>;
    return *all;
}
std::vector<const CUevent_st*>& events() {
    static auto* all = new std::vector<const CUevent_st*>;
    return *all;
}

bool known(cudaStream_t stream) {
    return !stream || stream == cudaStreamLegacy || stream == cudaStreamPerThread ||
           std::find(streams().begin(), streams().end(), stream) != streams().end();
}
bool known(cudaEvent_t event) {
    return std::find(events().begin(), events().end(), event) != events().end();
}
}  // namespace

std::vector<std::string> handle_leaks() {
    std::vector<std::string> leaks;
    if (size_t n = streams().size()) leaks.push_back(say(n, n == 1 ? " stream" : " streams"));
    if (size_t n = events().size()) leaks.push_back(say(n, n == 1 ? " event" : " events"));
    return leaks;
}

CUstream_st& stream_of(cudaStream_t stream) {
    if (stream == cudaStreamPerThread) {
        static auto* of_thread = new CUstream_st{create_stream(true)};
        return *of_thread;
    }
    static auto* legacy = new CUstream_st;
    return !stream || stream == cudaStreamLegacy ? *legacy : *stream;
}

cudaError_t submit(cudaStream_t stream, const std::string& name, Operation run, const Launch* launch) {
    Entry entry;
    if (!known(stream)) return remember(cudaErrorInvalidResourceHandle, name.c_str());
    CUstream_st& s = stream_of(stream);
    if (s.capture) {
        s.capture_tail = {add_node(s.capture, s.capture_tail, name, std::move(run), launch)};
        return cudaSuccess;
    }
    if (cudaError_t e = sticky_error()) return remember(e);
    return remember(run(begin_operation(s.id, name)), name.c_str());
}
}  // namespace ladder

using namespace ladder;
extern "C" {
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* s, unsigned flags, int priority) {
    Entry entry;
    *s = new CUstream_st{create_stream(flags != cudaStreamNonBlocking), current_device(), flags, priority};
    streams().push_back(*s);
    return remember(sticky_error());
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* s, unsigned flags) {
    return cudaStreamCreateWithPriority(s, flags, 0);
}
cudaError_t cudaStreamCreate(cudaStream_t* s) {
    return cudaStreamCreateWithFlags(s, cudaStreamDefault);
}
cudaError_t cudaStreamDestroy(cudaStream_t s) {
    Entry entry;
    auto it = std::find(streams().begin(), streams().end(), s);
    if (it == streams().end()) return remember(cudaErrorInvalidResourceHandle);
    destroy_stream(s->id);
    streams().erase(it);
    delete s;
    return remember(sticky_error());
}
cudaError_t cudaStreamSynchronize(cudaStream_t s) {
    Entry entry;
    if (!known(s)) return remember(cudaErrorInvalidResourceHandle);
    if (stream_of(s).capture) return remember(cudaErrorStreamCaptureUnsupported);
    host_waits_for_stream(stream_of(s).id);
    return remember(sticky_error());
}
// The work has run, but the host has not been told to wait for it: a query orders it as a
// synchronisation does.
cudaError_t cudaStreamQuery(cudaStream_t s) {
    return cudaStreamSynchronize(s);
}
cudaError_t cudaStreamGetPriority(cudaStream_t s, int* priority) {
    return give(priority, stream_of(s).priority);
}
cudaError_t cudaStreamGetFlags(cudaStream_t s, unsigned* flags) {
    return give(flags, stream_of(s).flags);
}
cudaError_t cudaStreamGetId(cudaStream_t s, unsigned long long* id) {
    return give(id, stream_of(s).id);
}
cudaError_t cudaStreamGetDevice(cudaStream_t stream, int* device) {
    return give(device, on_current_device(stream) ? current_device() : stream_of(stream).device);
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
    Entry entry;
    if (!known(stream) || !known(event)) return remember(cudaErrorInvalidResourceHandle);
    CUstream_st& s = stream_of(stream);
    if (event->capture) {
        s.capture = event->capture;
        for (CUgraphNode_st* node : event->capture_tail)
            if (std::find(s.capture_tail.begin(), s.capture_tail.end(), node) == s.capture_tail.end())
                s.capture_tail.push_back(node);
    } else {
        stream_waits(s.id, event->position);
    }
    return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
    Entry entry;
    *event = new CUevent_st;
    (*event)->device = current_device();
    events().push_back(*event);
    return remember(sticky_error());
}
cudaError_t cudaEventCreate(cudaEvent_t* event) {
    return cudaEventCreateWithFlags(event, cudaEventDefault);
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
    Entry entry;
    auto it = std::find(events().begin(), events().end(), event);
    if (it == events().end()) return remember(cudaErrorInvalidResourceHandle);
    events().erase(it);
    delete event;
    return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    Entry entry;
    if (!known(event) || !known(stream)) return remember(cudaErrorInvalidResourceHandle);
    CUstream_st& s = stream_of(stream);
    // An event is recorded on its own device; any stream may wait for it.
    if (event->device != (on_current_device(stream) ? current_device() : s.device))
        return remember(cudaErrorInvalidResourceHandle);
    event->recorded = true;
    event->capture = s.capture;
    event->capture_tail = s.capture_tail;
    if (!s.capture) event->position = stream_position(s.id);
    return remember(sticky_error());
}
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned) {
    return cudaEventRecord(event, stream);
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    Entry entry;
    if (!known(event)) return remember(cudaErrorInvalidResourceHandle);
    host_waits(event->position);
    return remember(sticky_error());
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
    return cudaEventSynchronize(event);
}
cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t start, cudaEvent_t end) {
    Entry entry;
    *ms = 0;
    if (!known(start) || !known(end) || !start->recorded || !end->recorded)
        return remember(cudaErrorInvalidResourceHandle);
    return remember(sticky_error());
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
    return submit(stream, "cudaLaunchHostFunc", [=](int) {
        function(data);
        return cudaSuccess;
    });
}
cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t function, void* data, unsigned) {
    return submit(stream, "cudaStreamAddCallback", [=](int) {
        function(stream, sticky_error(), data);
        return cudaSuccess;
    });
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
    Entry entry;
    CUstream_st& s = stream_of(stream);
    if (!known(stream) || s.id == LEGACY_STREAM) return remember(cudaErrorStreamCaptureUnsupported);
    if (s.capture) return remember(cudaErrorIllegalState);
    cudaGraphCreate(&s.capture, 0);
    s.capture_tail.clear();
    s.capture_origin = true;
    return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
    Entry entry;
    CUstream_st& s = stream_of(stream);
    if (!s.capture || !s.capture_origin) return remember(cudaErrorIllegalState);
    *graph = s.capture;
    auto end = [&](CUstream_st& each) {
        if (each.capture != *graph) return;
        each.capture = nullptr;
        each.capture_tail.clear();
        each.capture_origin = false;
    };
    for (CUstream_st* other : streams()) end(*other);
    end(s);  // cudaStreamPerThread is not among them
    return cudaSuccess;
}
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
    Entry entry;
    return give(status,
                stream_of(stream).capture ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone);
}

cudaError_t cudaDeviceSynchronize() {
    Entry entry;
    host_waits_for_all();
    return remember(sticky_error());
}
}
