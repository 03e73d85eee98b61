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
  std::size_t bulk_queue_max = 65536;       // frames; they own no memory
  std::uint64_t held_bytes_max = 64 << 20;  // that wait for a later generation
  // An end that sent nothing for `ping_every` sends a ping; one that heard nothing for
  // `silence_max` closes. Zero: never. The first must be well below the other end's second.
  Duration ping_every{};
  Duration silence_max{};
  // Of which bulk data for a process of this machine is laid into memory; null: none is.
  std::shared_ptr<SharedMemoryBudget> shared_memory{};
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
  using OnBulk = std::function<void(const Header&, std::uint64_t offset, ConstBytes piece)>;
  // Where the bytes of a bulk frame from `offset` on may be read to; empty when there is no place.
  using BulkPlace = std::function<ByteSpan(const Header&, std::uint64_t offset)>;

  Connection(os::System& system, std::unique_ptr<FrameStream> stream, JobTag job,
             std::string peer_id, const ConnectionOptions& options);
  ~Connection() override;

  // Frames come from now on. `on_closed` is called once, when the other end is gone or not to be
  // trusted; both callbacks may destroy the connection.
  void start(OnFrame on_frame, OnClosed on_closed);

  // Bulk data goes here, in pieces as they come (see Piece). When a frame's generation ends, so do
  // its pieces. A frame that waited for its generation comes as one piece. Without this, a bulk
  // frame closes the connection. It may destroy the connection; `place`, which is asked after a
  // frame's first piece, may not. A piece that lies in its place is given like any other.
  void receive_bulk(OnBulk on_bulk, BulkPlace place = {});

  // Exhausted when the queue is full; unavailable when the connection is closed.
  Result<void> send(const MessageHead& head, const Json& body = nullptr, Bytes payload = {});
  // `payload` is borrowed: it stays as it is until `sent` was called, or this is closed or
  // destroyed. All messages of `send` go first. The type is at least kFirstBulkType.
  Result<void> send_bulk(const MessageHead& head, ConstBytes payload,
                         std::function<void()> sent = {});
  // The same, but it may wait for `flush`: frames that leave together cost one write.
  Result<void> queue_bulk(const MessageHead& head, ConstBytes payload,
                          std::function<void()> sent = {});
  void flush() { stream_->flush(); }
  // Forgets the bulk frames of this generation of which nothing was sent yet; their `sent` is never
  // called.
  void drop_bulk(model::Generation generation) { stream_->drop_bulk(generation); }
  // Says "I am here".
  void ping();
  // Frames of older generations are dropped from now on, those of this one are given.
  void enter(model::Generation generation);
  // Sends what waits except bulk, as long as this object lives, then ends. No callback comes any
  // more. A bulk frame that is half sent ends it at once.
  void close();

  const std::string& peer_id() const { return peer_id_; }
  std::string peer() const { return stream_->peer(); }
  // How much was sent through shared memory.
  std::uint64_t shared_bytes() const { return lent_ ? lent_->placed() : 0; }
  // When the last byte came, also in the middle of a frame.
  Time last_heard() const { return last_heard_; }
  Time last_sent() const { return last_sent_; }

 private:
  void on_frame(Frame frame) override;
  void on_piece(const Piece& piece) override;
  ByteSpan place(const Header& header, std::uint64_t offset) override;
  void on_heard() override { last_heard_ = system_.now(); }
  void on_broken(const Error& error) override;
  void lend_memory();
  void on_memory(const Frame& frame);
  void on_mapped(const Frame& frame);
  void on_taken(const Frame& frame);
  void on_placed(const Frame& frame);
  void tell(Kind kind, std::uint64_t first, const Json& body = nullptr);
  Header header_of(const MessageHead& head) const;
  void hold(const Piece& piece);
  void give(std::vector<Frame> frames);
  void give_bulk(const Piece& piece);
  void end(const Error& error);
  void watch();

  os::System& system_;
  std::unique_ptr<LentMemory> lent_;
  bool has_lent_ = false;  // or tried to
  std::unique_ptr<BorrowedMemory> borrowed_;
  std::unique_ptr<FrameStream> stream_;
  const JobTag job_;
  const std::string peer_id_;
  const ConnectionOptions options_;
  Gate gate_;
  OnFrame on_frame_;
  OnClosed on_closed_;
  std::shared_ptr<const OnBulk> on_bulk_;
  BulkPlace place_;
  Gate::Verdict verdict_ = Gate::Verdict::kDrop;  // of the bulk frame that is coming
  Frame waiting_;                                 // the bulk frame that is coming, to be held
  Time last_sent_;
  Time last_heard_;
  os::Pending timer_;
  bool closed_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace edl::wire
