#include "edl/scheduler/sizes.h"

#include <algorithm>
#include <numeric>

#include "edl/base/text.h"

namespace edl::scheduler {
namespace {

constexpr double kShortestGuessSeconds = 600;
constexpr std::size_t kNodesLookedAt = 64;  // clusters are of few kinds of nodes

}  // namespace

JobOrder by_submission(const Snapshot& snapshot) {
  JobOrder order(snapshot.jobs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const Job& one = snapshot.jobs[a];
    const Job& other = snapshot.jobs[b];
    if (one.priority != other.priority) return one.priority > other.priority;
    return one.submitted < other.submitted;
  });
  return order;
}

JobOrder by_running(const Snapshot& snapshot) {
  JobOrder order = by_submission(snapshot);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const Job& one = snapshot.jobs[a];
    const Job& other = snapshot.jobs[b];
    if (one.priority != other.priority) return one.priority > other.priority;
    return is_running(one) && !is_running(other);
  });
  return order;
}

JobOrder with_minimum(const Snapshot& snapshot, const JobOrder& order) {
  std::uint64_t left = slots_of(snapshot);
  std::vector<std::uint64_t> quota;
  for (const Tenant& tenant : snapshot.tenants) quota.push_back(tenant.quota);
  JobOrder in;
  for (const std::size_t j : order) {
    const Job& job = snapshot.jobs[j];
    const std::uint64_t need = std::uint64_t{job.min} * job.slots_per_worker;
    if (need > left || (job.tenant && need > quota[*job.tenant])) continue;
    left -= need;
    if (job.tenant) quota[*job.tenant] -= need;
    in.push_back(j);
  }
  return in;
}

std::uint32_t node_room(const Snapshot& snapshot, const Job& job) {
  const std::size_t looked_at = std::min(snapshot.nodes.size(), kNodesLookedAt);
  std::uint32_t most = 0;
  for (std::size_t n = 0; n < looked_at; ++n) most = std::max(most, snapshot.nodes[n].slots);
  return std::max(most / job.slots_per_worker, 1U);
}

std::uint32_t packed_nodes(const Snapshot& snapshot, const Job& job, std::uint32_t workers) {
  const std::uint32_t room = node_room(snapshot, job);
  return (workers + room - 1) / room;
}

double remaining_work(const Job& job, double speed_alone) {
  if (job.remaining) return *job.remaining;
  return speed_alone * std::max(job.attained_s, kShortestGuessSeconds);
}

std::string change_text(std::uint32_t had, std::uint32_t has) {
  if (has == had) return text("keeps ", has);
  return text(had == 0 ? "starts with " : has > had ? "grows to " : "shrinks to ", has);
}

void explain_sizes(Draft& draft, const std::string& because) {
  const auto& jobs = draft.snapshot().jobs;
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    const std::uint32_t had = workers_of(jobs[j].current);
    const std::uint32_t has = draft.workers(j);
    if (has == 0) {
      draft.explain(j, text(had > 0 ? "stops: " : "waits: ", because));
    } else {
      draft.explain(j, text(change_text(had, has), ": ", because));
    }
  }
}

}  // namespace edl::scheduler
