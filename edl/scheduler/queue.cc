#include "edl/scheduler/queue.h"

#include "edl/base/text.h"

namespace edl::scheduler {

void run_in_order(Draft& draft, const JobOrder& order, const std::string& because) {
  const Snapshot& snapshot = draft.snapshot();
  const std::uint64_t slots = slots_of(snapshot);
  std::uint64_t left = slots;
  std::vector<std::uint64_t> quota;
  for (const Tenant& tenant : snapshot.tenants) quota.push_back(tenant.quota);
  JobOrder chosen;
  for (const std::size_t j : order) {
    const Job& job = snapshot.jobs[j];
    const std::uint64_t need = std::uint64_t{wanted_workers(job, slots)} * job.slots_per_worker;
    const bool fits = need <= left && (!job.tenant || need <= quota[*job.tenant]);
    if (!fits) {
      draft.explain(j, text(is_running(job) ? "stops" : "waits", ": its ", need,
                            " slots are not left, ", because));
      continue;
    }
    chosen.push_back(j);
    left -= need;
    if (job.tenant) quota[*job.tenant] -= need;
  }
  for (const std::size_t j : chosen) {
    const Job& job = snapshot.jobs[j];
    if (workers_of(job.current) == wanted_workers(job, slots) && draft.put(j, job.current)) {
      draft.explain(j, text("goes on, ", because));
    }
  }
  for (const std::size_t j : chosen) {
    if (draft.workers(j) > 0) continue;
    const bool placed = draft.place(j, wanted_workers(snapshot.jobs[j], slots), Packing::kMostFree);
    draft.explain(j, placed ? text("starts, ", because)
                            : text("waits: no nodes have its slots together, ", because));
  }
}

}  // namespace edl::scheduler
