#include "edl/wire/connection.h"

#include <algorithm>
#include <utility>

#include "edl/base/text.h"

namespace edl::wire {

Connection::Connection(os::System& system, std::unique_ptr<FrameStream> stream, JobTag job,
                       std::string peer_id, const ConnectionOptions& options)
    : system_(system),
      stream_(std::move(stream)),
      job_(job),
      peer_id_(std::move(peer_id)),
      options_(options),
      gate_(job, model::Lane(0), options.held_bytes_max),
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

void Connection::receive_bulk(OnBulk on_bulk, BulkPlace place) {
  place_ = std::move(place);
  on_bulk_ = std::make_shared<const OnBulk>(std::move(on_bulk));
}

Header Connection::header_of(const MessageHead& head) const {
  Header header;
  header.job = job_;
  header.type = head.type;
  header.generation = head.generation;
  header.first = head.first;
  header.second = head.second;
  return header;
}

Result<void> Connection::send(const MessageHead& head, const Json& body, Bytes payload) {
  EDL_CHECK(head.type < kFirstBulkType, "bulk data goes by send_bulk");
  last_sent_ = system_.now();
  return stream_->send(header_of(head), body, std::move(payload), options_.send_queue_bytes_max);
}

Result<void> Connection::send_bulk(const MessageHead& head, ConstBytes payload,
                                   std::function<void()> sent) {
  EDL_TRY(queue_bulk(head, payload, std::move(sent)));
  flush();
  return {};
}

Result<void> Connection::queue_bulk(const MessageHead& head, ConstBytes payload,
                                    std::function<void()> sent) {
  EDL_CHECK(head.type >= kFirstBulkType, "only bulk data goes by queue_bulk");
  const SharedMemoryBudget* const budget = options_.shared_memory.get();
  if (budget != nullptr && payload.size() >= budget->placed_bytes_min) lend_memory();
  last_sent_ = system_.now();
  return stream_->queue_bulk(header_of(head), payload, std::move(sent), options_.bulk_queue_max);
}

void Connection::ping() { tell(Kind::kPing, 0); }

void Connection::tell(Kind kind, std::uint64_t first, const Json& body) {
  Header header;
  header.kind = kind;
  header.job = job_;
  header.first = first;
  last_sent_ = system_.now();
  (void)stream_->send(header, body, {}, options_.send_queue_bytes_max);  // full: not silent
}

void Connection::enter(model::Generation generation) { give(gate_.enter(generation)); }

void Connection::close() {
  closed_ = true;
  timer_.cancel();
  stream_->close_after_sending();
}

void Connection::on_frame(Frame frame) {
  switch (frame.header.kind) {
    case Kind::kMessage:
      break;
    case Kind::kPing:
      return;
    case Kind::kMemory:
      return on_memory(frame);
    case Kind::kMapped:
      return on_mapped(frame);
    case Kind::kTaken:
      return on_taken(frame);
    case Kind::kPlaced:
      return on_placed(frame);
    default:
      return end(
          {Code::kInvalid, text("a ", kind_name(frame.header.kind), " after the handshake")});
  }
  auto seen = gate_.admit(std::move(frame));
  if (!seen.ok()) return end(seen.error());
  give(std::move(seen).value());
}

// Once; without it, everything goes by the stream.
void Connection::lend_memory() {
  if (std::exchange(has_lent_, true) || !options_.shared_memory || !stream_->is_local()) return;
  auto made = LentMemory::make(system_, options_.shared_memory);
  if (!made.ok()) {
    return system_.log().debug("no memory is shared",
                               {{"peer", peer_id_}, {"why", made.error().message}});
  }
  lent_ = std::move(made).value();
  tell(Kind::kMemory, 0, lent_->invitation());
}

// Who lends memory to us sends much, and will get as much.
void Connection::on_memory(const Frame& frame) {
  if (borrowed_) return end({Code::kInvalid, "shared memory for the second time"});
  auto found = BorrowedMemory::find(system_, frame.body);
  if (found.ok()) borrowed_ = std::move(found).value();
  if (!found.ok()) {
    system_.log().debug("shared memory is not seen",
                        {{"peer", peer_id_}, {"why", found.error().message}});
  }
  tell(Kind::kMapped, borrowed_ ? 1 : 0);
  lend_memory();
}

void Connection::on_mapped(const Frame& frame) {
  if (!lent_) return end({Code::kInvalid, "memory is mapped that was not lent"});
  if (frame.header.first == 0) return lent_.reset();
  lent_->mapped();
  stream_->set_memory(lent_.get());
}

void Connection::on_taken(const Frame& frame) {
  if (!lent_ || !lent_->take(frame.header.first)) {
    return end({Code::kInvalid, "bytes are taken that were not in shared memory"});
  }
  stream_->flush();
}

// Like a bulk frame that came in one piece.
void Connection::on_placed(const Frame& frame) {
  const auto placed = decode_placed(frame.payload);
  if (!placed.ok()) return end(placed.error());
  const auto bytes =
      borrowed_ ? borrowed_->at(*placed) : Error{Code::kInvalid, "no shared memory is there"};
  if (!bytes.ok()) return end(bytes.error());
  Header header = frame.header;
  header.kind = Kind::kMessage;
  header.payload_bytes = placed->bytes;
  if (!is_bulk(header)) {
    return end({Code::kInvalid, text("a placed message of type ", header.type)});
  }
  const std::shared_ptr<bool> alive = alive_;
  on_piece({header, 0, *bytes});
  if (!*alive || closed_) return;
  if (const auto taken = borrowed_->done(*placed)) tell(Kind::kTaken, *taken);
}

void Connection::on_piece(const Piece& piece) {
  if (!on_bulk_) {
    return end({Code::kInvalid, text("bulk data of type ", piece.header.type, " for nobody")});
  }
  if (piece.offset == 0) {
    const auto verdict = gate_.judge(piece.header);
    if (!verdict.ok()) return end(verdict.error());
    verdict_ = *verdict;
    if (verdict_ == Gate::Verdict::kDrop) gate_.drop();
  }
  if (verdict_ == Gate::Verdict::kHold) return hold(piece);
  // The generation may have ended since the frame began.
  if (verdict_ == Gate::Verdict::kShow && gate_.is_seen(piece.header)) give_bulk(piece);
}

// Only for a frame that is being shown: its first piece was judged by the gate and by the receiver.
ByteSpan Connection::place(const Header& header, std::uint64_t offset) {
  if (!place_ || offset == 0 || verdict_ != Gate::Verdict::kShow || !gate_.is_seen(header)) {
    return {};
  }
  return place_(header, offset);
}

// Memory is taken only as bytes come. When the frame is whole the gate looks at it anew: its
// generation may have begun meanwhile.
void Connection::hold(const Piece& piece) {
  if (piece.offset == 0) waiting_ = {.header = piece.header, .body = nullptr, .payload = {}};
  waiting_.payload.insert(waiting_.payload.end(), piece.bytes.begin(), piece.bytes.end());
  if (!piece.is_last()) return;
  auto seen = gate_.admit(std::exchange(waiting_, {}));
  if (!seen.ok()) return end(seen.error());
  give(std::move(seen).value());
}

void Connection::give_bulk(const Piece& piece) {
  const std::shared_ptr<const OnBulk> on_bulk = on_bulk_;
  (*on_bulk)(piece.header, piece.offset, piece.bytes);
}

void Connection::give(std::vector<Frame> frames) {
  const std::shared_ptr<bool> alive = alive_;
  const OnFrame on_frame = on_frame_;
  for (Frame& frame : frames) {
    if (!*alive || closed_) return;
    if (is_bulk(frame.header)) {
      give_bulk({frame.header, 0, frame.payload});
    } else {
      on_frame(std::move(frame));
    }
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
      ping();
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
