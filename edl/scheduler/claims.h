// Who must have its minimum before whom: by rank, then who runs before who waits, then what is
// shorter; whoever has waited for its patience comes before a longer one, later before anyone of
// its priority, so that every job whose minimum fits the cluster runs at last.
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

// Seconds; 0 of a running job.
double waited_s(const Snapshot& snapshot, const Job& job);

// Jobs from the one that must have its minimum first to the one that must have it last. When a
// runner must go, it is the one with most left to do; of those that go before all that run, who
// has waited longest comes first.
JobOrder by_claim(const Snapshot& snapshot, const JobOrder& order);

// Who gets its minimum: all that run, as long as nobody of higher rank needs their slots, then
// those that wait, by rank and then in the given order.
JobOrder admitted(const Snapshot& snapshot, const JobOrder& order);

}  // namespace edl::scheduler
