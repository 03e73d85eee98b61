// The rules of a job's views, from what the job asked for.
#pragma once

#include "edl/membership/rules.h"
#include "edl/model/job.h"

namespace edl::train {

membership::Rules rules_of(const model::JobSpec& spec, std::uint32_t logical_workers,
                           const model::WorkerRange& range);

}  // namespace edl::train
