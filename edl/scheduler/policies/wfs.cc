// Weighted fair share, as in VirtualFlow (Or et al., 2022): every job its weight's share of the
// slots, capped by what it can use; what is left over goes to the others by the same rule.
#include <queue>

#include "edl/scheduler/policies/all.h"
#include "edl/scheduler/settle.h"
#include "edl/scheduler/sizes.h"

namespace edl::scheduler {
namespace {

// Filling worker by worker is the same as filling by level, in whole workers: the next one goes to
// the job with least slots for its weight.
Sizes fill(const Snapshot& snapshot) {
  Sizes sizes(snapshot.jobs.size(), 0);
  std::uint64_t left = slots_of(snapshot);
  std::vector<std::uint64_t> quota;
  for (const Tenant& tenant : snapshot.tenants) quota.push_back(tenant.quota);
  struct Level {
    double share;
    std::size_t job;
    bool operator<(const Level& other) const {
      return share != other.share ? share > other.share : job > other.job;
    }
  };
  std::priority_queue<Level> levels;
  const auto take = [&](std::size_t j, std::uint32_t workers) {
    const Job& job = snapshot.jobs[j];
    const std::uint64_t need = std::uint64_t{workers} * job.slots_per_worker;
    if (sizes[j] + workers > job.max || need > left) return;
    if (job.tenant && need > quota[*job.tenant]) return;
    left -= need;
    if (job.tenant) quota[*job.tenant] -= need;
    sizes[j] += workers;
    levels.push({static_cast<double>(sizes[j]) * job.slots_per_worker / job.weight, j});
  };
  for (const std::size_t j : with_minimum(snapshot, by_running(snapshot))) {
    take(j, snapshot.jobs[j].min);
  }
  while (!levels.empty()) {
    const std::size_t j = levels.top().job;
    levels.pop();
    take(j, 1);
  }
  return sizes;
}

void decide(Draft& draft) {
  settle(draft, fill(draft.snapshot()));
  explain_sizes(draft, "equal shares by weight");
}

}  // namespace

const Policy kWfs{.name = "wfs", .about = "weighted fair share of the slots", .decide = decide};

}  // namespace edl::scheduler
