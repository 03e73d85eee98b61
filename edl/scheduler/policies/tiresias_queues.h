// The two queues of Tiresias (Gu et al., 2019), discretised two-dimensional least attained service:
// jobs that had less than 16 slot hours go first, each queue in order of arrival in it.
#pragma once

#include "edl/scheduler/sizes.h"

namespace edl::scheduler {

// Writes the time at which a job came to the second queue as its note.
JobOrder tiresias_order(Draft& draft);

}  // namespace edl::scheduler
