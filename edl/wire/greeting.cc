#include "edl/wire/greeting.h"

#include "edl/base/text.h"

namespace edl::wire {
namespace {

constexpr std::uint64_t kGreetingQueueBytes = 16 * 1024;

}  // namespace

Greeting::Greeting(os::System& system, std::unique_ptr<os::Stream> stream, Handshake handshake,
                   Duration limit, Done done)
    : stream_(std::make_unique<FrameStream>(std::move(stream), kStrangerLimits)),
      handshake_(std::move(handshake)),
      done_(std::move(done)) {
  limit_ = system.after(limit, [this, limit] {
    finish(Error{Code::kTimeout, text("it did not prove the secret within ", limit)});
  });
  if (const auto hello = handshake_.opening()) (void)send(*hello);  // a failure shows when we read
  stream_->set_receiver(this);
}

Result<void> Greeting::send(const Frame& frame) {
  return stream_->send(frame.header, frame.body, {}, kGreetingQueueBytes);
}

void Greeting::on_frame(Frame frame) {
  const auto answer = handshake_.receive(frame);
  if (!answer.ok()) return refuse(answer.error());
  if (answer->has_value()) {
    const auto sent = send(**answer);
    if (!sent.ok()) return finish(sent.error());
  }
  if (handshake_.done()) finish({});
}

void Greeting::on_piece(const Piece& piece) {
  refuse({Code::kInvalid, text("bulk data of type ", piece.header.type, " before the secret")});
}

void Greeting::on_broken(const Error& error) { finish(error); }

void Greeting::refuse(const Error& error) {
  Frame refusal;
  refusal.header.kind = Kind::kRefusal;
  refusal.body = {{"reason", error.message}};
  (void)send(refusal);  // it may be gone; we close anyway
  stream_->close_after_sending();
  finish(error);
}

void Greeting::finish(Result<void> result) {
  stream_->set_receiver(nullptr);
  limit_.cancel();
  const Done done = std::move(done_);
  done_ = nullptr;
  if (done) done(std::move(result));
}

}  // namespace edl::wire
