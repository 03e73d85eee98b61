// EDL's own policy: the mean time to completion is least when short jobs are served first and each
// slot goes where it adds most. For jobs that speed up alike, the best weight of a job depends only
// on its rank by remaining work, so that only the order has to be known. Worth of k workers:
//   w (s(k) f(k))^q,  w: rank (1: the longest),  s: speed-up over one worker,  f: what a start or
//   a change costs
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

constexpr std::size_t kFewNodes = 4;       // where whole nodes are too coarse
constexpr std::uint32_t kSinglesMax = 64;  // sizes of a job that differ by one: what is cheap
constexpr std::size_t kHardlyNodes = 2;    // where all but single workers are

// What a job is to the decision.
struct Candidate {
  SpeedCurve curve;
  double alone = 0;  // speed of its smallest size by that size
  double work = 0;   // seconds of one worker that it has left, or a guess of them
  double place = 0;  // by which it is shorter or longer than others: its work, unless it is pressed
  double weight = 1;
};

class Decision {
 public:
  explicit Decision(Draft& draft) : draft_(draft), snapshot_(draft.snapshot()) {
    for (const Job& job : snapshot_.jobs) {
      SpeedCurve curve(job);
      const double alone = curve.at(job.min, nodes(job, job.min)) / job.min;
      const double work = job.remaining && job.tried > 0 ? *job.remaining / alone : guess(job);
      candidates_.push_back({std::move(curve), alone, work, is_pressed(snapshot_, job) ? 0 : work});
    }
    weigh();
  }

  void run() {
    std::vector<Bid> bids(snapshot_.jobs.size());
    for (const std::size_t j : admitted(snapshot_, order()))
      bids[j] = bid(j, sizes(snapshot_.jobs[j]));
    Sizes sizes = divide(snapshot_, bids);
    settle(draft_, hand_out_the_rest(std::move(sizes)));
    explain();
  }

 private:
  std::uint32_t nodes(const Job& job, std::uint32_t workers) const {
    return packed_nodes(snapshot_, job, workers);
  }
  // Without a declared length: who was not measured yet is taken to be the shortest, so that it
  // starts at once; a young job and one that had nothing yet tell nothing, so they are alike; of
  // the others the newest is the shortest. A job that turned out to be long is taken to end at the
  // next level of service. Its part to there counts in the third power, so that the nearest one
  // stands out: long ones then end one after the other, not all at last.
  double guess(const Job& job) const {
    if (job.tried == 0) return 0;
    if (job.attained_s == 0) return kParameters.young_s;
    if (job.attained_s < kParameters.long_s) {
      return std::max(snapshot_.now - job.submitted, kParameters.young_s);
    }
    double level = kParameters.long_s;
    while (level <= job.attained_s) level *= kParameters.level_growth;
    const double left = 1 - job.attained_s / level;
    return level * left * left * left;
  }
  JobOrder order() const {
    JobOrder by_work = by_submission(snapshot_);
    std::stable_sort(by_work.begin(), by_work.end(), [&](std::size_t a, std::size_t b) {
      if (snapshot_.jobs[a].priority != snapshot_.jobs[b].priority) {
        return snapshot_.jobs[a].priority > snapshot_.jobs[b].priority;
      }
      return candidates_[a].place < candidates_[b].place;
    });
    return by_work;
  }
  void weigh() {
    JobOrder longest = by_submission(snapshot_);
    std::stable_sort(longest.begin(), longest.end(), [&](std::size_t a, std::size_t b) {
      return candidates_[a].place > candidates_[b].place;
    });
    // Where the order is a guess, those that seem shorter count as well, the less the shorter: the
    // rank that may be expected instead of one that is sure.
    double shorter = 0;
    for (std::size_t r = longest.size(); r-- > 0;) {
      const Job& job = snapshot_.jobs[longest[r]];
      Candidate& candidate = candidates_[longest[r]];
      const double part = std::pow(std::max(candidate.place, 1.0), kParameters.certainty);
      const double rank = static_cast<double>(r + 1) + (job.remaining ? 0 : shorter / part);
      candidate.weight = rank * job.weight * job.utilisation;
      shorter += part;
    }
  }

  // What is left of a speed-up when the job stands still for a change, which has to pay within the
  // time that its sizes have lasted so far.
  double change_factor(const Job& job, const Candidate& candidate) const {
    if (!is_running(job)) return 1;
    const double cost = job.change_cost_s;
    const std::uint32_t has = workers_of(job.current);
    const double speed =
        candidate.curve.at(has, static_cast<std::uint32_t>(job.current.size())) / candidate.alone;
    const double age = snapshot_.now - job.submitted;
    double horizon = std::max({kParameters.horizon_s, kParameters.horizon_changes * cost,
                               kParameters.horizon_share * age / (1 + job.changes)});
    if (job.remaining) horizon = std::min(horizon, candidate.work / speed);
    const double by_horizon = 1 - cost / std::max(horizon, 1e-9);
    const double by_history = (age - job.changes * cost) / (age + cost);
    return std::clamp(std::min(by_horizon, by_history), 0.0, 1.0);
  }
  // Of a job with a known length: k slots stand still for a change, and as long again when it has
  // ended and they are not handed on yet. A short job is not worth many slots.
  static double short_factor(const Job& job, const Candidate& candidate, double speed) {
    if (!job.remaining || job.tried == 0) return 1;
    const double idle = kParameters.idle_changes * job.change_cost_s;
    return candidate.work / std::max(candidate.work + idle * speed, 1e-9);
  }
  // Whether so many workers to the end would cost more slot seconds than the job may.
  static bool is_too_dear(const Job& job, std::uint32_t workers, double per_s) {
    if (!job.price_max || !job.remaining) return false;
    const double slots = static_cast<double>(workers) * job.slots_per_worker;
    return job.attained_s + slots * *job.remaining / std::max(per_s, 1e-12) > *job.price_max;
  }
  // Slots that such sizes leave over on few nodes, or where a quota cuts a job short, go by single
  // workers. Elsewhere there are hardly any, and changes for them cost more than they gain.
  Sizes hand_out_the_rest(Sizes sizes) const {
    std::uint64_t left = slots_of(snapshot_);
    for (std::size_t j = 0; j < sizes.size(); ++j) {
      left -= std::uint64_t{sizes[j]} * snapshot_.jobs[j].slots_per_worker;
    }
    const auto has_quota = [](const Tenant& tenant) { return tenant.quota != kNoQuota; };
    const bool cut = std::any_of(snapshot_.tenants.begin(), snapshot_.tenants.end(), has_quota);
    if (left == 0 || (snapshot_.nodes.size() > kFewNodes && !cut)) return sizes;
    std::vector<Bid> bids(sizes.size());
    for (std::size_t j = 0; j < sizes.size(); ++j) {
      const Job& job = snapshot_.jobs[j];
      if (sizes[j] > 0) bids[j] = bid(j, beyond(job, sizes[j], left / job.slots_per_worker));
    }
    return divide(snapshot_, bids);
  }
  std::uint32_t most_tried(const Job& job) const {
    return std::max(kParameters.growth * job.tried, node_room(snapshot_, job));
  }
  std::vector<std::uint32_t> beyond(const Job& job, std::uint32_t has, std::uint64_t more) const {
    std::vector<std::uint32_t> out{has};
    const std::uint32_t node = node_room(snapshot_, job);
    const std::uint64_t step = std::min<std::uint64_t>({more, node - 1, kSinglesMax});
    const std::uint64_t most = std::min(job.max, most_tried(job));
    for (std::uint64_t k = has + 1; k <= std::min(has + step, most); ++k) {
      const auto size = static_cast<std::uint32_t>(k);
      if (useful_size(job.logical_workers, size) == size) out.push_back(size);
    }
    return out;
  }
  Bid bid(std::size_t j, const std::vector<std::uint32_t>& sizes) const {
    const Job& job = snapshot_.jobs[j];
    const Candidate& candidate = candidates_[j];
    const double factor = change_factor(job, candidate);
    const std::uint32_t has = workers_of(job.current);
    const auto has_nodes = static_cast<std::uint32_t>(job.current.size());
    const double now = has == 0 ? 0 : candidate.curve.at(has, has_nodes);
    Bid out{sizes.front(), {}};
    for (const std::uint32_t k : sizes) {
      const double per_s = candidate.curve.at(k, k == has ? has_nodes : nodes(job, k));
      // What the rules would not let it grow to is not kept from others.
      if (has > 0 && k > std::max(has, job.min) && !pays(snapshot_, job, now, per_s)) continue;
      if (k > job.min && is_too_dear(job, k, per_s)) continue;
      double speed = per_s / candidate.alone;
      if (k != has) speed *= std::min(factor, short_factor(job, candidate, speed));
      out.options.push_back({k, candidate.weight * std::pow(speed, kParameters.power)});
    }
    return out;
  }
  // The minimum, powers of two and all of a node, whole nodes, and what it has: sizes that leave no
  // crumbs on nodes, and only useful ones.
  std::vector<std::uint32_t> sizes(const Job& job) const {
    const std::uint32_t node = node_room(snapshot_, job);
    const std::uint32_t most = std::clamp(most_tried(job), job.min, job.max);
    std::vector<std::uint32_t> out{job.min, workers_of(job.current), std::min(node, most)};
    const bool all = snapshot_.nodes.size() <= kHardlyNodes && node <= kSinglesMax;
    for (std::uint32_t k = 1; k < std::min(node, most); k += all ? 1 : k) out.push_back(k);
    for (std::uint32_t k = 2 * node; k <= most; k += std::max(node, k / 8 / node * node)) {
      out.push_back(k);
    }
    // On few nodes whole ones are too coarse: there halves are looked at, too.
    const std::uint32_t half = std::max(node / 2, 1U);
    if (snapshot_.nodes.size() <= kFewNodes) {
      for (std::uint32_t k = node + half; k <= most; k += half) out.push_back(k);
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
        draft_.explain(j, text(had > 0 ? "stops" : "waits", ": its minimum of ",
                               snapshot_.jobs[j].min, " is not left by those before it"));
      } else {
        const char* const why = had == has ? ", " : ": there slots add most, ";
        draft_.explain(j, text(change_text(had, has), why, rank));
      }
    }
  }

  Draft& draft_;
  const Snapshot& snapshot_;
  std::vector<Candidate> candidates_;
};

void decide(Draft& draft) { Decision(draft).run(); }

}  // namespace

const Policy kOurs{.name = "ours",
                   .about = "least mean completion time, nobody starves; batches adapt",
                   .decide = decide,
                   .adapts_batch = true,
                   .has_rules = true};

}  // namespace edl::scheduler
