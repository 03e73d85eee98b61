// The numbers and names that things are known by. Steps count from 1; epochs, ranks and logical
// workers from 0.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "edl/base/number.h"
#include "edl/base/result.h"
#include "edl/model/limits.h"

namespace edl::model {

using Generation = Number<struct GenerationTag>;  // of a view; grows with every view of a job
using Step = Number<struct StepTag>;
using Epoch = Number<struct EpochTag>;
using Rank = Number<struct RankTag, std::uint32_t>;  // place in a view's list of members
using LogicalWorker = Number<struct LogicalWorkerTag, std::uint32_t>;
using Lane = Number<struct LaneTag, std::uint16_t>;  // process of a gang; 0 until there are gangs
using Revision = Number<struct RevisionTag>;         // of the store
using Ballot = Number<struct BallotTag>;  // the leader key's mod_revision that elected a leader

// A worker's name for its whole life; never used again for another worker of the job.
using WorkerId = std::string;

// Names of jobs, workers, tenants: lower-case letters, digits, '.' and '-', beginning with a letter
// or digit, at most kNameMax. They become parts of paths and of keys in the store.
Result<void> validate_name(std::string_view what, std::string_view name);

}  // namespace edl::model
