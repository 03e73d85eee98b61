// Measured applications in a folder: as one file each (NAME.txt, also packed), or as the folders of
// tables that were published (NAME/placements.csv and others).
#pragma once

#include "edl/os/disk.h"
#include "edl/simulator/application.h"

namespace edl::simulator {

Result<Application> read_profile(os::Disk& disk, const std::string& folder,
                                 const std::string& name);

}  // namespace edl::simulator
