// A connection between two processes of one job, after both have proven the secret.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "edl/os/system.h"
#include "edl/wire/frame_stream.h"
#include "edl/wire/gate.h"

namespace edl::wire {

struct ConnectionOptions {
  Limits limits{};
  std::uint64_t send_queue_bytes_max = 64 << 20;
  // An end that sent nothing for `ping_every` sends a ping; one that heard nothing for
  // `silence_max` closes. Zero: never. The first must be well below the other end's second.
  Duration ping_every{};
  Duration silence_max{};
};

// What a message is, beside its bytes.
struct MessageHead {
  std::uint32_t type = 0;
  model::Generation generation{};
  std::uint64_t first = 0;
  std::uint64_t second = 0;
};

class Connection final : private FrameReceiver {
 public:
  using OnFrame = std::function<void(Frame)>;
  using OnClosed = std::function<void(const Error&)>;

  Connection(os::System& system, std::unique_ptr<FrameStream> stream, JobTag job,
             std::string peer_id, const ConnectionOptions& options);
  ~Connection() override;

  // Frames come from now on. `on_closed` is called once, when the other end is gone or not to be
  // trusted; both callbacks may destroy the connection.
  void start(OnFrame on_frame, OnClosed on_closed);

  // Exhausted when the queue is full; unavailable when the connection is closed.
  Result<void> send(const MessageHead& head, const Json& body = nullptr, Bytes payload = {});
  // Frames of older generations are dropped from now on, those of this one are given.
  void enter(model::Generation generation);
  // Sends what waits, as long as this object lives, then ends. No callback comes any more.
  void close();

  const std::string& peer_id() const { return peer_id_; }
  std::string peer() const { return stream_->peer(); }

 private:
  void on_frame(Frame frame) override;
  void on_broken(const Error& error) override;
  void give(std::vector<Frame> frames);
  void end(const Error& error);
  void watch();

  os::System& system_;
  std::unique_ptr<FrameStream> stream_;
  const JobTag job_;
  const std::string peer_id_;
  const ConnectionOptions options_;
  Gate gate_;
  OnFrame on_frame_;
  OnClosed on_closed_;
  Time last_sent_;
  Time last_heard_;
  os::Pending timer_;
  bool closed_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace edl::wire
