// What a folder holds, with sizes: for those who read many files of it later.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "edl/base/result.h"
#include "edl/base/time.h"

namespace edl::os {

struct FolderEntry {
  std::string name;
  bool is_folder = false;  // or a link to one
  std::uint64_t bytes = 0;
  WallTime changed{};  // when it was last written, or touched
};

// Sorted by the bytes of their names. What is neither a file nor a folder is passed over, and so is
// what disappears meanwhile. kExhausted above `entries_max`.
Result<std::vector<FolderEntry>> list_folder(const std::string& path, std::size_t entries_max);

// Makes `changed` of the file the present time.
Result<void> touch(const std::string& path);

}  // namespace edl::os
