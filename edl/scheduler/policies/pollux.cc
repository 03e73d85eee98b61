// Pollux (Qiao et al., 2021): the power mean with exponent -1 of the jobs' speed-ups over an equal
// share is greatest. Its authors search with a genetic algorithm; here the slots are divided step
// by step, which reaches the same objective without chance.
#include <algorithm>
#include <cmath>

#include "edl/scheduler/division.h"
#include "edl/scheduler/policies/all.h"
#include "edl/scheduler/settle.h"
#include "edl/scheduler/speed.h"

namespace edl::scheduler {
namespace {

constexpr double kTiny = 1e-3;        // added to every speed-up, so that none is no infinite loss
constexpr std::uint32_t kGrowth = 2;  // times the largest size that was measured
constexpr std::uint32_t kNodesMax = 16;

// What is left of the speed-up when the job restarts.
double restart_factor(const Job& job, double now) {
  const double age = now - job.submitted;
  const double cost = job.change_cost_s;
  return std::max(age - job.changes * cost, 0.0) / (age + cost);
}

Bid bid_of(const Snapshot& snapshot, const Job& job, double fair) {
  const SpeedCurve curve(job);
  const auto share = static_cast<std::uint32_t>(std::ceil(fair));
  const bool unknown = job.throughput.empty();
  const double base = unknown ? share : curve.at(share, packed_nodes(snapshot, job, share));
  const double factor = restart_factor(job, snapshot.now);
  const double per_node =
      static_cast<double>(snapshot.nodes.size()) / static_cast<double>(slots_of(snapshot));
  const std::uint32_t node = node_room(snapshot, job);
  const std::uint32_t most =
      std::min({job.max, std::max(kGrowth * job.tried, 1U), kNodesMax * node});
  const std::uint32_t now = workers_of(job.current);
  Bid bid{0, {{0, -1 / kTiny}}};
  for (std::uint32_t k = job.min; k <= std::max(most, job.min); ++k) {
    const std::uint32_t nodes =
        k == now ? static_cast<std::uint32_t>(job.current.size()) : packed_nodes(snapshot, job, k);
    double speedup = (unknown ? k : curve.at(k, nodes)) / base;
    if (k != now) speedup *= factor;
    bid.options.push_back({k, -1 / (speedup * per_node + kTiny)});
  }
  return bid;
}

void decide(Draft& draft) {
  const Snapshot& snapshot = draft.snapshot();
  if (snapshot.jobs.empty() || snapshot.nodes.empty()) return;
  const double fair =
      static_cast<double>(slots_of(snapshot)) / static_cast<double>(snapshot.jobs.size());
  std::vector<Bid> bids;
  for (const Job& job : snapshot.jobs) bids.push_back(bid_of(snapshot, job, fair));
  settle(draft, divide(snapshot, bids));
  explain_sizes(draft, "the mean speed-up over an equal share is greatest");
}

}  // namespace

const Policy kPollux{.name = "pollux",
                     .about = "greatest mean speed-up over an equal share, batches adapt",
                     .decide = decide,
                     .adapts_batch = true};

}  // namespace edl::scheduler
