#include "edl/wire/frame_stream.h"

#include <algorithm>
#include <vector>

#include "edl/base/text.h"

namespace edl::wire {
namespace {

constexpr std::size_t kFramesPerWrite = os::Stream::kPiecesMax / 3;

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
    if (!giving_) give_frames();
  });
}

void FrameStream::give_frames() {
  const std::shared_ptr<bool> alive = alive_;
  giving_ = true;
  while (receiver_ != nullptr && !closing_ && !error_) {
    auto frame = parser_.next();
    if (!frame.ok()) {
      giving_ = false;
      return fail(frame.error());
    }
    if (!frame->has_value()) break;
    receiver_->on_frame(std::move(**frame));
    if (!*alive) return;
  }
  giving_ = false;
  if (error_ && receiver_ != nullptr) return fail(*error_);
  read();
}

Result<void> FrameStream::send(Header header, const Json& body, Bytes payload,
                               std::uint64_t queue_bytes_max) {
  if (closing_ || error_)
    return Error{Code::kUnavailable, text("the connection with ", peer(), " is closed")};
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

void FrameStream::write() {
  if (writing_ || queue_.empty()) return;
  writing_ = true;
  std::vector<ConstBytes> pieces;
  const std::size_t frames = std::min(queue_.size(), kFramesPerWrite);
  for (std::size_t i = 0; i < frames; ++i) {
    pieces.emplace_back(queue_[i].header);
    if (!queue_[i].body.empty()) pieces.push_back(bytes_of(queue_[i].body));
    if (!queue_[i].payload.empty()) pieces.emplace_back(queue_[i].payload);
  }
  stream_->write(pieces, [this, frames](Result<void> done) {
    if (!done.ok()) return fail(done.error());
    written(frames);
  });
}

void FrameStream::written(std::size_t frames) {
  writing_ = false;
  for (std::size_t i = 0; i < frames; ++i) {
    queue_bytes_ -= queue_.front().bytes();
    queue_.pop_front();
  }
  if (!queue_.empty()) return write();
  if (closing_) stream_->close();
}

void FrameStream::close_after_sending() {
  closing_ = true;
  receiver_ = nullptr;
  if (queue_.empty()) stream_->close();
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
