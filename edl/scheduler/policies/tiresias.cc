// Tiresias: jobs that had less service go first; none is resized.
#include <algorithm>

#include "edl/scheduler/policies/all.h"
#include "edl/scheduler/policies/tiresias_queues.h"
#include "edl/scheduler/queue.h"

namespace edl::scheduler {
namespace {

constexpr double kDemotedAtSlotSeconds = 16 * 3600;

void decide(Draft& draft) {
  run_in_order(draft, tiresias_order(draft), "those that had less service first");
}

}  // namespace

JobOrder tiresias_order(Draft& draft) {
  const Snapshot& snapshot = draft.snapshot();
  JobOrder first;
  JobOrder second;
  std::vector<double> came(snapshot.jobs.size());
  for (const std::size_t j : by_submission(snapshot)) {
    const Job& job = snapshot.jobs[j];
    if (!job.note && job.attained_s < kDemotedAtSlotSeconds) {
      first.push_back(j);
      continue;
    }
    came[j] = job.note.value_or(snapshot.now);
    draft.note(j, came[j]);
    second.push_back(j);
  }
  std::stable_sort(second.begin(), second.end(),
                   [&](std::size_t a, std::size_t b) { return came[a] < came[b]; });
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

const Policy kTiresias{.name = "tiresias",
                       .about = "two queues by attained service, 16 slot hours apart",
                       .decide = decide,
                       .resizes = false};

}  // namespace edl::scheduler
