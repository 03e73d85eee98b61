// The views that a member knew, in a file beside its ledger: one JSON line each, only ever added
// to.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "edl/model/view.h"
#include "edl/os/disk.h"

namespace edl::data {

class ViewsFile {
 public:
  // Made when absent. A last line that was not written to its end, or has a hole that a power cut
  // left, is removed.
  static Result<std::unique_ptr<ViewsFile>> open(os::Disk& disk, const std::string& path);

  // One that the file has already is not written again. Kept for good when this returns: views are
  // rare, and the ledger cannot be read without them.
  Result<void> append(const model::View& view);

  // Of the newest view; 0 when there is none.
  model::Generation newest() const { return newest_; }

 private:
  explicit ViewsFile(std::unique_ptr<os::File> file) : file_(std::move(file)) {}

  std::unique_ptr<os::File> file_;
  std::uint64_t end_ = 0;
  model::Generation newest_;
};

// In the order of the file. kCorrupt for a line that is no view.
Result<std::vector<model::View>> read_views(os::Disk& disk, const std::string& path);

}  // namespace edl::data
