#include "edl/agent/oom_counter.h"

#include <charconv>

#include "edl/base/text.h"

namespace edl::agent {
namespace {

constexpr std::size_t kBytesMax = 16 * 1024;

// Files of the kernel have no size, so they are read without asking for it.
std::string read_some(os::Disk& disk, const std::string& path) {
  const auto file = disk.open(path, os::Open::kRead);
  if (!file.ok()) return "";
  Bytes bytes(kBytesMax);
  const auto got = (*file)->read_at(0, bytes);
  return got.ok() ? std::string(text_of(ConstBytes(bytes).first(*got))) : "";
}

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

std::vector<std::string> oom_paths(std::string_view cgroups) {
  std::vector<std::string> paths;
  const auto add = [&](std::string_view root, std::string_view group, std::string_view file) {
    if (group != "/") paths.push_back(text(root, group, "/", file));
    paths.push_back(text(root, "/", file));
  };
  for (const std::string_view line : split(cgroups, '\n')) {
    const auto fields = split(line, ':');
    if (fields.size() != 3) continue;
    if (fields[0] == "0") add("/sys/fs/cgroup", fields[2], "memory.events");
    if (fields[1] == "memory") add("/sys/fs/cgroup/memory", fields[2], "memory.oom_control");
  }
  return paths;
}

OomCounter::OomCounter(os::Disk& disk) : disk_(disk) {
  for (const std::string& path : oom_paths(read_some(disk, "/proc/self/cgroup"))) {
    if (read_some(disk, path).find("oom_kill ") == std::string::npos) continue;
    path_ = path;
    return;
  }
}

std::uint64_t OomCounter::read() const {
  return path_.empty() ? 0 : oom_kills_in(read_some(disk_, path_));
}

}  // namespace edl::agent
