// Frames over a stream: reads and parses, queues and writes. It has one receiver at a time; without
// one it reads nothing, so that no frame is lost between two of them.
//
// Two queues: frames that own what they carry, and bulk frames, whose payload is borrowed. Where
// one frame ends and another begins, the first queue goes first.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "edl/os/network.h"
#include "edl/wire/parser.h"
#include "edl/wire/shared_bulk.h"

namespace edl::wire {

class FrameReceiver {
 public:
  virtual ~FrameReceiver() = default;
  virtual void on_frame(Frame frame) = 0;
  // Its bytes are valid during the call.
  virtual void on_piece(const Piece& piece) = 0;
  // Where the payload of this bulk frame may be read to from `offset` on, without being copied;
  // empty when there is no such place. Pieces of it then lie there.
  virtual ByteSpan place(const Header& /*header*/, std::uint64_t /*offset*/) { return {}; }
  // Bytes came, of whatever. This one leaves the receiver and the stream alone.
  virtual void on_heard() {}
  // The stream is of no use any more. Called once, last.
  virtual void on_broken(const Error& error) = 0;
};

class FrameStream {
 public:
  using Sent = std::function<void()>;

  FrameStream(std::unique_ptr<os::Stream> stream, const Limits& limits);
  ~FrameStream() { *alive_ = false; }

  // Any of the receiver's calls may change the receiver or destroy this object. Frames that were
  // read already are given before this returns.
  void set_receiver(FrameReceiver* receiver);
  void set_limits(const Limits& limits) { parser_.set_limits(limits); }

  // Exhausted when more than `queue_bytes_max` would wait to be sent.
  Result<void> send(Header header, const Json& body, Bytes payload, std::uint64_t queue_bytes_max);
  // Goes with the next flush or `send`. The payload stays as it is until `sent` was called, the
  // frame was dropped or this is closed. Exhausted when `queue_max` bulk frames wait.
  Result<void> queue_bulk(Header header, ConstBytes payload, Sent sent, std::size_t queue_max);
  void flush() { write(); }
  // Bulk frames that it takes are laid there from now on; null: no more. Borrowed.
  void set_memory(LentMemory* memory) { memory_ = memory; }
  // Forgets the bulk frames of this generation of which nothing was sent yet; their `sent` is never
  // called.
  void drop_bulk(model::Generation generation);
  // Reads nothing more and drops bulk frames; closes when all else that waits is sent. A bulk frame
  // that is half sent ends it at once, because its payload is borrowed no longer.
  void close_after_sending();

  bool is_local() const { return stream_->is_local(); }
  std::string peer() const { return stream_->peer(); }

 private:
  struct Outgoing {
    HeaderBytes header{};
    std::string body;
    Bytes payload;
    std::uint64_t bytes() const { return header.size() + body.size() + payload.size(); }
  };
  struct OutgoingBulk {
    Header header{};
    ConstBytes payload;
    Sent sent;
    // When it is being written.
    HeaderBytes header_bytes{};
    std::array<std::byte, kPlacedBytesBytes> place{};
  };

  Result<void> check_open() const;
  void read();
  void give_frames();
  void give(Parsed parsed);
  std::size_t read_now();
  void write();
  void add_bulk(std::vector<ConstBytes>& pieces);
  bool add(OutgoingBulk& bulk, std::vector<ConstBytes>& pieces);
  void written();
  void fail(const Error& error);

  std::unique_ptr<os::Stream> stream_;
  FrameParser parser_;
  FrameReceiver* receiver_ = nullptr;
  LentMemory* memory_ = nullptr;
  std::deque<Outgoing> queue_;
  std::deque<OutgoingBulk> bulk_;
  std::uint64_t queue_bytes_ = 0;
  std::size_t frames_writing_ = 0;  // at the front of each queue
  std::size_t bulk_writing_ = 0;
  std::vector<ConstBytes> pieces_;  // of the write under way
  bool reading_ = false;
  bool giving_ = false;
  bool closing_ = false;
  std::optional<Error> error_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace edl::wire
