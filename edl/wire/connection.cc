#include "edl/wire/connection.h"

#include <algorithm>

#include "edl/base/text.h"

namespace edl::wire {

Connection::Connection(os::System& system, std::unique_ptr<FrameStream> stream, JobTag job,
                       std::string peer_id, const ConnectionOptions& options)
    : system_(system),
      stream_(std::move(stream)),
      job_(job),
      peer_id_(std::move(peer_id)),
      options_(options),
      gate_(job, model::Lane(0)),
      last_sent_(system.now()),
      last_heard_(system.now()) {
  stream_->set_limits(options.limits);
}

Connection::~Connection() { *alive_ = false; }

void Connection::start(OnFrame on_frame, OnClosed on_closed) {
  on_frame_ = std::move(on_frame);
  on_closed_ = std::move(on_closed);
  watch();
  // Not at once: frames that came already must not be given inside this call.
  system_.post([this, alive = alive_] {
    if (*alive && !closed_) stream_->set_receiver(this);
  });
}

Result<void> Connection::send(const MessageHead& head, const Json& body, Bytes payload) {
  Header header;
  header.job = job_;
  header.type = head.type;
  header.generation = head.generation;
  header.first = head.first;
  header.second = head.second;
  last_sent_ = system_.now();
  return stream_->send(header, body, std::move(payload), options_.send_queue_bytes_max);
}

void Connection::enter(model::Generation generation) { give(gate_.enter(generation)); }

void Connection::close() {
  closed_ = true;
  timer_.cancel();
  stream_->close_after_sending();
}

void Connection::on_frame(Frame frame) {
  last_heard_ = system_.now();
  if (frame.header.kind == Kind::kPing) return;
  if (frame.header.kind != Kind::kMessage) {
    return end({Code::kInvalid, text("a ", kind_name(frame.header.kind), " after the handshake")});
  }
  auto seen = gate_.admit(std::move(frame));
  if (!seen.ok()) return end(seen.error());
  give(std::move(seen).value());
}

void Connection::give(std::vector<Frame> frames) {
  const std::shared_ptr<bool> alive = alive_;
  const OnFrame on_frame = on_frame_;
  for (Frame& frame : frames) {
    if (!*alive || closed_) return;
    on_frame(std::move(frame));
  }
}

void Connection::on_broken(const Error& error) { end(error); }

void Connection::end(const Error& error) {
  if (closed_) return;
  close();
  system_.log().debug("connection closed", {{"peer", peer_id_}, {"why", error.message}});
  const OnClosed on_closed = std::move(on_closed_);
  on_closed_ = nullptr;
  if (on_closed) on_closed(error);
}

// Looks after the silence of both ends, at the next time that one of them could matter.
void Connection::watch() {
  const Time now = system_.now();
  Duration next = Duration::max();
  if (options_.ping_every > Duration::zero()) {
    if (now - last_sent_ >= options_.ping_every) {
      Header ping;
      ping.kind = Kind::kPing;
      ping.job = job_;
      last_sent_ = now;
      (void)stream_->send(ping, nullptr, {}, options_.send_queue_bytes_max);  // full: not silent
    }
    next = std::min(next, last_sent_ + options_.ping_every - now);
  }
  if (options_.silence_max > Duration::zero()) {
    if (now - last_heard_ >= options_.silence_max) {
      return end({Code::kTimeout, text(peer_id_, " was silent for ", options_.silence_max)});
    }
    next = std::min(next, last_heard_ + options_.silence_max - now);
  }
  if (next != Duration::max()) timer_ = system_.after(next, [this] { watch(); });
}

}  // namespace edl::wire
