// First in, first out: whoever came first gets what it wants and keeps it; who does not fit holds
// up all behind it.
#include "edl/scheduler/policies/all.h"
#include "edl/scheduler/sizes.h"

namespace edl::scheduler {
namespace {

void decide(Draft& draft) {
  const Snapshot& snapshot = draft.snapshot();
  const std::uint64_t slots = slots_of(snapshot);
  const JobOrder order = by_submission(snapshot);
  for (const std::size_t j : order) {
    if (is_running(snapshot.jobs[j]) && draft.put(j, snapshot.jobs[j].current)) {
      draft.explain(j, "keeps what it has until its end");
    }
  }
  bool blocked = false;
  for (const std::size_t j : order) {
    if (draft.workers(j) > 0) continue;
    const Job& job = snapshot.jobs[j];
    if (blocked || !draft.place(j, wanted_workers(job, slots), Packing::kMostFree)) {
      draft.explain(j, blocked ? "waits: others came first" : "waits: too few slots are free");
      blocked = true;
    } else {
      draft.explain(j, "starts: it came first");
    }
  }
}

}  // namespace

const Policy kFifo{.name = "fifo",
                   .about = "first in, first out; nobody is resized or stopped",
                   .decide = decide,
                   .resizes = false};

}  // namespace edl::scheduler
