// The store of a job that has none of its own: a process beside the agent, started again when it
// dies, always at the same address.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "edl/agent/job_directory.h"
#include "edl/os/system.h"

namespace edl::agent {

struct StoreProcessOptions {
  std::string program;  // path of `edl`
  JobPaths paths;
  Duration first_limit = 60s;  // for the first start; a store of the run before may have to end
};

class StoreProcess {
 public:
  struct Callbacks {
    // Called once, when it first serves.
    std::function<void(const std::string& url)> on_ready;
    // It could not be started at all; one sentence.
    std::function<void(const Error& error)> on_failed;
    std::function<void(const std::string& sentence)> say;
  };

  StoreProcess(os::System& system, StoreProcessOptions options, Callbacks callbacks);

  // Ends it politely; `done` is called when it is gone.
  void close(std::function<void()> done);
  // What clients must show; empty when only we can reach it.
  const std::string& token() const { return token_; }
  std::string token_file() const { return token_.empty() ? "" : options_.paths.token(); }

 private:
  Result<std::vector<std::string>> arguments();
  void start();
  void listen();
  void on_words(std::size_t bytes);
  void on_exit(os::Exit exit);
  void again();

  os::System& system_;
  const StoreProcessOptions options_;
  const Callbacks callbacks_;
  const Time began_;
  std::string token_;
  std::string url_;  // once it served
  Duration pause_;
  Bytes buffer_ = Bytes(4096);
  std::string words_;
  bool said_waiting_ = false;
  std::function<void()> closed_;
  std::unique_ptr<os::Child> child_;
  os::Pending timer_;
};

}  // namespace edl::agent
