// EDL's rules of steadiness. A running job is not pushed below its minimum except by a job of
// higher rank; it is left alone for a while after a change and near its end; it changes only when
// that gains more than it costs; and whoever has the higher claim has its minimum first.
#pragma once

#include "edl/scheduler/claims.h"

namespace edl::scheduler {

// Whether a running job gains more by the change than it costs; one that gets slower gives to
// others, and what they gain is the policy's to weigh.
bool pays(const Snapshot& snapshot, const Job& job, double per_s, double per_s_then);

// Who else may start where its minimum fits, beside those that the proposal starts and those that
// have waited for the longest patience.
enum class Others { kWait, kStart };

// The proposal, changed as little as the rules demand.
Plan steady(const Snapshot& snapshot, Plan proposal, Others others);

}  // namespace edl::scheduler
