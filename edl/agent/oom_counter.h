// How often the kernel has killed a process of our cgroup because memory ran out.
#pragma once

#include <cstdint>
#include <string>

#include "edl/os/disk.h"

namespace edl::agent {

class OomCounter {
 public:
  // `disk` outlives the counter.
  explicit OomCounter(os::Disk& disk);

  // 0 where the kernel does not tell.
  std::uint64_t read() const;

 private:
  os::Disk& disk_;
  std::string path_;
};

// Of the lines of memory.events (cgroup 2) or memory.oom_control (cgroup 1).
std::uint64_t oom_kills_in(std::string_view lines);

}  // namespace edl::agent
