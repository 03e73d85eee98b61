// One handshake over one stream, within a time limit; for the files of this folder only.
#pragma once

#include <functional>
#include <memory>

#include "edl/os/system.h"
#include "edl/wire/frame_stream.h"
#include "edl/wire/handshake.h"

namespace edl::wire {

class Greeting final : private FrameReceiver {
 public:
  // `done` gets nothing, or why it failed. It may destroy the greeting.
  using Done = std::function<void(Result<void>)>;

  Greeting(os::System& system, std::unique_ptr<os::Stream> stream, Handshake handshake,
           Duration limit, Done done);

  const std::string& peer_id() const { return handshake_.peer_id(); }
  std::string peer() const { return stream_->peer(); }
  // After success: the stream, without a receiver.
  std::unique_ptr<FrameStream> take_stream() { return std::move(stream_); }

 private:
  void on_frame(Frame frame) override;
  void on_piece(const Piece& piece) override;
  void on_broken(const Error& error) override;
  void refuse(const Error& error);
  void finish(Result<void> result);
  Result<void> send(const Frame& frame);

  std::unique_ptr<FrameStream> stream_;
  Handshake handshake_;
  Done done_;
  os::Pending limit_;
};

}  // namespace edl::wire
