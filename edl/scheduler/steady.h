// EDL's rules of steadiness. A running job is not pushed below its minimum except by a job of
// higher rank; it is left alone for a while after a change and near its end; it changes only when
// that gains more than it costs; and whoever has waited longer than its patience ranks above its
// priority, so that every job whose minimum fits the cluster runs at last.
#pragma once

#include "edl/scheduler/sizes.h"

namespace edl::scheduler {

// A job that has waited so long gets one rank more, and loses it when it starts. So it waits at
// most so much longer than it takes until those that waited before it have had their turn.
inline constexpr double kPatienceSecondsMax = 7200;
inline constexpr double kPatienceSecondsMin = 600;
inline constexpr double kPatienceShare = 0.2;  // of the time that it needs with its minimum

// The share of what it has left, within the limits; the longest of a job that tells nothing.
double patience_s(const Job& job);

// Priority, plus one for a job that has waited for its patience.
std::int64_t rank_of(const Snapshot& snapshot, const Job& job);

// Whether a running job gains more by the change than it costs; one that gets slower gives to
// others, and what they gain is the policy's to weigh.
bool pays(const Snapshot& snapshot, const Job& job, double per_s, double per_s_then);

// Who gets its minimum: all that run, as long as nobody of higher rank needs their slots, then
// those that wait, by rank and then in the given order.
JobOrder admitted(const Snapshot& snapshot, const JobOrder& order);

// The proposal, changed as little as the rules demand.
Plan steady(const Snapshot& snapshot, Plan proposal);

}  // namespace edl::scheduler
