#include "edl/scheduler/division.h"

#include <algorithm>
#include <queue>

namespace edl::scheduler {
namespace {

struct Step {
  double slope = 0;  // worth of a slot
  std::size_t job = 0;
  std::size_t option = 0;  // that it leads to
  bool operator<(const Step& other) const {
    return slope != other.slope ? slope < other.slope : job > other.job;
  }
};

class Division {
 public:
  Division(const Snapshot& snapshot, const std::vector<Bid>& bids)
      : snapshot_(snapshot), bids_(bids), at_(bids.size(), 0), left_(slots_of(snapshot)) {
    for (const Tenant& tenant : snapshot.tenants) quota_.push_back(tenant.quota);
    for (std::size_t j = 0; j < bids.size(); ++j) take(j, bids[j].floor);
  }

  Sizes run() {
    std::priority_queue<Step> steps;
    for (std::size_t j = 0; j < bids_.size(); ++j) push_next(steps, j, false);
    while (!steps.empty() && left_ > 0) {
      const Step step = steps.top();
      steps.pop();
      const bool fits_now = fits(step.job, step.option);
      if (fits_now) move(step.job, step.option);
      // A step that does not fit gives way to the steepest of the same job that does.
      push_next(steps, step.job, !fits_now);
    }
    Sizes sizes(bids_.size(), 0);
    for (std::size_t j = 0; j < bids_.size(); ++j) {
      if (!bids_[j].options.empty()) sizes[j] = bids_[j].options[at_[j]].workers;
    }
    return sizes;
  }

 private:
  std::uint64_t slots(std::size_t job, std::uint32_t workers) const {
    return std::uint64_t{workers} * snapshot_.jobs[job].slots_per_worker;
  }
  void take(std::size_t job, std::uint32_t workers) {
    left_ -= std::min(left_, slots(job, workers));
    const auto tenant = snapshot_.jobs[job].tenant;
    if (tenant) quota_[*tenant] -= std::min(quota_[*tenant], slots(job, workers));
  }
  std::uint32_t more(std::size_t job, std::size_t option) const {
    const auto& options = bids_[job].options;
    return options[option].workers - options[at_[job]].workers;
  }
  bool fits(std::size_t job, std::size_t option) const {
    const std::uint64_t need = slots(job, more(job, option));
    const auto tenant = snapshot_.jobs[job].tenant;
    return need <= left_ && (!tenant || need <= quota_[*tenant]);
  }
  void move(std::size_t job, std::size_t option) {
    take(job, more(job, option));
    at_[job] = option;
  }
  double slope(std::size_t job, std::size_t option) const {
    const auto& options = bids_[job].options;
    return (options[option].value - options[at_[job]].value) /
           static_cast<double>(slots(job, more(job, option)));
  }
  // The next corner of the hull: the steepest way up from where the job is.
  Step steepest(std::size_t job, bool must_fit) const {
    Step best{0, job, 0};
    for (std::size_t o = at_[job] + 1; o < bids_[job].options.size(); ++o) {
      if (must_fit && !fits(job, o)) break;
      const double here = slope(job, o);
      if (here > best.slope) best = {here, job, o};
    }
    return best;
  }
  void push_next(std::priority_queue<Step>& steps, std::size_t job, bool must_fit) const {
    const Step next = steepest(job, must_fit);
    if (next.slope > 0) steps.push(next);
  }

  const Snapshot& snapshot_;
  const std::vector<Bid>& bids_;
  std::vector<std::size_t> at_;
  std::uint64_t left_;
  std::vector<std::uint64_t> quota_;
};

}  // namespace

Sizes divide(const Snapshot& snapshot, const std::vector<Bid>& bids) {
  return Division(snapshot, bids).run();
}

}  // namespace edl::scheduler
