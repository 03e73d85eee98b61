#include "edl/agent/kernel_file.h"

#include "edl/base/text.h"

namespace edl::agent {
namespace {

constexpr std::size_t kBytesMax = 16 * 1024;

}  // namespace

std::string read_kernel_file(os::Disk& disk, const std::string& path) {
  const auto file = disk.open(path, os::Open::kRead);
  if (!file.ok()) return "";
  Bytes bytes(kBytesMax);
  const auto got = (*file)->read_at(0, bytes);
  return got.ok() ? std::string(text_of(ConstBytes(bytes).first(*got))) : "";
}

std::vector<std::string> cgroup_paths(std::string_view cgroups, const CgroupFile& file) {
  std::vector<std::string> paths;
  const auto add = [&](std::string_view root, std::string_view group, std::string_view name) {
    if (group != "/") paths.push_back(text(root, group, "/", name));
    paths.push_back(text(root, "/", name));
  };
  for (const std::string_view line : split(cgroups, '\n')) {
    const auto fields = split(line, ':');
    if (fields.size() != 3) continue;
    if (fields[0] == "0") add("/sys/fs/cgroup", fields[2], file.unified);
    if (fields[1] == "memory") add("/sys/fs/cgroup/memory", fields[2], file.legacy);
  }
  return paths;
}

}  // namespace edl::agent
