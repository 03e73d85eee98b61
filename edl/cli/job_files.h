// What commands read from a job's directory, whether the job still runs or not.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "edl/cli/command_line.h"
#include "edl/data/trace.h"
#include "edl/model/batch.h"
#include "edl/model/job.h"
#include "edl/model/ledger_record.h"
#include "edl/os/posix/system.h"

namespace edl::cli {

// A line of events.jsonl.
inline constexpr std::size_t kEventBytesMax = 16 << 20;

// A job as its job.json has it.
struct JobFiles {
  std::string dir;
  std::string name{};
  data::JobData data{};
  model::Batch batch{};
  std::optional<std::uint64_t> epochs{};
  std::optional<std::uint64_t> steps{};
  model::JobMode mode = model::JobMode::kElastic;
};

// `job` is a directory, or a name that means edl-jobs/NAME.
Result<JobFiles> find_job(os::Disk& disk, const std::string& job);

// Why a job in mode stop-resume has nothing of what a command wants to read.
Error nothing_recorded(const JobFiles& job);

// Where a job's directory is when only its name was given.
std::string default_job_dir(const std::string& name);

// The steps of a job, from the ledgers in its directory.
struct JobHistory {
  std::vector<model::LedgerRecord> records{};  // step s at s - 1
  std::string problem{};                       // the first thing that is wrong with the ledgers
};
// kNotFound when there is no ledger.
Result<JobHistory> read_history(os::Disk& disk, const std::string& job_dir);

// A command that reads a job's directory.
class JobCommand : public Command {
 public:
  Result<void> run(Output& out) final;

 protected:
  explicit JobCommand(CLI::App& app);
  bool json() const { return json_; }

 private:
  // Whether it has an answer for jobs in mode stop-resume too.
  virtual bool answers_plain_jobs() const { return false; }
  virtual Result<void> answer(os::Disk& disk, const JobFiles& job, Output& out) = 0;

  std::string job_;
  bool json_ = false;
};

// The real disk, for a command that needs nothing else.
class CommandDisk {
 public:
  CommandDisk();
  os::Disk& disk() { return system_->disk(); }
  Time now() const { return system_->now(); }

 private:
  std::unique_ptr<LogSink> sink_;
  std::unique_ptr<os::PosixSystem> system_;
};

}  // namespace edl::cli
