// The directory of a job: where things are in it, and the files that say what the job is and how to
// reach it. docs/reference/job.md.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "edl/agent/launch.h"
#include "edl/os/system.h"

namespace edl::agent {

struct JobPaths {
  std::string dir;

  std::string job() const { return dir + "/job.json"; }
  std::string run() const { return dir + "/run.json"; }
  std::string events() const { return dir + "/events.jsonl"; }
  std::string secret() const { return dir + "/secret"; }
  std::string token() const { return dir + "/token"; }
  std::string lock() const { return dir + "/lock"; }
  std::string workers_lock() const { return dir + "/workers.lock"; }
  std::string store() const { return dir + "/store"; }
  std::string store_socket() const { return dir + "/store.sock"; }
  std::string logs() const { return dir + "/log"; }
  std::string log(const std::string& name) const { return logs() + "/" + name + ".log"; }
  std::string worker_log(const std::string& id) const { return log("worker-" + id); }
};

// job.json: what never changes. Reading gives the launch without workers to start with; see
// with_workers.
Json job_json(const Launch& launch);
Result<Launch> launch_from(const Json& json);
Result<void> write_job(os::Disk& disk, const JobPaths& paths, const Launch& launch);
Result<Launch> read_job(os::Disk& disk, const JobPaths& paths);

// run.json: how to reach what runs, and what it computes with.
struct RunFile {
  std::vector<std::string> store{};
  int pid = 0;
  std::string host{};
  bool embedded = true;  // the store is a process of this job
  std::string token_file{};
  model::Fingerprint fingerprint{};
  bool reproducible = true;  // all runs of the job had this fingerprint
  bool entering = false;     // who holds the directory has not come to the job yet
};
Result<void> write_run(os::Disk& disk, const JobPaths& paths, const RunFile& run);
Result<RunFile> read_run(os::Disk& disk, const JobPaths& paths);

// A file with one secret line, made when it is absent; only its owner may read it.
Result<std::string> make_secret(os::System& system, const std::string& path);
Result<std::string> read_secret(os::Disk& disk, const std::string& path);

// The last `lines_max` lines of a file, of at most its last 256 KiB.
std::vector<std::string> last_lines(os::Disk& disk, const std::string& path, std::size_t lines_max);

}  // namespace edl::agent
