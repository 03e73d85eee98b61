// Turns a stream of bytes, cut anywhere, into frames. No I/O: its user reads into `space` and tells
// how much came. Large payloads are read straight into their place; those of bulk frames are shown
// where they were read.
#pragma once

#include <variant>

#include "edl/wire/frame.h"

namespace edl::wire {

// Nothing yet, a whole frame, or a piece of a bulk frame.
using Parsed = std::variant<std::monostate, Frame, Piece>;

class FrameParser {
 public:
  explicit FrameParser(const Limits& limits);

  void set_limits(const Limits& limits) { limits_ = limits; }

  // Where the next bytes go; never empty. Valid until the next call.
  ByteSpan space();
  void filled(std::size_t bytes);

  // What comes next, if it is there. The bytes of a piece stay until the next call of `space`.
  // After an error the stream is of no use any more.
  Result<Parsed> next();

  // The bulk frame of which all that was read is given and more must come; null when it is not so.
  const Header* open_bulk() const;
  std::uint64_t open_offset() const { return payload_filled_; }
  // Its next bytes, which were not read into `space`. Not more than it lacks.
  Piece next_placed(ConstBytes bytes);

 private:
  std::size_t buffered() const { return end_ - begin_; }
  void take(ByteSpan into);
  Result<bool> parse_header();
  Result<bool> parse_body();
  bool fill_payload();
  Piece next_piece(ConstBytes bytes);
  void begin_frame();

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
