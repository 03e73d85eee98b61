// The real System, on Boost.Asio's loop.
#pragma once

#include <memory>
#include <string>

#include "edl/os/loop.h"

namespace edl::os {

struct PosixOptions {
  LogSink* log_sink = nullptr;  // outlives the system
  std::string name = "edl";     // starts the log lines
  int parent_descriptor = -1;   // what kParentVariable says, or ForkedChild
  bool private_files = false;   // nobody else may read what this process makes, or connect to it
  bool adopts_orphans = false;  // grandchildren whose parent died become ours to reap
};

// Set by `spawn` for the child's `main`, which hands the number on.
inline constexpr const char* kParentVariable = "EDL_PARENT_FD";

class PosixSystem : public LoopSystem {};

std::unique_ptr<PosixSystem> posix_system(const PosixOptions& options);

}  // namespace edl::os
