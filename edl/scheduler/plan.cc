#include "edl/scheduler/plan.h"

#include "edl/base/text.h"
#include "edl/scheduler/draft.h"
#include "edl/scheduler/policy.h"
#include "edl/scheduler/steady.h"

namespace edl::scheduler {
namespace {

Plan tell_of_lost(const Snapshot& snapshot, Plan plan) {
  for (std::size_t j = 0; j < snapshot.jobs.size(); ++j) {
    const std::uint32_t lost = snapshot.jobs[j].lost;
    if (lost == 0) continue;
    plan.allocations[j].reason +=
        text("; lost ", lost, lost == 1 ? " worker" : " workers", " on a node that is gone");
  }
  return plan;
}

}  // namespace

Plan plan(const Snapshot& snapshot, const Policy& policy, const PlanOptions& options) {
  Draft draft(snapshot);
  policy.decide(draft);
  Plan proposal = std::move(draft).finish();
  if (!policy.has_rules && !options.rules) return tell_of_lost(snapshot, std::move(proposal));
  const Others others = policy.has_rules ? Others::kStart : Others::kWait;
  return tell_of_lost(snapshot, steady(snapshot, std::move(proposal), others));
}

}  // namespace edl::scheduler
