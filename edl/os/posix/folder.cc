#include "edl/os/folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "edl/base/text.h"
#include "edl/os/posix/descriptor.h"

namespace edl::os {
namespace {

WallTime wall_time_of(const timespec& time) {
  return WallTime(std::chrono::duration_cast<WallTime::duration>(
      std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec)));
}

}  // namespace

Result<std::vector<FolderEntry>> list_folder(const std::string& path, std::size_t entries_max) {
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(path.c_str()), &::closedir);
  if (folder == nullptr) return os_error(errno, text("list ", path));
  std::vector<FolderEntry> entries;
  while (const dirent* entry = ::readdir(folder.get())) {
    FolderEntry found{.name = entry->d_name};
    struct stat status {};
    if (found.name == "." || found.name == "..") continue;
    if (::fstatat(::dirfd(folder.get()), entry->d_name, &status, 0) != 0) continue;
    found.is_folder = S_ISDIR(status.st_mode);
    if (!found.is_folder && !S_ISREG(status.st_mode)) continue;
    if (entries.size() == entries_max) {
      return Error{Code::kExhausted,
                   text(path, " holds more entries than the limit of ", entries_max)};
    }
    found.bytes = found.is_folder ? 0 : static_cast<std::uint64_t>(status.st_size);
    found.changed = wall_time_of(status.st_mtim);
    entries.push_back(std::move(found));
  }
  std::sort(entries.begin(), entries.end(),
            [](const FolderEntry& a, const FolderEntry& b) { return a.name < b.name; });
  return entries;
}

Result<void> touch(const std::string& path) {
  if (::utimensat(AT_FDCWD, path.c_str(), nullptr, 0) == 0) return {};
  return os_error(errno, text("touch ", path));
}

}  // namespace edl::os
