// How much memory the workers of this machine can take: what the kernel has, and what the limits of
// our cgroup leave.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "edl/os/disk.h"

namespace edl::agent {

// Without a number from the kernel there is no limit: the largest one.
std::uint64_t available_memory(os::Disk& disk);

// Of the lines of /proc/meminfo; nothing when they do not tell.
std::optional<std::uint64_t> memory_in(std::string_view meminfo);

// Of a cgroup's files, of either version; nothing when it has no limit. Pages of files that nobody
// uses are counted as used by the kernel, but it gives them up.
struct CgroupMemory {
  std::string_view limit{};
  std::string_view used{};
  std::string_view stat{};
};
std::optional<std::uint64_t> memory_left(const CgroupMemory& group);

}  // namespace edl::agent
