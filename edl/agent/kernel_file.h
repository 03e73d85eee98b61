// Files in which the kernel tells about this process and its cgroup. They have no size, so they are
// read without asking for it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "edl/os/disk.h"

namespace edl::agent {

// Empty when there is no such file.
std::string read_kernel_file(os::Disk& disk, const std::string& path);

// One file of the memory controller, as each version of cgroups calls it.
struct CgroupFile {
  std::string_view unified;  // cgroup 2
  std::string_view legacy;   // cgroup 1
};
// Where to look for it, by the lines of /proc/self/cgroup: best first.
std::vector<std::string> cgroup_paths(std::string_view cgroups, const CgroupFile& file);

}  // namespace edl::agent
