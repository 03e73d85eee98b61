// A running `edl run` with what its events have told so far.
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "edl/base/json.h"
#include "edl/base/result.h"

namespace edl::bench {

struct SeenStep {
  std::uint64_t generation = 0;
  double at = 0;  // seconds of wall time, when it was completed
};

struct JobOptions {
  std::string edl;     // the program
  std::string folder;  // the job's, not there yet
  int workers = 2;
  std::uint64_t ballast_bytes = 0;
  std::uint64_t work = 1;
};

class Job {
 public:
  explicit Job(const JobOptions& options);
  ~Job();
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  // Reads events until this holds; an error after a minute, or when the job has ended.
  Result<void> wait(const std::function<bool()>& holds);
  Result<void> scale(int workers);
  Result<std::string> leader() const;

  const std::vector<SeenStep>& steps() const { return steps_; }
  std::uint64_t generation() const { return generation_; }
  const std::vector<std::string>& members() const { return members_; }
  // What the job itself says that a view cost; nothing yet: negative.
  double told_pause_ms(std::uint64_t generation) const;
  pid_t pid_of(const std::string& worker) const { return pids_.at(worker); }

 private:
  void take(const std::string& line);
  // One command of `edl` about this job; its answer.
  Result<Json> ask(std::vector<std::string> words) const;

  const JobOptions options_;
  pid_t pid_ = -1;
  int output_ = -1;
  std::string unread_;
  std::vector<SeenStep> steps_;
  std::uint64_t generation_ = 0;
  std::vector<std::string> members_;
  std::map<std::uint64_t, double> pauses_;
  std::map<std::string, pid_t> pids_;
};

}  // namespace edl::bench
