#include "edl/os/disk.h"

#include "edl/base/text.h"

namespace edl::os {

std::string parent_directory(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

Result<Bytes> read_file(Disk& disk, const std::string& path, std::uint64_t bytes_max) {
  EDL_TRY(const auto file, disk.open(path, Open::kRead));
  EDL_TRY(const std::uint64_t size, file->size());
  if (size > bytes_max) {
    return Error{Code::kExhausted, text(path, " has ", size, " bytes, the limit is ", bytes_max)};
  }
  Bytes bytes(size);
  EDL_TRY(const std::size_t got, file->read_at(0, bytes));
  bytes.resize(got);
  return bytes;
}

Result<void> replace_file(Disk& disk, const std::string& path, ConstBytes bytes) {
  const std::string beside = path + ".new";
  {
    EDL_TRY(const auto file, disk.open(beside, Open::kWrite));
    EDL_TRY(file->truncate(0));
    EDL_TRY(file->write_at(0, bytes));
    EDL_TRY(file->sync());
  }
  EDL_TRY(disk.rename(beside, path));
  return disk.sync_directory(parent_directory(path));
}

}  // namespace edl::os
