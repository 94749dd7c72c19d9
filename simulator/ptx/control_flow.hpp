// Where the paths of a divergent branch come together again.
#pragma once
#include "ptx/program.hpp"

namespace ladder {
/// Sets the reconvergence point of every branch: its immediate post-dominator.
void find_reconvergence(Function& function);
}  // namespace ladder
