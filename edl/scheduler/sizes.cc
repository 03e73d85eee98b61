#include "edl/scheduler/sizes.h"

#include <algorithm>
#include <numeric>

#include "edl/base/text.h"

namespace edl::scheduler {
namespace {

constexpr double kShortestGuessSeconds = 600;

// Brings the job to its size: from where it is, or packed anew when that takes fewer nodes.
bool move_to(Draft& draft, std::size_t job, std::uint32_t workers) {
  const Shares before = draft.shares(job);
  const bool grown = draft.resize(job, workers);
  if (grown && before.empty()) return true;
  const Shares near = draft.shares(job);
  if (grown && near.size() <= packed_nodes(draft.snapshot(), draft.snapshot().jobs[job], workers)) {
    return true;
  }
  const bool packed = draft.place(job, workers, Packing::kTight);
  if (packed && (!grown || draft.shares(job).size() < near.size())) return true;
  draft.put(job, grown ? near : before);
  return grown;
}

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

void settle(Draft& draft, const Sizes& sizes) {
  const auto& jobs = draft.snapshot().jobs;
  JobOrder changed;
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    const std::uint32_t has = workers_of(jobs[j].current);
    if (sizes[j] == 0) continue;
    if (has >= sizes[j] && draft.put(j, jobs[j].current)) {
      if (has == sizes[j]) continue;
      draft.resize(j, sizes[j]);
      if (draft.shares(j).size() <= packed_nodes(draft.snapshot(), jobs[j], sizes[j])) continue;
    } else if (has > 0 && has < sizes[j]) {
      draft.put(j, jobs[j].current);
    }
    changed.push_back(j);
  }
  std::stable_sort(changed.begin(), changed.end(),
                   [&](std::size_t a, std::size_t b) { return sizes[a] > sizes[b]; });
  for (const std::size_t j : changed) {
    std::uint32_t workers = sizes[j];
    while (workers >= jobs[j].min && !move_to(draft, j, workers)) --workers;
  }
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
