#include "edl/cli/new_directory.h"

#include <algorithm>

#include "edl/base/text.h"

namespace edl::cli {
namespace {

// What cannot be removed stays: nobody can do more about it.
void remove_tree(os::Disk& disk, const std::string& path) {
  const auto entries = disk.list(path);
  if (entries.ok()) {
    for (const std::string& name : *entries) remove_tree(disk, text(path, "/", name));
  }
  (void)disk.remove(path);
}

}  // namespace

NewDirectory::NewDirectory(os::Disk& disk, std::string path)
    : disk_(disk), path_(std::move(path)), existed_(disk.exists(path_)) {
  const auto entries = disk_.list(path_);
  if (entries.ok()) before_ = *entries;
  for (std::string above = os::parent_directory(path_); !disk_.exists(above);
       above = os::parent_directory(above)) {
    missing_.push_back(above);
  }
}

void NewDirectory::clear() {
  const auto entries = disk_.list(path_);
  if (!entries.ok()) return;
  for (const std::string& name : *entries) {
    if (!std::ranges::binary_search(before_, name)) remove_tree(disk_, text(path_, "/", name));
  }
  if (existed_) return;
  (void)disk_.remove(path_);
  for (const std::string& above : missing_) (void)disk_.remove(above);
}

}  // namespace edl::cli
