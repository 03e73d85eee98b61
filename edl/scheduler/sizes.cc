#include "edl/scheduler/sizes.h"

#include <algorithm>
#include <numeric>

#include "edl/base/text.h"

namespace edl::scheduler {
namespace {

constexpr double kShortestGuessSeconds = 600;

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

std::uint32_t packed_nodes(const Snapshot& snapshot, const Job& job, std::uint32_t workers) {
  std::uint32_t most = 1;
  if (!snapshot.nodes.empty()) most = snapshot.nodes.front().slots / job.slots_per_worker;
  most = std::max(most, 1U);
  return (workers + most - 1) / most;
}

double remaining_work(const Job& job, double speed_alone) {
  if (job.remaining) return *job.remaining;
  return speed_alone * std::max(job.attained_s, kShortestGuessSeconds);
}

void explain_sizes(Draft& draft, const std::string& because) {
  const auto& jobs = draft.snapshot().jobs;
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    const std::uint32_t had = workers_of(jobs[j].current);
    const std::uint32_t has = draft.workers(j);
    if (has == 0) {
      draft.explain(j, text(had > 0 ? "stops: " : "waits: ", because));
    } else if (has == had) {
      draft.explain(j, text("keeps ", has, ": ", because));
    } else {
      draft.explain(j, text(had == 0    ? "starts with "
                            : has > had ? "grows to "
                                        : "shrinks to ",
                            has, ": ", because));
    }
  }
}

}  // namespace edl::scheduler
