// EDL's rules of steadiness. A running job is not pushed below its minimum except by a job of
// higher rank; it is left alone for a while after a change and near its end; it changes only when
// that gains more than it costs; and whoever waits longer than kPatienceSeconds ranks above its
// priority, so that every job whose minimum fits the cluster runs at last.
#pragma once

#include "edl/scheduler/sizes.h"

namespace edl::scheduler {

// A waiting job gets one rank more for each time that it has waited so long, up to kRanksMax; a
// running one loses what it gained when it starts. So a job waits at most kPatienceSeconds longer
// than it takes until those that waited before it have had their turn.
inline constexpr double kPatienceSeconds = 3600;

// Priority, plus one for a job that has waited for kPatienceSeconds.
std::int64_t rank_of(const Snapshot& snapshot, const Job& job);

// Who gets its minimum: all that run, as long as nobody of higher rank needs their slots, then
// those that wait, by rank and then in the given order.
JobOrder admitted(const Snapshot& snapshot, const JobOrder& order);

// The proposal, changed as little as the rules demand.
Plan steady(const Snapshot& snapshot, Plan proposal);

}  // namespace edl::scheduler
