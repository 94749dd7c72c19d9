// The order of streams: which operation may rely on which earlier one to be over.
#pragma once
#include <cstdint>
#include <map>
#include <string>

#include "machine/memory.hpp"

namespace ladder {
/// For each stream, how many of its operations are known to be over.
using StreamClock = std::map<int, uint64_t>;

constexpr int LEGACY_STREAM = 0;

/// A new stream; non-blocking ones are not ordered with the legacy default stream.
int create_stream(bool blocking);
void destroy_stream(int stream);

/// Begins an operation in a stream and returns its number. Its accesses carry the time from then on.
int begin_operation(int stream, const std::string& name);
/// All operations of earlier times than this are ordered before the operation.
uint32_t ordered_before(int operation);
/// Is the operation to which `time` belongs ordered before `operation`?
bool operations_ordered(uint32_t time, int operation);
std::string operation_name(uint32_t time);

StreamClock stream_position(int stream);
void stream_waits(int stream, const StreamClock& for_these);
void host_waits(const StreamClock& for_these);
void host_waits_for_stream(int stream);
void host_waits_for_all();

/// A copy's or memset's access to device memory: reports a conflict with an unordered operation.
void touch_by_operation(int operation, Region& region, uint64_t offset, size_t bytes, bool write);
/// A stream-ordered free: reports a conflict with an unordered operation on the region.
void free_by_operation(int operation, Region& region);
}  // namespace ladder
