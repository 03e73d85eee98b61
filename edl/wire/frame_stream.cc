#include "edl/wire/frame_stream.h"

#include <algorithm>
#include <vector>

#include "edl/base/text.h"

namespace edl::wire {
namespace {

constexpr std::size_t kFramesPerWrite = 3;
// Small frames share a write, with a large one too; two large ones do not, so that messages wait
// for few bytes.
constexpr std::size_t kBulkBytesPerWrite = (1 << 20) + (64 << 10);
// That a turn of the loop takes beyond its read: others are to have theirs.
constexpr std::size_t kBytesPerTurn = 4 << 20;

}  // namespace

FrameStream::FrameStream(std::unique_ptr<os::Stream> stream, const Limits& limits)
    : stream_(std::move(stream)), parser_(limits) {}

void FrameStream::set_receiver(FrameReceiver* receiver) {
  receiver_ = receiver;
  if (receiver_ != nullptr && !giving_) give_frames();
}

void FrameStream::read() {
  if (reading_ || receiver_ == nullptr || closing_ || error_) return;
  reading_ = true;
  stream_->read(parser_.space(), [this](Result<std::size_t> got) {
    reading_ = false;
    if (!got.ok()) return fail(got.error());
    if (*got == 0) return fail({Code::kUnavailable, text(peer(), " closed the connection")});
    parser_.filled(*got);
    if (receiver_ != nullptr) receiver_->on_heard();
    if (!giving_) give_frames();
  });
}

void FrameStream::give_frames() {
  const std::shared_ptr<bool> alive = alive_;
  giving_ = true;
  std::size_t bytes = 0;  // beyond what was read already
  while (receiver_ != nullptr && !closing_ && !error_) {
    auto parsed = parser_.next();
    if (!parsed.ok()) {
      giving_ = false;
      return fail(parsed.error());
    }
    if (std::holds_alternative<std::monostate>(*parsed)) {
      const std::size_t more = bytes < kBytesPerTurn ? read_now() : 0;
      if (!*alive) return;
      if (more == 0) break;
      bytes += more;
      continue;
    }
    give(std::move(parsed).value());
    if (!*alive) return;
  }
  giving_ = false;
  if (error_ && receiver_ != nullptr) return fail(*error_);
  read();
}

void FrameStream::give(Parsed parsed) {
  if (const auto* piece = std::get_if<Piece>(&parsed)) return receiver_->on_piece(*piece);
  receiver_->on_frame(std::move(std::get<Frame>(parsed)));
}

// More of a bulk frame, if it is there: into its place or, without one, into the parser's space.
std::size_t FrameStream::read_now() {
  const Header* bulk = reading_ ? nullptr : parser_.open_bulk();
  if (bulk == nullptr) return 0;
  const std::uint64_t offset = parser_.open_offset();
  ByteSpan place = receiver_->place(*bulk, offset);
  if (place.empty()) {
    const std::size_t got = stream_->read_now(parser_.space());
    if (got == 0) return 0;
    parser_.filled(got);
    receiver_->on_heard();
    return got;
  }
  place = place.first(std::min<std::uint64_t>(place.size(), bulk->payload_bytes - offset));
  const std::size_t got = stream_->read_now(place);
  if (got == 0) return 0;
  receiver_->on_heard();
  receiver_->on_piece(parser_.next_placed(place.first(got)));
  return got;
}

Result<void> FrameStream::check_open() const {
  if (!closing_ && !error_) return {};
  return Error{Code::kUnavailable, text("the connection with ", peer(), " is closed")};
}

Result<void> FrameStream::send(Header header, const Json& body, Bytes payload,
                               std::uint64_t queue_bytes_max) {
  EDL_TRY(check_open());
  Outgoing outgoing;
  outgoing.body = seal(header, body, payload.size());
  outgoing.header = encode(header);
  outgoing.payload = std::move(payload);
  if (queue_bytes_ + outgoing.bytes() > queue_bytes_max) {
    return Error{Code::kExhausted, text("cannot send to ", peer(), ": ", queue_bytes_,
                                        " bytes wait already, the limit is ", queue_bytes_max)};
  }
  queue_bytes_ += outgoing.bytes();
  queue_.push_back(std::move(outgoing));
  write();
  return {};
}

Result<void> FrameStream::queue_bulk(Header header, ConstBytes payload, Sent sent,
                                     std::size_t queue_max) {
  EDL_TRY(check_open());
  if (bulk_.size() >= queue_max) {
    return Error{Code::kExhausted, text("cannot send to ", peer(), ": ", bulk_.size(),
                                        " bulk frames wait already, the limit is ", queue_max)};
  }
  seal(header, nullptr, payload.size());
  bulk_.push_back({.header = header, .payload = payload, .sent = std::move(sent)});
  return {};
}

void FrameStream::drop_bulk(model::Generation generation) {
  const auto waiting = bulk_.begin() + static_cast<std::ptrdiff_t>(bulk_writing_);
  bulk_.erase(std::remove_if(waiting, bulk_.end(),
                             [&](const auto& one) { return one.header.generation == generation; }),
              bulk_.end());
}

void FrameStream::write() {
  if (!pieces_.empty() || error_) return;
  frames_writing_ = std::min(queue_.size(), kFramesPerWrite);
  for (std::size_t i = 0; i < frames_writing_; ++i) {
    pieces_.emplace_back(queue_[i].header);
    if (!queue_[i].body.empty()) pieces_.push_back(bytes_of(queue_[i].body));
    if (!queue_[i].payload.empty()) pieces_.emplace_back(queue_[i].payload);
  }
  add_bulk(pieces_);
  if (pieces_.empty()) return;
  stream_->write(pieces_, [this](Result<void> done) {
    if (!done.ok()) return fail(done.error());
    written();
  });
}

void FrameStream::add_bulk(std::vector<ConstBytes>& pieces) {
  bulk_writing_ = 0;
  std::size_t bytes = 0;
  while (bulk_writing_ < bulk_.size() && pieces.size() + 2 <= os::Stream::kPiecesMax) {
    OutgoingBulk& next = bulk_[bulk_writing_];
    if (bytes > 0 && bytes + next.payload.size() > kBulkBytesPerWrite) break;
    if (!add(next, pieces)) break;
    bytes += kHeaderBytes + next.payload.size();
    ++bulk_writing_;
  }
}

// False: it waits until the other end has taken something out of the memory.
bool FrameStream::add(OutgoingBulk& bulk, std::vector<ConstBytes>& pieces) {
  if (memory_ == nullptr || !memory_->takes(bulk.payload.size())) {
    bulk.header_bytes = encode(bulk.header);
    pieces.emplace_back(bulk.header_bytes);
    if (!bulk.payload.empty()) pieces.push_back(bulk.payload);
    return true;
  }
  const auto placed = memory_->put(bulk.payload);
  if (!placed) return false;
  bulk.place = encode(*placed);
  bulk.header.kind = Kind::kPlaced;
  bulk.header.payload_bytes = bulk.place.size();
  bulk.header_bytes = encode(bulk.header);
  pieces.emplace_back(bulk.header_bytes);
  pieces.emplace_back(bulk.place);
  return true;
}

void FrameStream::written() {
  pieces_.clear();
  for (; frames_writing_ > 0; --frames_writing_) {
    queue_bytes_ -= queue_.front().bytes();
    queue_.pop_front();
  }
  std::vector<Sent> sent;
  for (; bulk_writing_ > 0; --bulk_writing_) {
    if (bulk_.front().sent) sent.push_back(std::move(bulk_.front().sent));
    bulk_.pop_front();
  }
  write();
  if (closing_ && pieces_.empty()) stream_->close();
  const std::shared_ptr<bool> alive = alive_;
  for (const Sent& tell : sent) {
    if (*alive && !closing_) tell();
  }
}

void FrameStream::close_after_sending() {
  closing_ = true;
  receiver_ = nullptr;
  bulk_.resize(bulk_writing_);
  if (queue_.empty() || bulk_writing_ > 0) stream_->close();
}

void FrameStream::fail(const Error& error) {
  if (!error_) error_ = error;
  stream_->close();
  if (receiver_ == nullptr) return;  // the next receiver is told
  FrameReceiver* receiver = receiver_;
  receiver_ = nullptr;
  const Error told = *error_;
  receiver->on_broken(told);
}

}  // namespace edl::wire
