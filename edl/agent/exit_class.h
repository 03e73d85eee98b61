// Whose doing the end of a worker was, from what its agent saw.
#pragma once

#include <cstdint>
#include <string>

#include "edl/model/worker.h"
#include "edl/os/process.h"

namespace edl::agent {

struct EndFacts {
  os::Exit exit{};
  // It was to leave: it said so, it is in no view, or the job has a result.
  bool leaving = false;
  bool preempted = false;       // and the cause was a preemption or SIGTERM
  std::uint64_t oom_kills = 0;  // that our cgroup counted since the worker started
};

model::ExitClass classify(const EndFacts& facts);

// One sentence: how it ended.
std::string end_reason(const os::Exit& exit, model::ExitClass exit_class);

}  // namespace edl::agent
