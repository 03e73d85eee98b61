// What happens to a cluster while jobs run: nodes that fail and come back, nodes that are taken
// away at short notice, and a service beside the jobs that needs more by day than by night. All by
// seed.
#pragma once

#include <vector>

#include "edl/simulator/simulation.h"

namespace edl::simulator {

struct CapacityOptions {
  std::uint64_t seed = 1;
  double until_s = 7 * 86400;
  double mean_between_failures_s = 0;  // of one node; 0: never
  double repair_s = 600;
  double mean_between_preemptions_s = 0;  // of one node; it is back after a while
  double preempted_s = 3600;
  double foreign_share = 0;  // of all slots, that the service takes at its peak
  double day_s = 86400;
};

std::vector<CapacityChange> capacity_changes(const std::vector<scheduler::Node>& nodes,
                                             const CapacityOptions& options);

}  // namespace edl::simulator
