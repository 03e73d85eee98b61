// Elastic Tiresias: the queues of Tiresias decide who runs. While jobs wait, running ones give
// workers back, those first whose worker adds least; what stays idle goes to whoever gains most by
// it, as long as half of a worker's speed arrives.
#include <algorithm>

#include "edl/scheduler/division.h"
#include "edl/scheduler/policies/all.h"
#include "edl/scheduler/policies/tiresias_queues.h"
#include "edl/scheduler/settle.h"
#include "edl/scheduler/speed.h"

namespace edl::scheduler {
namespace {

constexpr double kEfficiencyMin = 0.5;

// Worth is speed-up: the steepest steps first means that the flattest are given back first.
Bid bid_of(const Snapshot& snapshot, const Job& job) {
  const SpeedCurve curve(job);
  const double alone = curve.at(job.min, packed_nodes(snapshot, job, job.min)) / job.min;
  Bid bid{job.min, {}};
  for (std::uint32_t k = job.min; k <= job.max; ++k) {
    const double speedup = curve.at(k, packed_nodes(snapshot, job, k)) / alone;
    if (k > job.min && speedup / k < kEfficiencyMin) break;
    bid.options.push_back({k, speedup});
  }
  return bid;
}

void decide(Draft& draft) {
  const Snapshot& snapshot = draft.snapshot();
  std::uint64_t left = slots_of(snapshot);
  std::vector<std::uint64_t> quota;
  for (const Tenant& tenant : snapshot.tenants) quota.push_back(tenant.quota);
  std::vector<Bid> bids(snapshot.jobs.size());
  for (const std::size_t j : tiresias_order(draft)) {
    const Job& job = snapshot.jobs[j];
    const std::uint64_t need = std::uint64_t{job.min} * job.slots_per_worker;
    if (need > left || (job.tenant && need > quota[*job.tenant])) continue;
    left -= need;
    if (job.tenant) quota[*job.tenant] -= need;
    bids[j] = bid_of(snapshot, job);
  }
  settle(draft, divide(snapshot, bids));
  explain_sizes(draft, "those that had less service run, workers go where they add most");
}

}  // namespace

const Policy kTiresiasElastic{.name = "tiresias-elastic",
                              .about = "Tiresias, with jobs that shrink for others and fill gaps",
                              .decide = decide};

}  // namespace edl::scheduler
