// Programs that are started to answer something, not to train.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "edl/agent/launch.h"
#include "edl/os/posix/system.h"
#include "edl/train/parent_frame.h"

namespace edl::cli {

struct ProgramTalk {
  std::vector<std::string> command{};
  const char* role = train::kRoleDescribe;
  std::optional<std::pair<train::ParentFrame, Json>> request{};  // told it first
  std::optional<Duration> limit{};
};
using OnProgramFrame = std::function<void(train::ParentFrame type, const Json& body)>;

// Starts the command, gives on what it says, and waits until it has ended. Runs the system's loop.
Result<os::Exit> talk_with_program(os::PosixSystem& system, const ProgramTalk& talk,
                                   const OnProgramFrame& on_frame);

// What a program says of itself, asked from the program.
Result<agent::ProgramFacts> ask_program(os::PosixSystem& system,
                                        const std::vector<std::string>& command, Duration limit);

}  // namespace edl::cli
