// A cluster for tests of single plans, and its jobs.
#pragma once

#include "edl/scheduler/plan.h"
#include "edl/scheduler/policy.h"

namespace edl::scheduler {

// Two nodes of four slots.
inline Snapshot small_cluster() {
  Snapshot snapshot;
  snapshot.now = 1000;
  snapshot.nodes = {{.name = "a", .slots = 4}, {.name = "b", .slots = 4}};
  return snapshot;
}

inline Job job(const char* name, std::uint32_t min, std::uint32_t max) {
  Job out;
  out.name = name;
  out.min = min;
  out.max = max;
  return out;
}

inline const Policy& ours() { return **find_policy("ours"); }

}  // namespace edl::scheduler
