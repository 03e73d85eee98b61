// Snapshots and plans as JSON, as `edl sim plan` and the jobserver's record of decisions have them.
// Whatever comes from outside is checked; the sentence names the job, node or field.
#pragma once

#include <string_view>

#include "edl/base/json.h"
#include "edl/scheduler/plan.h"

namespace edl::scheduler {

inline constexpr std::size_t kSnapshotBytesMax = std::size_t{256} << 20;

Result<Snapshot> parse_snapshot(std::string_view words);
Json snapshot_json(const Snapshot& snapshot);
Json plan_json(const Snapshot& snapshot, const Plan& plan);

}  // namespace edl::scheduler
