// What a program says of itself, asked from the program.
#pragma once

#include <string>
#include <vector>

#include "edl/agent/launch.h"
#include "edl/os/posix/system.h"

namespace edl::cli {

// Starts the command once, to tell about itself, and waits for that. Runs the system's loop.
Result<agent::ProgramFacts> ask_program(os::PosixSystem& system,
                                        const std::vector<std::string>& command, Duration limit);

}  // namespace edl::cli
