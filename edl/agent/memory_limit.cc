#include "edl/agent/memory_limit.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <vector>

#include "edl/agent/kernel_file.h"
#include "edl/base/text.h"

namespace edl::agent {
namespace {

// What a cgroup without a limit calls its limit: all that fits into a number, in whole pages.
constexpr std::uint64_t kNoLimit = std::uint64_t{1} << 62;

std::optional<std::uint64_t> number_in(std::string_view words) {
  const std::string_view trimmed = trim(words);
  std::uint64_t number = 0;
  const char* const end = trimmed.data() + trimmed.size();
  const auto [at, failed] = std::from_chars(trimmed.data(), end, number);
  if (failed != std::errc()) return std::nullopt;
  return number;
}

std::optional<std::uint64_t> number_behind(std::string_view name, std::string_view lines) {
  for (const std::string_view line : split(lines, '\n')) {
    if (line.starts_with(name)) return number_in(line.substr(name.size()));
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::uint64_t> memory_in(std::string_view meminfo) {
  const auto kilobytes = number_behind("MemAvailable:", meminfo);
  if (!kilobytes) return std::nullopt;
  return *kilobytes * 1024;
}

std::optional<std::uint64_t> memory_left(const CgroupMemory& group) {
  const auto limit = number_in(group.limit);
  if (!limit || *limit >= kNoLimit) return std::nullopt;
  const std::uint64_t used = number_in(group.used).value_or(0);
  const auto whole = number_behind("total_inactive_file ", group.stat);  // with groups below
  const std::uint64_t idle =
      whole ? *whole : number_behind("inactive_file ", group.stat).value_or(0);
  const std::uint64_t needed = used - std::min(used, idle);
  return *limit - std::min(*limit, needed);
}

std::uint64_t available_memory(os::Disk& disk) {
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
  if (const auto machine = memory_in(read_kernel_file(disk, "/proc/meminfo"))) least = *machine;
  const std::string cgroups = read_kernel_file(disk, "/proc/self/cgroup");
  const auto limits = cgroup_paths(cgroups, {"memory.max", "memory.limit_in_bytes"});
  const auto used = cgroup_paths(cgroups, {"memory.current", "memory.usage_in_bytes"});
  const auto stats = cgroup_paths(cgroups, {"memory.stat", "memory.stat"});
  for (std::size_t i = 0; i < limits.size(); ++i) {
    const std::string limit = read_kernel_file(disk, limits[i]);
    const std::string now = read_kernel_file(disk, used[i]);
    const std::string stat = read_kernel_file(disk, stats[i]);
    if (const auto left = memory_left({limit, now, stat})) least = std::min(least, *left);
  }
  return least;
}

}  // namespace edl::agent
