#include "edl/wire/parser.h"

#include <algorithm>

#include "edl/base/text.h"

namespace edl::wire {
namespace {

// Most connections carry small messages only; bulk data makes the buffer grow.
constexpr std::size_t kBufferBytes = 4 << 10;
constexpr std::size_t kBulkBufferBytes = 256 << 10;
// Memory for a payload grows with what really came, so that a header alone cannot claim it.
constexpr std::size_t kPayloadGrowBytes = 4 << 20;

}  // namespace

FrameParser::FrameParser(const Limits& limits) : limits_(limits), buffer_(kBufferBytes) {}

ByteSpan FrameParser::space() {
  if (has_body_ && buffered() == 0 && payload_filled_ < frame_.header.payload_bytes) {
    const std::uint64_t whole = frame_.header.payload_bytes;
    const std::size_t grown = std::min<std::uint64_t>(whole, payload_filled_ + kPayloadGrowBytes);
    if (frame_.payload.size() < grown) frame_.payload.resize(grown);
    return ByteSpan(frame_.payload).subspan(payload_filled_);
  }
  if (begin_ > 0) {
    std::copy(buffer_.begin() + static_cast<std::ptrdiff_t>(begin_),
              buffer_.begin() + static_cast<std::ptrdiff_t>(end_), buffer_.begin());
    end_ -= begin_;
    begin_ = 0;
  }
  // A body can be longer than the buffer; it is bounded by the limits.
  std::size_t needed = has_header_ ? frame_.header.body_bytes : kHeaderBytes;
  if (has_header_ && is_bulk(frame_.header)) needed = kBulkBufferBytes;
  if (buffer_.size() < needed) buffer_.resize(needed);
  if (end_ == buffer_.size()) buffer_.resize(2 * buffer_.size());
  return ByteSpan(buffer_).subspan(end_);
}

void FrameParser::filled(std::size_t bytes) {
  const bool into_payload =
      has_body_ && buffered() == 0 && payload_filled_ < frame_.header.payload_bytes;
  if (into_payload) {
    payload_filled_ += bytes;
    EDL_CHECK(payload_filled_ <= frame_.payload.size());
  } else {
    end_ += bytes;
    EDL_CHECK(end_ <= buffer_.size());
  }
}

void FrameParser::take(ByteSpan into) {
  std::copy_n(buffer_.begin() + static_cast<std::ptrdiff_t>(begin_), into.size(), into.begin());
  begin_ += into.size();
}

Result<Parsed> FrameParser::next() {
  EDL_TRY(const bool header, parse_header());
  if (!header) return Parsed();
  if (is_bulk(frame_.header)) {
    const std::uint64_t missing = frame_.header.payload_bytes - payload_filled_;
    const std::size_t length = std::min<std::uint64_t>(missing, buffered());
    if (length == 0 && missing > 0) return Parsed();
    begin_ += length;
    return next_piece(ConstBytes(buffer_).subspan(begin_ - length, length));
  }
  EDL_TRY(const bool body, parse_body());
  if (!body || !fill_payload()) return Parsed();
  Parsed whole(std::move(frame_));
  begin_frame();
  return whole;
}

void FrameParser::begin_frame() {
  frame_ = Frame();
  has_header_ = false;
  has_body_ = false;
  payload_filled_ = 0;
}

Piece FrameParser::next_piece(ConstBytes bytes) {
  const Piece piece{frame_.header, payload_filled_, bytes};
  payload_filled_ += bytes.size();
  if (piece.is_last()) begin_frame();
  return piece;
}

const Header* FrameParser::open_bulk() const {
  return has_header_ && is_bulk(frame_.header) && buffered() == 0 ? &frame_.header : nullptr;
}

Piece FrameParser::next_placed(ConstBytes bytes) {
  EDL_CHECK(open_bulk() != nullptr && !bytes.empty() &&
            bytes.size() <= frame_.header.payload_bytes - payload_filled_);
  return next_piece(bytes);
}

Result<bool> FrameParser::parse_header() {
  if (has_header_) return true;
  if (buffered() < kHeaderBytes) {
    EDL_TRY(check_beginning(ConstBytes(buffer_).subspan(begin_, buffered())));
    return false;
  }
  HeaderBytes bytes;
  take(bytes);
  EDL_TRY(frame_.header, decode(bytes, limits_));
  if (is_bulk(frame_.header) && frame_.header.body_bytes > 0) {
    return Error{Code::kCorrupt, "a bulk frame with a body"};
  }
  has_header_ = true;
  return true;
}

Result<bool> FrameParser::parse_body() {
  if (has_body_) return true;
  if (buffered() < frame_.header.body_bytes) return false;
  if (frame_.header.body_bytes > 0) {
    const ConstBytes bytes = ConstBytes(buffer_).subspan(begin_, frame_.header.body_bytes);
    if (crc32c(bytes) != frame_.header.body_crc) {
      return Error{Code::kCorrupt, "a frame whose body does not fit its checksum"};
    }
    EDL_TRY(frame_.body, parse_json(text_of(bytes), {.bytes_max = limits_.body_bytes_max}));
    begin_ += frame_.header.body_bytes;
  }
  has_body_ = true;
  return true;
}

// Takes what is buffered; the rest comes by `space`. True when the payload is whole.
bool FrameParser::fill_payload() {
  const std::uint64_t missing = frame_.header.payload_bytes - payload_filled_;
  const std::size_t length = std::min<std::uint64_t>(missing, buffered());
  if (length > 0) {
    const std::size_t filled = payload_filled_ + length;
    if (frame_.payload.size() < filled) frame_.payload.resize(filled);
    take(ByteSpan(frame_.payload).subspan(payload_filled_, length));
    payload_filled_ = filled;
  }
  return payload_filled_ == frame_.header.payload_bytes;
}

}  // namespace edl::wire
