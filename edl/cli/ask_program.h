// Programs that are started to answer something, not to train.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "edl/agent/agent_options.h"
#include "edl/agent/program.h"
#include "edl/cli/console.h"
#include "edl/os/posix/machine.h"
#include "edl/os/posix/system.h"
#include "edl/train/parent_frame.h"

namespace edl::cli {

// What runs workers here: with this interpreter, or the machine's when it is empty.
agent::Runners runners_of(const os::Machine& machine, const Console& console,
                          const std::string& python);

struct ProgramTalk {
  std::vector<std::string> command{};
  const char* role = train::kRoleDescribe;
  agent::Environment environment{};                              // beside ours
  std::optional<std::pair<train::ParentFrame, Json>> request{};  // told it first
  std::optional<Duration> limit{};
};
using OnProgramFrame = std::function<void(train::ParentFrame type, const Json& body)>;

// Starts the command, gives on what it says, and waits until it has ended. Runs the system's loop.
Result<os::Exit> talk_with_program(os::PosixSystem& system, const ProgramTalk& talk,
                                   const OnProgramFrame& on_frame);

// What a program says of itself, asked from the program, unless it is built in. It may take long:
// a program fetches its data before it knows how many samples there are.
struct ProgramQuestion {
  std::string program{};
  std::vector<std::string> args{};
  std::vector<std::string> command{};  // that runs it
  agent::Environment environment{};
};
Result<agent::ProgramFacts> ask_program(os::PosixSystem& system, const ProgramQuestion& question);
// The same of the program that an agent is about to start.
Result<agent::ProgramFacts> ask_program(os::PosixSystem& system,
                                        const agent::AgentOptions& options);

// Whether the program can begin with a state: the weights that the job's spec names, or those of a
// checkpoint. The program itself says why it cannot.
struct BeginningQuestion {
  const agent::Launch& launch;
  std::string checkpoint{};            // empty: what the spec says
  std::vector<std::string> command{};  // that runs the program
  std::vector<std::pair<std::string, std::string>> environment{};
};
Result<void> ask_beginning(os::PosixSystem& system, const BeginningQuestion& question);

}  // namespace edl::cli
