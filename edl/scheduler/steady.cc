#include "edl/scheduler/steady.h"

#include <algorithm>

#include "edl/base/text.h"
#include "edl/scheduler/speed.h"

namespace edl::scheduler {
namespace {

constexpr double kUnknownTimeLeftSeconds = 600;  // at least, of a job that tells nothing

// Jobs from the one that must have its minimum first to the one that must have it last.
JobOrder by_claim(const Snapshot& snapshot, const JobOrder& order) {
  JobOrder claims = order;
  std::stable_sort(claims.begin(), claims.end(), [&](std::size_t a, std::size_t b) {
    const Job& one = snapshot.jobs[a];
    const Job& other = snapshot.jobs[b];
    const std::int64_t rank = rank_of(snapshot, one);
    const std::int64_t other_rank = rank_of(snapshot, other);
    if (rank != other_rank) return rank > other_rank;
    if (is_running(one) != is_running(other)) return is_running(one);
    // Of those that run, who has run longest goes first when somebody must; of those that wait,
    // whoever has waited longer than it should comes first.
    if (is_running(one)) return one.since > other.since;
    const bool patient = snapshot.now - one.since < kPatienceSeconds;
    return !patient && one.since < other.since;
  });
  return claims;
}

double speed_of(const Job& job, const Shares& shares) {
  return SpeedCurve(job).at(workers_of(shares), static_cast<std::uint32_t>(shares.size()));
}

// Seconds that the job goes on, as it is now.
double time_left(const Snapshot& snapshot, const Job& job, double speed) {
  if (job.remaining) return *job.remaining / std::max(speed, 1e-12);
  return std::max(snapshot.now - job.submitted, kUnknownTimeLeftSeconds);
}

bool pays(const Snapshot& snapshot, const Job& job, const Shares& next) {
  const double now = speed_of(job, job.current);
  const double then = speed_of(job, next);
  if (then <= now) return true;  // it gives: what others gain is the policy's to weigh
  const double gain = 1 - now / then;
  return gain * time_left(snapshot, job, now) > job.change_cost_s;
}

class Steadying {
 public:
  Steadying(const Snapshot& snapshot, Plan& proposal)
      : snapshot_(snapshot), proposal_(proposal), draft_(snapshot) {}

  Plan run() {
    JobOrder order(snapshot_.jobs.size());
    for (std::size_t j = 0; j < order.size(); ++j) order[j] = j;
    const JobOrder claims = admitted(snapshot_, order);
    std::vector<bool> has_claim(order.size(), false);
    for (const std::size_t j : claims) has_claim[j] = true;
    for (const std::size_t j : claims) keep_if_still(j);
    for (const std::size_t j : claims) put_minimum(j);
    for (const std::size_t j : claims) follow(j);
    for (std::size_t j = 0; j < order.size(); ++j) {
      if (draft_.workers(j) == 0 && !has_claim[j]) follow(j);
      finish(j);
    }
    return std::move(draft_).finish();
  }

 private:
  const Shares& wanted(std::size_t j) const { return proposal_.allocations[j].workers; }

  // Jobs that may not change now, or do not gain by it.
  void keep_if_still(std::size_t j) {
    const Job& job = snapshot_.jobs[j];
    if (!is_running(job)) return;
    if (snapshot_.now < job.frozen_until) {
      keep(j, text("keeps ", workers_of(job.current), ": it changed a moment ago"));
    } else if (job.near_end) {
      keep(j, text("keeps ", workers_of(job.current), ": it is near its end"));
    } else if (!wanted(j).empty() && wanted(j) != job.current && !pays(snapshot_, job, wanted(j))) {
      keep(j, text("keeps ", workers_of(job.current), ": a change costs more than it gains"));
    }
  }
  void keep(std::size_t j, std::string reason) {
    if (!draft_.put(j, snapshot_.jobs[j].current)) return;
    proposal_.allocations[j].reason = std::move(reason);
    kept_.push_back(j);
  }
  // Reserves the minimum of everyone who has a claim to it, where the proposal has it if it can.
  void put_minimum(std::size_t j) {
    const Job& job = snapshot_.jobs[j];
    if (draft_.workers(j) > 0) return;
    const Shares& shares = wanted(j).empty() ? job.current : wanted(j);
    Shares least;
    std::uint32_t left = job.min;
    for (const Share& share : shares) {
      const std::uint32_t count = std::min(left, share.count);
      if (count > 0) least.push_back({share.node, count});
      left -= count;
    }
    if (left == 0 && draft_.put(j, least)) return;
    while (!draft_.place(j, job.min, Packing::kTight) && give_up_one_kept()) {
    }
  }
  // A job that was only kept for steadiness makes room when a minimum needs it.
  bool give_up_one_kept() {
    while (!kept_.empty()) {
      const std::size_t j = kept_.back();
      kept_.pop_back();
      if (draft_.workers(j) > snapshot_.jobs[j].min) {
        draft_.resize(j, snapshot_.jobs[j].min);
        proposal_.allocations[j].reason = "shrinks to its minimum: others need theirs";
        return true;
      }
    }
    return false;
  }
  // As close to the proposal as the room that is left allows.
  void follow(std::size_t j) {
    const Job& job = snapshot_.jobs[j];
    if (std::find(kept_.begin(), kept_.end(), j) != kept_.end()) return;
    const std::uint32_t target = std::min(workers_of(wanted(j)), job.max);
    const Shares least = draft_.shares(j);
    if (target < job.min || (target == job.min && !least.empty())) return;
    if (draft_.put(j, wanted(j))) return;
    if (!least.empty()) draft_.put(j, least);
    for (std::uint32_t workers = std::min(target, workers_of(least) + draft_.room_for(j));
         workers >= job.min && workers > workers_of(least); --workers) {
      const std::uint32_t useful = useful_size(job.logical_workers, workers);
      if (useful >= job.min && draft_.resize(j, useful)) return;
    }
  }
  void finish(std::size_t j) {
    Allocation& proposed = proposal_.allocations[j];
    const Job& job = snapshot_.jobs[j];
    std::string reason = std::move(proposed.reason);
    const std::uint32_t has = draft_.workers(j);
    if (has != workers_of(wanted(j)) && std::find(kept_.begin(), kept_.end(), j) == kept_.end()) {
      reason = has == 0 ? text("waits: its minimum of ", job.min, " is not left")
                        : text("has ", has, ": the rules leave room for no more");
    }
    draft_.explain(j, std::move(reason));
    if (proposed.note) draft_.note(j, *proposed.note);
  }

  const Snapshot& snapshot_;
  Plan& proposal_;
  Draft draft_;
  JobOrder kept_;
};

}  // namespace

std::int64_t rank_of(const Snapshot& snapshot, const Job& job) {
  const bool starves = !is_running(job) && snapshot.now - job.since >= kPatienceSeconds;
  return std::int64_t{job.priority} + (starves ? 1 : 0);
}

JobOrder admitted(const Snapshot& snapshot, const JobOrder& order) {
  std::uint64_t left = slots_of(snapshot);
  std::vector<std::uint64_t> quota;
  for (const Tenant& tenant : snapshot.tenants) quota.push_back(tenant.quota);
  JobOrder in;
  for (const std::size_t j : by_claim(snapshot, order)) {
    const Job& job = snapshot.jobs[j];
    const std::uint64_t need = std::uint64_t{job.min} * job.slots_per_worker;
    if (need > left || (job.tenant && need > quota[*job.tenant])) continue;
    left -= need;
    if (job.tenant) quota[*job.tenant] -= need;
    in.push_back(j);
  }
  return in;
}

Plan steady(const Snapshot& snapshot, Plan proposal) { return Steadying(snapshot, proposal).run(); }

}  // namespace edl::scheduler
