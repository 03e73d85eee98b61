// The state before the first step: what the program makes of the job's seed, and in place of its
// weights those of a file, if the job has one.
#pragma once

#include <optional>

#include "edl/model/job.h"
#include "edl/os/disk.h"
#include "edl/train/trainee.h"

namespace edl::train {

struct Beginning {
  std::uint64_t seed = 0;
  std::optional<model::WeightsFile> weights{};
};

// On the trainee's thread.
Result<void> begin(os::Disk& disk, Trainee& trainee, const Beginning& beginning);

}  // namespace edl::train
