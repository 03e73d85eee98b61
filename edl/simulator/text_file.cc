#include "edl/simulator/text_file.h"

#include "edl/base/text.h"
#include "edl/data/gzip.h"

namespace edl::simulator {

Result<std::string> read_text_file(os::Disk& disk, const std::string& path) {
  EDL_TRY(Bytes bytes, os::read_file(disk, path, kTextFileBytesMax));
  if (data::is_gzip(bytes)) {
    auto plain = data::gunzip(bytes, kTextFileBytesMax);
    if (!plain.ok()) {
      return Error{plain.error().code, text("file ", path, " ", plain.error().message)};
    }
    bytes = std::move(plain).value();
  }
  return std::string(text_of(bytes));
}

bool has_text_file(os::Disk& disk, const std::string& path) {
  return disk.exists(path) || disk.exists(path + ".gz");
}

Result<std::string> read_plain_or_packed(os::Disk& disk, const std::string& path) {
  return read_text_file(disk, disk.exists(path) ? path : path + ".gz");
}

}  // namespace edl::simulator
