#include "edl/scheduler/plan.h"

#include "edl/scheduler/draft.h"
#include "edl/scheduler/policy.h"
#include "edl/scheduler/steady.h"

namespace edl::scheduler {

Plan plan(const Snapshot& snapshot, const Policy& policy, const PlanOptions& options) {
  Draft draft(snapshot);
  policy.decide(draft);
  Plan proposal = std::move(draft).finish();
  if (!policy.has_rules && !options.rules) return proposal;
  return steady(snapshot, std::move(proposal), policy.has_rules ? Others::kStart : Others::kWait);
}

}  // namespace edl::scheduler
