// Optimus (Peng et al., 2018): everyone has its minimum, then each further worker goes where it
// shortens the time left most, R (1/thr(k) - 1/thr(k + 1)).
#include <algorithm>

#include "edl/scheduler/policies/all.h"
#include "edl/scheduler/sizes.h"
#include "edl/scheduler/speed.h"

namespace edl::scheduler {
namespace {

class Division {
 public:
  explicit Division(const Snapshot& snapshot) : snapshot_(snapshot), sizes_(snapshot.jobs.size()) {
    left_ = slots_of(snapshot);
    for (const Tenant& tenant : snapshot.tenants) quota_.push_back(tenant.quota);
    for (const Job& job : snapshot.jobs) curves_.emplace_back(job);
    gain_.resize(sizes_.size());
  }

  Sizes divide() {
    for (const std::size_t j : by_submission(snapshot_)) begin(j);
    while (true) {
      const auto best = std::max_element(gain_.begin(), gain_.end());
      if (best == gain_.end() || *best <= 0) return sizes_;
      const auto j = static_cast<std::size_t>(best - gain_.begin());
      if (!take(j, 1)) {
        gain_[j] = 0;
        continue;
      }
      ++sizes_[j];
      gain_[j] = gain(j);
    }
  }

 private:
  bool take(std::size_t j, std::uint32_t workers) {
    const Job& job = snapshot_.jobs[j];
    const std::uint64_t slots = std::uint64_t{workers} * job.slots_per_worker;
    if (slots > left_ || (job.tenant && slots > quota_[*job.tenant])) return false;
    left_ -= slots;
    if (job.tenant) quota_[*job.tenant] -= slots;
    return true;
  }
  void begin(std::size_t j) {
    if (!take(j, snapshot_.jobs[j].min)) return;
    sizes_[j] = snapshot_.jobs[j].min;
    gain_[j] = gain(j);
  }
  double time(std::size_t j, std::uint32_t workers) const {
    const Job& job = snapshot_.jobs[j];
    return 1 / curves_[j].at(workers, packed_nodes(snapshot_, job, workers));
  }
  double gain(std::size_t j) const {
    const Job& job = snapshot_.jobs[j];
    if (sizes_[j] + 1 > job.max || left_ < job.slots_per_worker) return 0;
    return (time(j, sizes_[j]) - time(j, sizes_[j] + 1)) * remaining_work(job, 1 / time(j, 1));
  }

  const Snapshot& snapshot_;
  std::uint64_t left_ = 0;
  std::vector<std::uint64_t> quota_;
  std::vector<SpeedCurve> curves_;
  Sizes sizes_;
  std::vector<double> gain_;
};

void decide(Draft& draft) {
  const Snapshot& snapshot = draft.snapshot();
  const Sizes sizes = Division(snapshot).divide();
  for (std::size_t j = 0; j < sizes.size(); ++j) {
    if (sizes[j] > 0 && workers_of(snapshot.jobs[j].current) == sizes[j]) {
      draft.put(j, snapshot.jobs[j].current);
    }
  }
  JobOrder order = by_submission(snapshot);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return sizes[a] < sizes[b]; });
  for (const std::size_t j : order) {
    if (sizes[j] > 0 && draft.workers(j) == 0) draft.place(j, sizes[j], Packing::kMostFree);
  }
  explain_sizes(draft, "each worker goes where it shortens the time left most");
}

}  // namespace

const Policy kOptimus{.name = "optimus",
                      .about = "each worker goes where it shortens the remaining time most",
                      .decide = decide};

}  // namespace edl::scheduler
