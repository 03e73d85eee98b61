// From numbers of workers to places on nodes.
#pragma once

#include "edl/scheduler/sizes.h"

namespace edl::scheduler {

// Gives every job its size. Who keeps its size stays where it is; then who shrinks, then the rest,
// the largest first, each on as few nodes as can be. For a job that needs whole nodes small ones
// are moved together, when that frees a node. One that no longer fits gets fewer, but not fewer
// than its minimum.
void settle(Draft& draft, const Sizes& sizes);

}  // namespace edl::scheduler
