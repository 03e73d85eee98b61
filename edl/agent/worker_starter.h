// Starts worker processes: forked from a process that has loaded the program, which takes
// milliseconds; executed where that cannot be.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "edl/agent/numerics.h"
#include "edl/os/system.h"

namespace edl::agent {

struct WorkerStarterOptions {
  std::vector<std::string> argv;  // of the program
  Environment environment;        // of it, beside ours
  std::string parent_log;         // what the loaded process prints
};

class WorkerStarter {
 public:
  using Started = std::function<void(Result<std::unique_ptr<os::Child>>)>;

  WorkerStarter(os::System& system, WorkerStarterOptions options);

  // `started` comes later, and before `exited`.
  void start(const std::string& id, const std::string& log, Started started, os::ExitDone exited);

 private:
  bool load();
  void execute(const std::string& log, const Started& started, const os::ExitDone& exited);

  os::System& system_;
  const WorkerStarterOptions options_;
  std::unique_ptr<os::ForkServer> server_;
  bool lost_ = false;  // the loaded process has ended
  int losses_ = 0;
};

}  // namespace edl::agent
