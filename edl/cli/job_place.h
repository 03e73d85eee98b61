// A job that a command is about: found by its name or its directory, and reached in its store.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "edl/agent/job_directory.h"
#include "edl/agent/picture.h"
#include "edl/cli/command_line.h"
#include "edl/os/posix/machine.h"
#include "edl/os/posix/system.h"
#include "edl/store/etcd_store.h"

namespace edl::cli {

struct JobOptions {
  std::string job{};
  std::string store{};
  std::string token_file{};
  Duration timeout = 5s;
  bool json = false;

  void add_to(CLI::App& app, bool required = true);
};

// Where a job is. One that runs at a store elsewhere has no directory here.
struct JobPlace {
  std::string name{};
  agent::JobPaths paths{};
  std::optional<agent::Launch> launch{};
  std::optional<agent::RunFile> run{};
  std::vector<std::string> urls{};
  std::string token{};
  bool running = false;   // something may answer at these addresses
  bool entering = false;  // a run is about to come to it: what is asked of it now would be lost

  bool has_directory() const { return !paths.dir.empty(); }
};

class JobConnection {
 public:
  explicit JobConnection(const JobOptions& options);

  os::PosixSystem& system() { return *system_; }
  os::Disk& disk() { return system_->disk(); }
  const os::Machine& machine() const { return machine_; }

  Result<JobPlace> find();
  // The job of this name in the store that the options name, whatever is here.
  Result<JobPlace> at_store();
  // The names of the jobs in the folder edl-jobs.
  std::vector<std::string> names();
  // An error when the store cannot be reached in time. After it the calls below may be made.
  Result<agent::JobPicture> look(const JobPlace& place);
  Result<bool> change(const store::Change& change);
  // Follows the job until `seen` answers true; kTimeout after `limit`.
  Result<void> wait_until(const JobPlace& place,
                          const std::function<bool(const agent::JobPicture&)>& seen,
                          Duration limit);
  // The refusal of a command that needs the job to run.
  Error not_running(const JobPlace& place);
  // The same of a job that has this result; null: nobody knows one.
  static Error ended(const JobPlace& place, const Json& result);

 private:
  Result<void> open(const JobPlace& place);
  Result<void> find_addresses(JobPlace& place);
  Json end_in_directory(const JobPlace& place);

  const JobOptions& options_;
  const os::Machine machine_;
  std::unique_ptr<LogSink> sink_;
  std::unique_ptr<os::PosixSystem> system_;
  std::unique_ptr<store::EtcdStore> store_;
};

}  // namespace edl::cli
