#include "edl/scheduler/steady.h"

#include <algorithm>
#include <limits>

#include "edl/base/text.h"
#include "edl/scheduler/headroom.h"
#include "edl/scheduler/speed.h"

namespace edl::scheduler {
namespace {

constexpr double kUnknownTimeLeftSeconds = 600;  // at least, of a job that tells nothing
constexpr double kSpeedNoise = 1e-9;             // of sums in another order

double speed_of(const Job& job, const Shares& shares) {
  return SpeedCurve(job).at(workers_of(shares), static_cast<std::uint32_t>(shares.size()));
}

// Seconds that the job goes on, as it is now.
double time_left(const Snapshot& snapshot, const Job& job, double speed) {
  if (job.remaining) return *job.remaining / std::max(speed, 1e-12);
  return std::max(snapshot.now - job.submitted, kUnknownTimeLeftSeconds);
}

class Steadying {
 public:
  Steadying(const Snapshot& snapshot, Plan& proposal, Others others)
      : snapshot_(snapshot),
        proposal_(proposal),
        others_(others),
        draft_(snapshot),
        kept_(snapshot.jobs.size()),
        still_(snapshot.jobs.size()) {}

  Plan run() {
    for (std::size_t j = 0; j < snapshot_.jobs.size(); ++j) keep_if_still(j);
    follow_all();
    // Mostly that is all. Otherwise everyone who runs is put where it is with its minimum, which
    // always fits, and the proposal is followed as far as there is room beside that.
    order_by_claim();
    if (!is_steady()) {
      begin_from_minimums();
      follow_by_claim();
      // Where those that were served first came to stand elsewhere at last, there may be room.
      if (!is_steady()) back_to_minimums();
    }
    for (std::size_t j = 0; j < snapshot_.jobs.size(); ++j) stay_if_it_does_not_pay(j);
    start_where_it_is_free();
    for (std::size_t j = 0; j < snapshot_.jobs.size(); ++j) finish(j);
    return std::move(draft_).finish();
  }

 private:
  const Shares& wanted(std::size_t j) const { return proposal_.allocations[j].workers; }

  // Jobs that may not change now, or do not gain by it.
  void keep_if_still(std::size_t j) {
    const Job& job = snapshot_.jobs[j];
    if (!is_running(job)) return;
    const std::string has = text("keeps ", workers_of(job.current), ": ");
    if (snapshot_.now < job.frozen_until) {
      still_[j] = keep(j, has + "it changed a moment ago");
    } else if (job.near_end) {
      still_[j] = keep(j, has + "it is near its end");
    } else if (!wanted(j).empty() && wanted(j) != job.current && !is_worth(job, wanted(j))) {
      keep(j, has + "a change costs more than it gains");
    }
  }
  // What was left of a change that paid may not pay any more.
  void stay_if_it_does_not_pay(std::size_t j) {
    const Job& job = snapshot_.jobs[j];
    const Shares got = draft_.shares(j);
    if (!is_running(job) || got.empty() || got == job.current || got == wanted(j)) return;
    if (is_worth(job, got)) return;
    if (draft_.put(j, job.current)) return;
    draft_.put(j, got);
    give_up_what_does_not_pay(j);
  }
  // Others have its old place. As many workers elsewhere, or else one fewer than it had.
  void give_up_what_does_not_pay(std::size_t j) {
    const Job& job = snapshot_.jobs[j];
    const auto useful = [&](std::uint32_t workers) {
      return std::max(useful_size(job.logical_workers, workers), job.min);
    };
    const std::uint32_t had = workers_of(job.current);
    if (draft_.workers(j) < had) return;
    draft_.resize(j, useful(had));
    if (!is_worth(job, draft_.shares(j))) draft_.resize(j, useful(had - 1));
  }
  // Fewer workers give to others; as many or more that are slower, on more nodes, are for nobody.
  bool is_worth(const Job& job, const Shares& next) const {
    const double per_s = speed_of(job, job.current);
    const double per_s_then = speed_of(job, next);
    const bool gives = workers_of(next) < workers_of(job.current);
    if (!gives && per_s_then < per_s * (1 - kSpeedNoise)) return false;
    return pays(snapshot_, job, per_s, per_s_then);
  }
  bool keep(std::size_t j, std::string reason) {
    if (!draft_.put(j, snapshot_.jobs[j].current)) return false;
    proposal_.allocations[j].reason = std::move(reason);
    kept_[j] = true;
    return true;
  }
  void follow_all() {
    JobOrder order = by_submission(snapshot_);
    JobOrder left;
    for (const std::size_t j : order) {
      if (!kept_[j] && !wanted(j).empty() && !draft_.put(j, wanted(j))) left.push_back(j);
    }
    // Who cannot follow stays where it is, before others of them look for room.
    for (const std::size_t j : left) draft_.put(j, snapshot_.jobs[j].current);
    for (const std::size_t j : left) approach(j, workers_of(wanted(j)));
  }
  // As close to so many as the room that is left allows, from what it has so far.
  void approach(std::size_t j, std::uint32_t aim) {
    const Job& job = snapshot_.jobs[j];
    const std::uint32_t has = draft_.workers(j);
    const std::uint32_t most = std::min(aim, has + draft_.room_for(j));
    for (std::uint32_t workers = most; workers >= job.min && workers > has; --workers) {
      const std::uint32_t useful = useful_size(job.logical_workers, workers);
      if (useful <= has || useful < job.min) return;
      if (draft_.resize(j, useful)) return;
    }
  }

  // Needed only where somebody is without workers. Of those with the same claim the ones that the
  // proposal has come first.
  void order_by_claim() {
    JobOrder order;
    JobOrder without;
    for (std::size_t j = 0; j < snapshot_.jobs.size(); ++j) {
      (draft_.workers(j) > 0 ? order : without).push_back(j);
    }
    if (without.empty()) return;
    order.insert(order.end(), without.begin(), without.end());
    claims_ = by_claim(snapshot_, order);
  }
  bool may_run(std::size_t j) const {
    const Job& job = snapshot_.jobs[j];
    return others_ == Others::kStart || is_running(job) || !wanted(j).empty() ||
           waited_s(snapshot_, job) >= kPatienceSecondsMax;
  }
  // What those with a lower claim cannot take from it.
  Shares held(std::size_t j) const {
    const Shares& has = draft_.shares(j);
    return still_[j] ? has : least_of(snapshot_.jobs[j], has);
  }
  // Whether nobody is without workers whose minimum could be had from those with a lower claim, or
  // from what others have above their minimum, and nobody is stopped for one of its own rank.
  bool is_steady() const {
    Headroom room(snapshot_);
    std::int64_t highest = std::numeric_limits<std::int64_t>::min();
    for (const std::size_t j : claims_) {
      const Job& job = snapshot_.jobs[j];
      if (draft_.workers(j) > 0) {
        room.take(job, held(j));
        if (!is_running(job)) highest = std::max(highest, rank_of(snapshot_, job));
        continue;
      }
      if (may_run(j) && room.fits_minimum(job)) return false;
      if (is_running(job) && highest <= job.priority) return false;
    }
    return true;
  }
  void begin_from_minimums() {
    for (const std::size_t j : claims_) draft_.clear(j);
    for (std::size_t j = 0; j < claims_.size(); ++j) {
      const Job& job = snapshot_.jobs[j];
      if (is_running(job)) draft_.put(j, still_[j] ? job.current : least_of(job, job.current));
    }
  }
  void back_to_minimums() {
    for (const std::size_t j : claims_) draft_.put(j, Shares(held(j)));
    follow_by_claim();
  }
  void follow_by_claim() {
    place_.resize(claims_.size());
    givers_.clear();
    above_.clear();
    for (std::size_t at = 0; at < claims_.size(); ++at) {
      const std::size_t j = claims_[at];
      place_[j] = at;
      if (draft_.workers(j) > 0) givers_.push_back(j);
      if (still_[j]) above_.push_back(j);
    }
    Headroom room(snapshot_);
    for (const std::size_t j : claims_) {
      const Job& job = snapshot_.jobs[j];
      if (draft_.workers(j) == 0 && may_run(j) && room.fits_minimum(job)) enter(j);
      room.take(job, held(j));
    }
    for (std::size_t j = 0; j < claims_.size(); ++j) grow_from_minimum(j);
  }
  void grow_from_minimum(std::size_t j) {
    const Shares least = draft_.shares(j);
    const Shares& next = kept_[j] ? snapshot_.jobs[j].current : wanted(j);
    if (least.empty() || workers_of(next) < workers_of(least) || draft_.put(j, next)) return;
    draft_.put(j, least);
    approach(j, workers_of(next));
  }
  static Shares least_of(const Job& job, const Shares& of) {
    Shares least;
    std::uint32_t left = job.min;
    for (const Share& share : of) {
      const std::uint32_t count = std::min(left, share.count);
      if (count > 0) least.push_back({share.node, count});
      left -= count;
    }
    return least;
  }
  using Taken = std::vector<std::pair<std::size_t, Shares>>;

  // The minimum of a job, if need be from running ones with a lower claim: one after the other
  // gives what it has, those that are kept for now first what is above their minimum. Then each
  // gets back as much as fits.
  void enter(std::size_t j) {
    const std::uint32_t min = snapshot_.jobs[j].min;
    if (draft_.place(j, min, Packing::kTight)) return;
    const Taken above = take_for(j, true);
    const Taken all = take_for(j, false);
    for (auto one = all.rbegin(); one != all.rend(); ++one) {
      const auto& [who, had] = *one;
      const Job& other = snapshot_.jobs[who];
      if (!draft_.put(who, had)) draft_.place(who, other.min, Packing::kTight);
    }
    for (auto one = above.rbegin(); one != above.rend(); ++one) {
      give_back(one->first, one->second);
    }
  }
  Taken take_for(std::size_t j, bool above_minimum) {
    JobOrder& from = above_minimum ? above_ : givers_;
    const auto has_none = [&](std::size_t who) {
      return draft_.workers(who) <= (above_minimum ? snapshot_.jobs[who].min : 0);
    };
    while (!from.empty() && has_none(from.back())) from.pop_back();
    Taken taken;
    for (auto last = from.rbegin(); last != from.rend() && place_[*last] > place_[j]; ++last) {
      if (draft_.workers(j) > 0) break;
      if (has_none(*last)) continue;
      const Shares had = draft_.shares(*last);
      taken.emplace_back(*last, had);
      draft_.put(*last, above_minimum ? least_of(snapshot_.jobs[*last], had) : Shares{});
      draft_.place(j, snapshot_.jobs[j].min, Packing::kTight);
    }
    return taken;
  }
  void give_back(std::size_t j, const Shares& had) {
    const Shares least = draft_.shares(j);
    if (least.empty() || draft_.put(j, had)) return;
    draft_.put(j, least);
    approach(j, workers_of(had));
  }
  // What is left over goes to whoever can run on it, also when others before it cannot.
  void start_where_it_is_free() {
    for (const std::size_t j : claims_) {
      if (draft_.free_slots() == 0) return;
      if (draft_.workers(j) == 0 && may_run(j)) {
        draft_.place(j, snapshot_.jobs[j].min, Packing::kTight);
      }
    }
  }

  void finish(std::size_t j) {
    Allocation& proposed = proposal_.allocations[j];
    const std::uint32_t has = draft_.workers(j);
    const bool as_kept = kept_[j] && draft_.shares(j) == snapshot_.jobs[j].current;
    std::string reason = std::move(proposed.reason);
    if (has == 0 && (kept_[j] || !wanted(j).empty())) {
      reason = text(is_running(snapshot_.jobs[j]) ? "stops" : "waits", ": its minimum of ",
                    snapshot_.jobs[j].min, " is not left by those before it");
    } else if (has > 0 && !is_running(snapshot_.jobs[j]) && wanted(j).empty()) {
      reason = text("starts with its minimum of ", has, ": the rules leave that to it");
    } else if (!as_kept && (kept_[j] || has != workers_of(wanted(j)))) {
      reason = text("has ", has, ": the rules leave room for no more");
    }
    draft_.explain(j, std::move(reason));
    if (proposed.note) draft_.note(j, *proposed.note);
  }

  const Snapshot& snapshot_;
  Plan& proposal_;
  Others others_;
  Draft draft_;
  JobOrder claims_;                 // empty when everybody has workers
  std::vector<std::size_t> place_;  // of each job among the claims
  JobOrder givers_;                 // that have workers, by claim
  JobOrder above_;                  // of those kept, that have more than their minimum
  std::vector<bool> kept_;
  std::vector<bool> still_;  // of those kept: not to be changed for anyone but a higher rank
};

}  // namespace

bool pays(const Snapshot& snapshot, const Job& job, double per_s, double per_s_then) {
  if (per_s_then <= per_s) return true;
  const double gain = 1 - per_s / per_s_then;
  return gain * time_left(snapshot, job, per_s) > job.change_cost_s;
}

Plan steady(const Snapshot& snapshot, Plan proposal, Others others) {
  return Steadying(snapshot, proposal, others).run();
}

}  // namespace edl::scheduler
