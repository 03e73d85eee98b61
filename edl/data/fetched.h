// Files that were brought to this node, and where they lie.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "edl/os/disk.h"

namespace edl::data {

struct FetchedFile {
  std::string name{};
  std::string path{};
  std::string sha256{};  // empty: a path that was not checked
  std::uint64_t bytes = 0;
  bool was_here = true;
};

struct Fetched {
  std::vector<FetchedFile> files{};
  std::vector<std::unique_ptr<os::DiskLock>> uses{};  // while they are held, the files stay

  Result<std::string> path(const std::string& name) const;
};

}  // namespace edl::data
