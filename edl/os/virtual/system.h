// The System that one process of a virtual world sees; for the files of this folder only.
#pragma once

#include <memory>

#include "edl/os/virtual/world.h"

namespace edl::os {

std::unique_ptr<System> virtual_system(VirtualWorld& world, const ProcessPtr& process,
                                       std::unique_ptr<Stream> parent);

}  // namespace edl::os
