#include "edl/http/buffers.h"

#include <algorithm>
#include <cstring>

#include "edl/base/check.h"
#include "edl/http/encode.h"
#include "edl/os/network.h"

namespace edl::http {
namespace {

constexpr std::size_t kInboxBytes = 2 << 10;  // of an idle connection
constexpr std::size_t kTogetherMax = 4 << 10;
constexpr std::size_t kWriteBytes = 256 << 10;

}  // namespace

ByteSpan Inbox::space(std::size_t bytes_max) {
  if (first_ == last_) first_ = last_ = 0;
  const bool no_room = last_ == buffer_.size();
  if (buffer_.empty()) {
    buffer_.resize(std::min(kInboxBytes, bytes_max));
  } else if ((no_room && first_ == 0) || was_full_) {
    move_into(std::max(std::min(buffer_.size() * 2, bytes_max), buffer_.size()));
  } else if (no_room) {
    move_into(buffer_.size());
  }
  was_full_ = false;
  return ByteSpan(buffer_).subspan(last_);
}

void Inbox::filled(std::size_t bytes) {
  EDL_CHECK(bytes <= buffer_.size() - last_);
  last_ += bytes;
  was_full_ = last_ == buffer_.size();
}

void Inbox::taken(std::size_t bytes) {
  EDL_CHECK(bytes <= last_ - first_);
  first_ += bytes;
}

void Inbox::shrink() {
  was_full_ = false;
  if (buffer_.size() > kInboxBytes && last_ - first_ <= kInboxBytes / 2) move_into(kInboxBytes);
}

void Inbox::move_into(std::size_t size) {
  const ConstBytes waiting = bytes();
  if (size == buffer_.size()) {
    std::memmove(buffer_.data(), waiting.data(), waiting.size());
  } else {
    Bytes larger(size);
    std::ranges::copy(waiting, larger.begin());
    buffer_ = std::move(larger);
  }
  last_ -= first_;
  first_ = 0;
}

void Outbox::add(std::string piece) {
  if (piece.empty()) return;
  bytes_ += piece.size();
  if (pieces_.size() > under_way_ && pieces_.back().size() + piece.size() <= kTogetherMax) {
    pieces_.back() += piece;
  } else {
    pieces_.push_back(std::move(piece));
  }
}

void Outbox::add_chunk(std::string piece) {
  if (piece.empty()) return;  // it would end the body
  add(chunk_head(piece.size()));
  add(std::move(piece));
  add(std::string(kChunkEnd));
}

std::vector<ConstBytes> Outbox::next() {
  EDL_CHECK(under_way_ == 0);
  std::vector<ConstBytes> out;
  std::size_t skip = front_written_;
  for (const std::string& piece : pieces_) {
    if (out.size() == os::Stream::kPiecesMax || bytes_under_way_ == kWriteBytes) break;
    const ConstBytes left = bytes_of(piece).subspan(skip);
    skip = 0;
    out.push_back(left.first(std::min(left.size(), kWriteBytes - bytes_under_way_)));
    bytes_under_way_ += out.back().size();
  }
  under_way_ = out.size();
  return out;
}

void Outbox::written() {
  bytes_ -= bytes_under_way_;
  std::size_t gone = front_written_ + bytes_under_way_;
  while (!pieces_.empty() && gone >= pieces_.front().size()) {
    gone -= pieces_.front().size();
    pieces_.pop_front();
  }
  front_written_ = gone;
  under_way_ = 0;
  bytes_under_way_ = 0;
}

}  // namespace edl::http
