#include "edl/data/lines.h"

#include <algorithm>

#include "edl/base/text.h"

namespace edl::data {
namespace {

// As much as was read already: a file of a few lines costs little.
constexpr std::size_t kReadBytesMin = 4 * 1024;
constexpr std::size_t kReadBytesMax = 256 * 1024;

}  // namespace

LineReader::LineReader(os::File& file, std::size_t line_bytes_max)
    : file_(file), line_bytes_max_(line_bytes_max) {}

Result<std::optional<std::string_view>> LineReader::next() {
  for (;;) {
    const std::size_t end = buffer_.find('\n', scanned_);
    const std::size_t length = (end == std::string::npos ? buffer_.size() : end) - begin_;
    if (length > line_bytes_max_) {
      return Error{Code::kExhausted,
                   text("line ", line_number_ + 1, " is longer than ", line_bytes_max_, " bytes")};
    }
    if (end != std::string::npos) {
      const std::string_view line = std::string_view(buffer_).substr(begin_, length);
      begin_ = scanned_ = end + 1;
      ++line_number_;
      return std::optional<std::string_view>(line);
    }
    if (ended_) {
      cut_ = length > 0;
      return std::optional<std::string_view>();
    }
    buffer_.erase(0, begin_);
    begin_ = 0;
    scanned_ = buffer_.size();
    buffer_.resize(scanned_ + std::clamp<std::size_t>(offset_, kReadBytesMin, kReadBytesMax));
    EDL_TRY(const std::size_t got,
            file_.read_at(offset_, std::as_writable_bytes(std::span(buffer_).subspan(scanned_))));
    buffer_.resize(scanned_ + got);
    offset_ += got;
    ended_ = got == 0;
  }
}

}  // namespace edl::data
