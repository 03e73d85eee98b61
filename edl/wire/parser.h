// Turns a stream of bytes, cut anywhere, into frames. No I/O: its user reads into `space` and tells
// how much came. Large payloads are read straight into their place.
#pragma once

#include <optional>

#include "edl/wire/frame.h"

namespace edl::wire {

class FrameParser {
 public:
  explicit FrameParser(const Limits& limits);

  void set_limits(const Limits& limits) { limits_ = limits; }

  // Where the next bytes go; never empty. Valid until the next call.
  ByteSpan space();
  void filled(std::size_t bytes);

  // The next whole frame, if there is one. After an error the stream is of no use any more.
  Result<std::optional<Frame>> next();

 private:
  std::size_t buffered() const { return end_ - begin_; }
  void take(ByteSpan into);
  Result<bool> parse_header();
  Result<bool> parse_body();
  bool fill_payload();

  Limits limits_;
  Bytes buffer_;
  std::size_t begin_ = 0;  // what is unread lies in [begin_, end_)
  std::size_t end_ = 0;
  bool has_header_ = false;
  bool has_body_ = false;
  std::size_t payload_filled_ = 0;
  Frame frame_;
};

}  // namespace edl::wire
