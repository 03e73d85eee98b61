// EDL's own policy: the mean time to completion is least when short jobs are served first and each
// slot goes where it adds most. For jobs that speed up alike, the best weight of a job depends only
// on its rank by remaining work, so that only the order has to be known. Worth of k workers:
//   w (s(k) f(k))^q,  w: rank (1: the longest),  s: speed-up over one worker,  f: what a change
//   costs
#include <algorithm>
#include <cmath>

#include "edl/base/text.h"
#include "edl/scheduler/division.h"
#include "edl/scheduler/policies/all.h"
#include "edl/scheduler/policies/ours_parameters.h"
#include "edl/scheduler/settle.h"
#include "edl/scheduler/speed.h"
#include "edl/scheduler/steady.h"

namespace edl::scheduler {
namespace {

constexpr std::size_t kFewNodes = 4;

// What a job is to the decision.
struct Candidate {
  SpeedCurve curve;
  double alone = 0;  // speed of its smallest size by that size
  double work = 0;   // seconds of one worker that it has left, or a guess of them
  double weight = 1;
};

class Decision {
 public:
  explicit Decision(Draft& draft) : draft_(draft), snapshot_(draft.snapshot()) {
    for (const Job& job : snapshot_.jobs) {
      SpeedCurve curve(job);
      const double alone = curve.at(job.min, nodes(job, job.min)) / job.min;
      const double work = job.remaining && job.tried > 0 ? *job.remaining / alone : guess(job);
      candidates_.push_back({std::move(curve), alone, work});
      declared_ = declared_ || job.remaining;
    }
    rank();
  }

  void run() {
    std::vector<Bid> bids(snapshot_.jobs.size());
    for (const std::size_t j : admitted(snapshot_, order())) bids[j] = bid(j);
    settle(draft_, divide(snapshot_, bids));
    explain();
  }

 private:
  std::uint32_t nodes(const Job& job, std::uint32_t workers) const {
    return packed_nodes(snapshot_, job, workers);
  }
  // Without a declared length: who came last is taken to be the shortest, and who has not been
  // measured yet the shortest of all, so that it starts at once.
  double guess(const Job& job) const {
    return job.tried == 0 ? 0 : kParameters.guess_floor_s + (snapshot_.now - job.submitted);
  }
  JobOrder order() const {
    JobOrder by_work = by_submission(snapshot_);
    std::stable_sort(by_work.begin(), by_work.end(), [&](std::size_t a, std::size_t b) {
      if (snapshot_.jobs[a].priority != snapshot_.jobs[b].priority) {
        return snapshot_.jobs[a].priority > snapshot_.jobs[b].priority;
      }
      return candidates_[a].work < candidates_[b].work;
    });
    return by_work;
  }
  void rank() {
    JobOrder longest = by_submission(snapshot_);
    std::stable_sort(longest.begin(), longest.end(), [&](std::size_t a, std::size_t b) {
      return candidates_[a].work > candidates_[b].work;
    });
    for (std::size_t r = 0; r < longest.size(); ++r) {
      const Job& job = snapshot_.jobs[longest[r]];
      candidates_[longest[r]].weight = static_cast<double>(r + 1) * job.weight * job.utilisation;
    }
  }

  double change_factor(const Job& job, const Candidate& candidate) const {
    if (!is_running(job)) return 1;
    const double cost = job.change_cost_s;
    const std::uint32_t has = workers_of(job.current);
    const double speed =
        candidate.curve.at(has, static_cast<std::uint32_t>(job.current.size())) / candidate.alone;
    double horizon = std::max(kParameters.horizon_s, kParameters.horizon_changes * cost);
    if (job.remaining) horizon = std::min(horizon, candidate.work / speed);
    const double age = snapshot_.now - job.submitted;
    const double by_horizon = 1 - cost / std::max(horizon, 1e-9);
    const double by_history = (age - job.changes * cost) / (age + cost);
    return std::clamp(std::min(by_horizon, by_history), 0.0, 1.0);
  }
  Bid bid(std::size_t j) const {
    const Job& job = snapshot_.jobs[j];
    const Candidate& candidate = candidates_[j];
    const double factor = change_factor(job, candidate);
    const double power = declared_ ? kParameters.power_declared : kParameters.power_blind;
    const std::uint32_t has = workers_of(job.current);
    Bid out{job.min, {}};
    for (const std::uint32_t k : sizes(job)) {
      const std::uint32_t on =
          k == has ? static_cast<std::uint32_t>(job.current.size()) : nodes(job, k);
      const double speed = candidate.curve.at(k, on) / candidate.alone * (k == has ? 1 : factor);
      out.options.push_back({k, candidate.weight * std::pow(speed, power)});
    }
    return out;
  }
  // The minimum, what fits a node, whole nodes, and what it has: only useful ones.
  std::vector<std::uint32_t> sizes(const Job& job) const {
    const std::uint32_t node = node_room(snapshot_, job);
    const std::uint32_t most =
        std::clamp(std::max(kParameters.growth * job.tried, node), job.min, job.max);
    std::vector<std::uint32_t> out{job.min, workers_of(job.current)};
    // Few nodes cannot be packed badly: there every size is looked at.
    const std::uint32_t single = snapshot_.nodes.size() <= kFewNodes ? most : std::min(node, most);
    for (std::uint32_t k = 1; k <= single; ++k) out.push_back(k);
    for (std::uint32_t k = 2 * node; k <= most; k += std::max(node, k / 8 / node * node)) {
      out.push_back(k);
    }
    for (std::uint32_t& k : out) k = std::max(useful_size(job.logical_workers, k), job.min);
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
    std::erase_if(out, [&](std::uint32_t k) { return k < job.min || k > job.max; });
    return out;
  }
  void explain() {
    for (std::size_t j = 0; j < snapshot_.jobs.size(); ++j) {
      const std::uint32_t had = workers_of(snapshot_.jobs[j].current);
      const std::uint32_t has = draft_.workers(j);
      const auto rank = text("of weight ", std::llround(candidates_[j].weight), " among ",
                             snapshot_.jobs.size(), " jobs");
      if (has == 0) {
        draft_.explain(j, text("waits: its minimum of ", snapshot_.jobs[j].min,
                               " is not left by those before it"));
      } else if (had == has) {
        draft_.explain(j, text("keeps ", has, ", ", rank));
      } else {
        draft_.explain(j, text(had == 0    ? "starts with "
                               : had < has ? "grows to "
                                           : "shrinks to ",
                               has, ": there slots add most, ", rank));
      }
    }
  }

  Draft& draft_;
  const Snapshot& snapshot_;
  std::vector<Candidate> candidates_;
  bool declared_ = false;
};

void decide(Draft& draft) { Decision(draft).run(); }

}  // namespace

const Policy kOurs{.name = "ours",
                   .about = "least mean completion time, nobody starves; batches adapt",
                   .decide = decide,
                   .adapts_batch = true,
                   .has_rules = true};

}  // namespace edl::scheduler
