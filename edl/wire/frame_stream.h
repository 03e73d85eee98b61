// Frames over a stream: reads and parses, queues and writes. It has one receiver at a time; without
// one it reads nothing, so that no frame is lost between two of them.
#pragma once

#include <deque>
#include <memory>

#include "edl/os/network.h"
#include "edl/wire/parser.h"

namespace edl::wire {

class FrameReceiver {
 public:
  virtual ~FrameReceiver() = default;
  virtual void on_frame(Frame frame) = 0;
  // The stream is of no use any more. Called once, last.
  virtual void on_broken(const Error& error) = 0;
};

class FrameStream {
 public:
  FrameStream(std::unique_ptr<os::Stream> stream, const Limits& limits);
  ~FrameStream() { *alive_ = false; }

  // Either of the receiver's calls may change the receiver or destroy this object. Frames that were
  // read already are given before this returns.
  void set_receiver(FrameReceiver* receiver);
  void set_limits(const Limits& limits) { parser_.set_limits(limits); }

  // Exhausted when more than `queue_bytes_max` would wait to be sent.
  Result<void> send(Header header, const Json& body, Bytes payload, std::uint64_t queue_bytes_max);
  // Reads nothing more; closes when all that waits is sent.
  void close_after_sending();

  std::string peer() const { return stream_->peer(); }

 private:
  struct Outgoing {
    HeaderBytes header{};
    std::string body;
    Bytes payload;
    std::uint64_t bytes() const { return header.size() + body.size() + payload.size(); }
  };

  void read();
  void give_frames();
  void write();
  void written(std::size_t frames);
  void fail(const Error& error);

  std::unique_ptr<os::Stream> stream_;
  FrameParser parser_;
  FrameReceiver* receiver_ = nullptr;
  std::deque<Outgoing> queue_;
  std::uint64_t queue_bytes_ = 0;
  bool reading_ = false;
  bool giving_ = false;
  bool writing_ = false;
  bool closing_ = false;
  std::optional<Error> error_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace edl::wire
