// The scheduler: a snapshot and a policy in, who gets which slots out, each with a reason. A pure
// function; the live jobserver and `edl sim` call the same one.
#pragma once

#include <string>
#include <vector>

#include "edl/scheduler/snapshot.h"

namespace edl::scheduler {

struct Allocation {
  Shares workers{};  // empty: it waits
  std::string reason{};
  std::optional<double> note{};  // comes back in the next snapshot
  bool operator==(const Allocation&) const = default;
};

struct Plan {
  std::vector<Allocation> allocations{};  // one for each job of the snapshot, in its order
};

struct Policy;

struct PlanOptions {
  // EDL's rules of steadiness also for a policy that was published without them (steady.h).
  bool rules = false;
};

Plan plan(const Snapshot& snapshot, const Policy& policy, const PlanOptions& options = {});

}  // namespace edl::scheduler
