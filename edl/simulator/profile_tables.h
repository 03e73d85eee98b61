// Measured applications as their authors published them: a folder with placements.csv,
// scalability.csv and validation-BATCH.csv.
#pragma once

#include "edl/os/disk.h"
#include "edl/simulator/application.h"

namespace edl::simulator {

Result<Application> read_profile_tables(os::Disk& disk, const std::string& folder,
                                        const std::string& name);

}  // namespace edl::simulator
