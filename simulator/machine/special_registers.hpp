// What special registers (%tid.x, %laneid, ...) and addresses hold for each lane.
#pragma once
#include <string_view>

#include "ptx/program.hpp"

namespace ladder {
/// The function that gives a special register's value, with its argument (the axis of a vector); or null.
SpecialValue find_special(std::string_view name, int64_t& argument);

// Addresses that differ from kernel to kernel, from block to block or from frame to frame.
uint64_t dynamic_shared_address(const Warp&, int lane, int64_t);
uint64_t module_shared_address(const Warp&, int lane, int64_t variable);
uint64_t local_address(const Warp&, int lane, int64_t variable);
}  // namespace ladder
