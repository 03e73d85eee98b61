// The options that `edl run`, `edl resume` and `edl join` share, and how they become an agent.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "edl/agent/agent.h"
#include "edl/cli/command_line.h"
#include "edl/cli/console.h"
#include "edl/os/posix/machine.h"
#include "edl/os/posix/system.h"

namespace edl::cli {

// In the environment: how much memory the workers of this machine may take, as in 20GiB.
inline constexpr const char* kMemoryVariable = "EDL_MEMORY";

// What may differ from one run of a job to the next.
struct RunOptions {
  std::optional<model::WorkerRange> workers{};
  std::optional<std::uint64_t> start{};
  std::vector<std::string> faults{};
  std::string events{};
  std::string trace_samples{};
  Duration grace = 30s;
  std::string secret_file{};
  std::string token_file{};
  std::string address = "127.0.0.1";
  CacheWords cache{};  // of programs that fetch files
  bool detach = false;
  bool json = false;

  void add_to(CLI::App& app);
};

// Options that a number of 32 bits or more cannot hold are refused.
Result<std::optional<std::uint32_t>> narrow(const std::string& option,
                                            std::optional<std::uint64_t> number);

// The refusal of an option that means nothing to a command in mode stop-resume.
Error not_driven(const std::string& option);

// A path that stays right when the working directory changes.
std::string absolute(const os::Machine& machine, const std::string& path);

// The system, the face and the agent of one command.
class AgentRun {
 public:
  AgentRun(Console& console, const RunOptions& options);

  os::PosixSystem& system() { return *system_; }
  const os::Machine& machine() const { return machine_; }

  // What programs of a job find in their environment, beside ours; an error when this machine
  // cannot compute as the job does. `seed`: nothing when the program's own is not known yet.
  Result<agent::Environment> program_environment(const std::string& program, model::JobMode mode,
                                                 model::Isa isa,
                                                 std::optional<std::uint64_t> seed) const;
  // An error when so many workers cannot be here; see take_memory.
  Result<void> check_memory(const agent::ProgramFacts& program, std::uint32_t workers,
                            agent::Launch& launch);
  // What a worker of the job runs; an error when an option does not go with the job's mode.
  Result<std::vector<std::string>> command_of(const model::JobSpec& spec);
  // Fills in what all agents have in common.
  Result<agent::AgentOptions> prepare(agent::AgentMode mode, agent::Launch launch,
                                      agent::JobPaths paths);
  // Holds the directory for this process; waits a moment for one that is about to end.
  Result<void> hold(const agent::JobPaths& paths, Duration limit);
  // Runs the agent to its end.
  Result<void> run(agent::AgentOptions options, Output& out);
  // Whether it has come to the job.
  bool has_begun() const { return has_begun_; }

  // Starts this command once more, in the background; answers when its job has begun.
  Result<void> detach(const std::string& name, const agent::JobPaths& paths, Output& out);
  // The name that was chosen before we were started in the background; empty when we were not.
  std::string detached_name() const;

 private:
  template <class AnyAgent>
  Result<void> play(agent::AgentOptions options, Output& out);
  void on_begun();
  Result<void> check_address();
  Result<void> check_trace(const std::string& path);

  Console& console_;
  const RunOptions& options_;
  const os::Machine machine_;
  std::unique_ptr<LogSink> sink_;
  std::unique_ptr<os::PosixSystem> system_;
  std::unique_ptr<os::DiskLock> lock_;
  bool has_begun_ = false;
};

}  // namespace edl::cli
