#include "edl/agent/oom_counter.h"

#include <charconv>

#include "edl/agent/kernel_file.h"
#include "edl/base/text.h"

namespace edl::agent {
namespace {

constexpr CgroupFile kKills{"memory.events", "memory.oom_control"};

}  // namespace

std::uint64_t oom_kills_in(std::string_view lines) {
  constexpr std::string_view kName = "oom_kill ";
  for (const std::string_view line : split(lines, '\n')) {
    if (!line.starts_with(kName)) continue;
    std::uint64_t count = 0;
    std::from_chars(line.data() + kName.size(), line.data() + line.size(), count);
    return count;
  }
  return 0;
}

OomCounter::OomCounter(os::Disk& disk) : disk_(disk) {
  const std::string cgroups = read_kernel_file(disk, "/proc/self/cgroup");
  for (const std::string& path : cgroup_paths(cgroups, kKills)) {
    if (read_kernel_file(disk, path).find("oom_kill ") == std::string::npos) continue;
    path_ = path;
    return;
  }
}

std::uint64_t OomCounter::read() const {
  return path_.empty() ? 0 : oom_kills_in(read_kernel_file(disk_, path_));
}

}  // namespace edl::agent
