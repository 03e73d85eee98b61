// Policies that do not resize: jobs in an order, each gets the workers that it wants or none.
#pragma once

#include <string>

#include "edl/scheduler/sizes.h"

namespace edl::scheduler {

// Runs the jobs in this order as long as what they want is free, passing over those that do not
// fit. Who runs already stays where it is; who is passed over stops.
void run_in_order(Draft& draft, const JobOrder& order, const std::string& because);

}  // namespace edl::scheduler
