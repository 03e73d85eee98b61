// Reads a file line by line without holding more of it than one line and a buffer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "edl/os/disk.h"

namespace edl::data {

class LineReader {
 public:
  // The file outlives the reader.
  LineReader(os::File& file, std::size_t line_bytes_max);

  // Without its end; valid until the next call. Nothing at the end of the file. A last line that
  // has no end was cut off while it was written: it is passed over, and `cut` says so. kExhausted
  // for a line above the limit.
  Result<std::optional<std::string_view>> next();
  std::uint64_t line_number() const { return line_number_; }  // of the last line, from 1
  bool cut() const { return cut_; }

 private:
  os::File& file_;
  std::size_t line_bytes_max_;
  std::uint64_t offset_ = 0;
  std::string buffer_;
  std::size_t begin_ = 0;    // of what was not given out yet
  std::size_t scanned_ = 0;  // no end of a line before this
  std::uint64_t line_number_ = 0;
  bool ended_ = false;
  bool cut_ = false;
};

}  // namespace edl::data
