// Shortest remaining time first, with preemption. Where jobs do not tell their length, whoever had
// least goes first, which is what can be known.
#include <algorithm>

#include "edl/scheduler/policies/all.h"
#include "edl/scheduler/queue.h"
#include "edl/scheduler/speed.h"

namespace edl::scheduler {
namespace {

void decide(Draft& draft) {
  const Snapshot& snapshot = draft.snapshot();
  const std::uint64_t slots = slots_of(snapshot);
  std::vector<double> left;
  for (const Job& job : snapshot.jobs) {
    const std::uint32_t workers = wanted_workers(job, slots);
    const double speed = SpeedCurve(job).at(workers, packed_nodes(snapshot, job, workers));
    left.push_back(job.remaining ? *job.remaining / speed : job.attained_s);
  }
  JobOrder order = by_submission(snapshot);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    if (snapshot.jobs[a].priority != snapshot.jobs[b].priority) {
      return snapshot.jobs[a].priority > snapshot.jobs[b].priority;
    }
    return left[a] < left[b];
  });
  run_in_order(draft, order, "the shortest first");
}

}  // namespace

const Policy kSrtf{.name = "srtf",
                   .about = "shortest remaining time first, with preemption",
                   .decide = decide,
                   .resizes = false};

}  // namespace edl::scheduler
