// A directory that a job is about to be made in. When its start is refused, what has come into it
// goes away again, and what was there before stays.
#pragma once

#include <string>
#include <vector>

#include "edl/os/disk.h"

namespace edl::cli {

class NewDirectory {
 public:
  // Takes note of what is there.
  NewDirectory(os::Disk& disk, std::string path);

  // Takes away what came since, which must be nobody else's.
  void clear();

 private:
  os::Disk& disk_;
  const std::string path_;
  const bool existed_;
  std::vector<std::string> before_;   // its entries
  std::vector<std::string> missing_;  // folders above it that were not there, the innermost first
};

}  // namespace edl::cli
