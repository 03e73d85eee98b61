// EDL's rules of steadiness. A running job is not pushed below its minimum except by a job of
// higher rank; it is left alone for a while after a change and near its end; it changes only when
// that gains more than it costs; and whoever has waited for its patience takes the place of a
// longer one, later of anyone of its priority, so that every job whose minimum fits the cluster
// runs at last.
#pragma once

#include "edl/scheduler/sizes.h"

namespace edl::scheduler {

// A job that has waited for its patience may take the place of one that runs longer than it would.
// After the longest patience it has one rank more until it starts, so it waits at most so much
// longer than it takes until those that waited before it have had their turn.
inline constexpr double kPatienceSecondsMax = 7200;
inline constexpr double kPatienceSecondsMin = 60;
inline constexpr double kPatienceSecondsUnknown = 600;  // of who tells nothing: for a long job
inline constexpr double kPatienceShare = 0.1;  // of the time that it needs with its minimum

// Whether it would hardly be done by its deadline with its minimum alone: then it is taken to be
// the shortest of all.
bool is_pressed(const Snapshot& snapshot, const Job& job);

// The share of what it has left, within the limits. A job that tells nothing has its own, in place
// of a long one; once it is long itself, the longest.
double patience_s(const Snapshot& snapshot, const Job& job);

// Priority, plus one for a job that has waited for its patience: whom it may push out is below.
std::int64_t rank_of(const Snapshot& snapshot, const Job& job);

// Whether a running job gains more by the change than it costs; one that gets slower gives to
// others, and what they gain is the policy's to weigh.
bool pays(const Snapshot& snapshot, const Job& job, double per_s, double per_s_then);

// Who gets its minimum: all that run, as long as nobody of higher rank needs their slots, then
// those that wait, by rank and then in the given order.
JobOrder admitted(const Snapshot& snapshot, const JobOrder& order);

// Who else may start where its minimum fits, beside those that the proposal starts and those that
// have waited for the longest patience.
enum class Others { kWait, kStart };

// The proposal, changed as little as the rules demand.
Plan steady(const Snapshot& snapshot, Plan proposal, Others others);

}  // namespace edl::scheduler
