// Divides the slots so that the sum of what each job is worth at its size is greatest: step by
// step, each slot to where it adds most. On the upper hull of a job's worth this is exact but for
// steps that do not fit: in place of such a one the job takes the steepest that does.
#pragma once

#include <vector>

#include "edl/scheduler/sizes.h"

namespace edl::scheduler {

struct Worth {
  std::uint32_t workers = 0;
  double value = 0;
};

struct Bid {
  std::uint32_t floor = 0;       // what it has in any case; its slots are taken first
  std::vector<Worth> options{};  // by workers, the first one is the floor
};

// One bid for each job of the snapshot. The floors fit; whatever is above them may not.
Sizes divide(const Snapshot& snapshot, const std::vector<Bid>& bids);

}  // namespace edl::scheduler
