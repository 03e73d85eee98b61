// Files of text, plain or packed by gzip.
#pragma once

#include <string>

#include "edl/os/disk.h"

namespace edl::simulator {

inline constexpr std::uint64_t kTextFileBytesMax = std::uint64_t{256} << 20;

Result<std::string> read_text_file(os::Disk& disk, const std::string& path);
// `path`, or `path` with .gz behind it, whichever is there.
bool has_text_file(os::Disk& disk, const std::string& path);
Result<std::string> read_plain_or_packed(os::Disk& disk, const std::string& path);

}  // namespace edl::simulator
