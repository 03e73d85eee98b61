// A process beside an agent that knows the process groups of its workers and ends them when the
// agent is gone: a plain command does not notice that by itself. Started again when it dies.
//
// Why not PR_SET_PDEATHSIG: it gives no time to save, and does not reach what a shell has started.
//
// It holds a lock in the job's directory, so that an agent that goes on with a job has its guard
// only when the workers of the run before have ended.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>

#include "edl/os/system.h"

namespace edl::agent {

struct WorkerGuardOptions {
  std::string program;  // path of `edl`
  std::string lock;     // path; empty: none
  std::string log;      // what it prints
  Duration grace;       // between SIGTERM and SIGKILL
};

class WorkerGuard {
 public:
  struct Callbacks {
    // It holds the lock; also when it was started again.
    std::function<void()> on_ready;
    std::function<void(const std::string& sentence)> say;
  };

  WorkerGuard(os::System& system, WorkerGuardOptions options, Callbacks callbacks);

  bool ready() const { return ready_; }
  void add(int group);
  void remove(int group);

 private:
  void start();
  void listen();
  void on_exit();
  void send(const std::string& line);
  void write();

  os::System& system_;
  const WorkerGuardOptions options_;
  const Callbacks callbacks_;
  std::set<int> groups_;
  bool ready_ = false;
  bool writing_ = false;
  bool said_waiting_ = false;
  std::string waiting_;  // to be written
  std::string written_;  // being written
  Bytes buffer_ = Bytes(64);
  std::unique_ptr<os::Child> child_;
  os::Pending timer_;
};

}  // namespace edl::agent
