#include "edl/scheduler/claims.h"

#include <algorithm>
#include <limits>

#include "edl/scheduler/speed.h"

namespace edl::scheduler {
namespace {

constexpr double kUnending = std::numeric_limits<double>::infinity();
constexpr double kDeadlineSlack = 2;  // times the time at the minimum: what is nearer presses
constexpr double kLongServiceSeconds = 57600;  // of slots: who had as much is a long job
constexpr double kTurnSeconds = 600;           // that a long job runs before it makes room again

double time_at_minimum(const Job& job) {
  if (!job.remaining) return kUnending;
  return *job.remaining / std::max(SpeedCurve(job).at(job.min, 1), 1e-12);
}

// Of jobs that tell nothing those that had much service are taken to have most left.
bool is_known_long(const Job& job) {
  return !job.remaining && job.attained_s >= kLongServiceSeconds;
}

double claimed_time(const Job& job) {
  if (job.remaining || is_known_long(job)) return time_at_minimum(job);
  return std::numeric_limits<double>::max();
}

// What decides who must have its minimum before whom.
struct Claim {
  std::int64_t rank = 0;
  bool by_length = false;  // it runs, or waits and may take the place of one that runs longer
  double since = 0;        // of a waiter only when it goes before all that run
  double time_left = 0;    // by length: with its minimum; of who tells nothing, long or not
  double stays = 0;        // of those with the same left: who has more of it goes on
};

// Of long jobs that tell nothing the one with most service goes on, so that they end one after
// the other; of others the one that began last.
double stays(const Snapshot& snapshot, const Job& job) {
  if (!is_known_long(job)) return job.since;
  return snapshot.now - job.since < kTurnSeconds ? kUnending : job.attained_s;
}

Claim claim_of(const Snapshot& snapshot, const Job& job) {
  const double waited = waited_s(snapshot, job);
  if (is_running(job)) {
    return {job.priority, true, job.since, claimed_time(job), stays(snapshot, job)};
  }
  if (waited >= kPatienceSecondsMax) return {rank_of(snapshot, job), false, job.since, 0, 0};
  const bool starves = rank_of(snapshot, job) > job.priority;
  const double needs = is_pressed(snapshot, job) ? 0 : claimed_time(job) + job.change_cost_s;
  return {job.priority, starves, snapshot.now, needs, -kUnending};
}

}  // namespace

double waited_s(const Snapshot& snapshot, const Job& job) {
  return is_running(job) ? 0 : snapshot.now - job.since;
}

bool is_pressed(const Snapshot& snapshot, const Job& job) {
  if (!job.deadline || !job.remaining || *job.deadline <= snapshot.now) return false;
  return snapshot.now + kDeadlineSlack * time_at_minimum(job) > *job.deadline;
}

double patience_s(const Snapshot& snapshot, const Job& job) {
  if (is_pressed(snapshot, job)) return kPatienceSecondsMin;
  if (!job.remaining && !is_known_long(job)) return kPatienceSecondsUnknown;
  return std::clamp(kPatienceShare * time_at_minimum(job), kPatienceSecondsMin,
                    kPatienceSecondsMax);
}

std::int64_t rank_of(const Snapshot& snapshot, const Job& job) {
  const double waited = waited_s(snapshot, job);
  const bool starves = waited >= kPatienceSecondsMin && waited >= patience_s(snapshot, job);
  return std::int64_t{job.priority} + (starves ? 1 : 0);
}

JobOrder by_claim(const Snapshot& snapshot, const JobOrder& order) {
  std::vector<Claim> claims;
  claims.reserve(snapshot.jobs.size());
  for (const Job& job : snapshot.jobs) claims.push_back(claim_of(snapshot, job));
  JobOrder by = order;
  std::stable_sort(by.begin(), by.end(), [&](std::size_t a, std::size_t b) {
    const Claim& one = claims[a];
    const Claim& other = claims[b];
    if (one.rank != other.rank) return one.rank > other.rank;
    if (one.by_length != other.by_length) return one.by_length;
    if (!one.by_length) return one.since < other.since;
    if (one.time_left != other.time_left) return one.time_left < other.time_left;
    return one.stays > other.stays;
  });
  return by;
}

JobOrder admitted(const Snapshot& snapshot, const JobOrder& order) {
  return with_minimum(snapshot, by_claim(snapshot, order));
}

}  // namespace edl::scheduler
