#include "edl/os/virtual/connection.h"

#include <algorithm>

#include "edl/base/text.h"

namespace edl::os {
namespace {

constexpr std::size_t kSegmentBytesMax = 64 * 1024;
constexpr std::size_t kSendBufferBytes = 256 * 1024;
constexpr std::size_t kReceiveBufferBytes = 256 * 1024;
constexpr auto kFirstRetry = 200ms;
constexpr int kUnheardMax = 10;  // packets, as the first window of TCP
constexpr auto kRetryMax = 120s;
constexpr auto kGiveUp = 900s;

Error reset_error(const std::string& peer) {
  return {Code::kUnavailable, text("connection with ", peer, ": Connection reset by peer")};
}

}  // namespace

void VirtualConnection::read(int i, ByteSpan into, ReadDone done) {
  End& end = ends_[i];
  if (end.gone) return;
  EDL_CHECK(!end.read_done && !end.memory_done, "a second read at a time");
  EDL_CHECK(!into.empty(), "a read of nothing");
  end.read_into = into;
  end.read_done = std::move(done);
  serve_reader(i);
}

std::size_t VirtualConnection::read_now(int i, ByteSpan into) {
  End& end = ends_[i];
  EDL_CHECK(!end.read_done && !end.memory_done, "a second read at a time");
  if (end.gone || end.incoming.empty() || into.empty()) return 0;
  SharedBytes dropped;
  const std::size_t length = take(end, into, dropped);
  made_room(i);
  return length;
}

void VirtualConnection::receive_memory(int i, MemoryDone done) {
  End& end = ends_[i];
  if (end.gone) return;
  EDL_CHECK(!end.read_done && !end.memory_done, "a second read at a time");
  end.memory_done = std::move(done);
  serve_reader(i);
}

void VirtualConnection::write(int i, std::span<const ConstBytes> pieces, WriteDone done) {
  End& end = ends_[i];
  if (end.gone) return;
  EDL_CHECK(!end.write_done, "a second write at a time");
  EDL_CHECK(pieces.size() <= Stream::kPiecesMax);
  end.write_done = std::move(done);
  Bytes all;
  std::size_t bytes = 0;
  for (const ConstBytes piece : pieces) bytes += piece.size();
  all.reserve(bytes);
  for (const ConstBytes piece : pieces) all.insert(all.end(), piece.begin(), piece.end());
  for (std::size_t at = 0; at < all.size();) {
    std::size_t length = std::min(all.size() - at, kSegmentBytesMax);
    // Now and then a cut in an odd place: readers must not count on whole messages.
    if (length > 1 && network_.random_.once_in(8)) length = 1 + network_.random_.below(length - 1);
    const auto first = all.begin() + static_cast<std::ptrdiff_t>(at);
    accept_bytes(
        i, {.bytes = Bytes(first, first + static_cast<std::ptrdiff_t>(length)), .memory = {}});
    at += length;
  }
  pump(i);
  serve_writer(i);
}

void VirtualConnection::send_memory(int i, SharedBytes memory, WriteDone done) {
  End& end = ends_[i];
  if (end.gone) return;
  EDL_CHECK(!end.write_done, "a second write at a time");
  end.write_done = std::move(done);
  accept_bytes(i, {.bytes = Bytes(1), .memory = std::move(memory)});
  pump(i);
  serve_writer(i);
}

void VirtualConnection::close(int i) {
  End& end = ends_[i];
  if (end.gone) return;
  const bool unread = end.incoming_bytes > 0;
  leave(end);
  if (end.broken) return;
  // A kernel that throws away bytes tells so with a reset, as Linux does.
  if (unread) return send_reset(i);
  accept_bytes(i, {.bytes = {}, .memory = {}, .last = true});
  pump(i);
}

void VirtualConnection::vanish(int i) {
  End& end = ends_[i];
  leave(end);
  end.queue.clear();
  end.flight.clear();
}

// Nobody is there any more to be called back or to read.
void VirtualConnection::leave(End& end) {
  end.gone = true;
  end.read_done = nullptr;
  end.memory_done = nullptr;
  end.write_done = nullptr;
  end.incoming.clear();
}

void VirtualConnection::accept_bytes(int i, Segment segment) {
  if (!ends_[i].broken) ends_[i].queue.push_back(std::move(segment));
}

// Sends what the send buffer has room for.
void VirtualConnection::pump(int i) {
  End& end = ends_[i];
  const End& other = ends_[1 - i];
  while (!end.queue.empty() && end.unacknowledged < kSendBufferBytes) {
    Segment segment = std::move(end.queue.front());
    end.queue.pop_front();
    const Time now = network_.events_.now();
    const Time arrival = now + network_.packet_delay(end.node, other.node, segment.bytes.size());
    if (arrival < end.last_arrival) network_.trace_.hit("fault.net_reorder");
    segment.arrival = std::max(arrival, end.last_arrival);  // waits for those before it
    segment.sent = now;
    segment.again_after = kFirstRetry;
    end.last_arrival = segment.arrival;
    end.unacknowledged += segment.bytes.size();
    end.flight.push_back(std::move(segment));
    if (end.flight.size() == 1) schedule_head(i);
  }
}

void VirtualConnection::schedule_head(int i) {
  const Time when = std::max(ends_[i].flight.front().arrival, network_.events_.now());
  network_.events_.at(when, [self = shared_from_this(), i] { self->head_arrives(i); });
}

void VirtualConnection::retry_head(int i) {
  Segment& head = ends_[i].flight.front();
  if (network_.events_.now() - head.sent > kGiveUp) {
    return break_end(i, {Code::kTimeout, text("connection with ", ends_[i].sees, ": timed out")});
  }
  head.arrival = network_.events_.now() + head.again_after;
  head.again_after = std::min<Duration>(head.again_after * 2, kRetryMax);
  schedule_head(i);
}

void VirtualConnection::head_arrives(int i) {
  End& from = ends_[i];
  End& to = ends_[1 - i];
  if (from.flight.empty()) return;  // reset meanwhile
  if (network_.blocked(from.node, to.node)) {
    network_.trace_.hit("fault.net_blocked_packet");
    return retry_head(i);
  }
  // Who hears of no arrival sends what it has sent again, and soon nothing new.
  if (from.unheard > kUnheardMax && network_.blocked(to.node, from.node)) {
    network_.trace_.hit("net.unheard_sender");
    return retry_head(i);
  }
  if (to.gone) {
    // Nobody is there to close towards, or the answer to bytes is a reset.
    if (from.flight.front().last) return from.flight.clear();
    send_reset(1 - i);
    return retry_head(i);
  }
  int packets = 0;
  std::size_t bytes = 0;
  while (!from.flight.empty() && from.flight.front().arrival <= network_.events_.now()) {
    const std::size_t more = from.flight.front().bytes.size();
    if (to.incoming_bytes + more > kReceiveBufferBytes && to.incoming_bytes > 0) {
      network_.trace_.hit("net.receiver_full");
      from.head_waits_for_room = true;
      break;
    }
    receive(1 - i, std::move(from.flight.front()));
    from.flight.pop_front();
    ++packets;
    bytes += more;
  }
  if (!from.flight.empty() && !from.head_waits_for_room) schedule_head(i);
  if (packets == 0) return;
  from.unheard += packets;
  acknowledge(i, packets, bytes, kFirstRetry);
  if (can_serve_reader(1 - i)) to.process->deliver(reader_task(1 - i));
}

void VirtualConnection::receive(int i, Segment segment) {
  End& end = ends_[i];
  network_.trace_.number(segment.bytes.size());
  if (segment.last) {
    end.ended = true;
  } else {
    end.incoming_bytes += segment.bytes.size();
    end.incoming.push_back({std::move(segment.bytes), 0, std::move(segment.memory)});
  }
}

// End 1 - i tells end i what arrived: with the arrival, which saves an event for each packet, or
// again and again while the way back is cut.
void VirtualConnection::acknowledge(int i, int packets, std::size_t bytes, Duration again_after) {
  End& sender = ends_[i];
  if (network_.blocked(ends_[1 - i].node, sender.node)) {
    const Duration next = std::min<Duration>(again_after * 2, kRetryMax);
    network_.events_.after(again_after, [self = shared_from_this(), i, packets, bytes, next] {
      self->acknowledge(i, packets, bytes, next);
    });
    return;
  }
  sender.unacknowledged -= bytes;
  sender.unheard -= packets;
  pump(i);
  serve_writer(i);
}

// End i tells the other that it knows no such connection. May be lost; the other asks again.
void VirtualConnection::send_reset(int i) {
  const Duration delay = network_.packet_delay(ends_[i].node, ends_[1 - i].node, 0);
  network_.events_.after(delay, [self = shared_from_this(), i] {
    const End& sender = self->ends_[i];
    if (self->network_.blocked(sender.node, self->ends_[1 - i].node)) return;
    self->network_.trace_.hit("net.reset");
    self->break_end(1 - i, reset_error(self->ends_[1 - i].sees));
  });
}

void VirtualConnection::break_end(int i, Error error) {
  End& end = ends_[i];
  end.queue.clear();
  end.flight.clear();
  end.incoming.clear();
  end.incoming_bytes = 0;
  if (end.broken) return;
  end.broken = std::move(error);
  if (end.gone) return;
  serve_reader(i);
  serve_writer(i);
}

bool VirtualConnection::can_serve_reader(int i) const {
  const End& end = ends_[i];
  const bool something = !end.incoming.empty() || end.ended || end.broken;
  return something && (end.read_done || end.memory_done);
}

void VirtualConnection::serve_reader(int i) {
  if (can_serve_reader(i)) ends_[i].process->deliver_after(Duration::zero(), reader_task(i));
}

// The answer is worked out when the process gets it: until then it may close or be stopped.
Task VirtualConnection::reader_task(int i) {
  return [self = shared_from_this(), i] {
    if (self->can_serve_reader(i)) self->answer_reader(i);
  };
}

void VirtualConnection::answer_reader(int i) {
  End& reader = ends_[i];
  const ReadDone done = std::move(reader.read_done);
  const MemoryDone memory_done = std::move(reader.memory_done);
  reader.read_done = nullptr;
  reader.memory_done = nullptr;
  if (reader.incoming.empty()) {
    const Error closed{Code::kUnavailable, text("connection with ", reader.sees, " has ended")};
    if (done && !reader.broken) return done(std::size_t{0});
    const Error error = reader.broken.value_or(closed);
    return done ? done(error) : memory_done(error);
  }
  SharedBytes memory;
  const std::size_t length = take(reader, done ? reader.read_into : ByteSpan(), memory);
  made_room(i);
  if (done) return done(length);
  if (memory) return memory_done(std::unique_ptr<Memory>(new VirtualMemory(memory)));
  memory_done(Error{Code::kInvalid, "cannot receive memory: the other end sent plain bytes"});
}

void VirtualConnection::made_room(int i) {
  End& sender = ends_[1 - i];
  if (!sender.head_waits_for_room) return;
  sender.head_waits_for_room = false;
  schedule_head(1 - i);
}

// Takes as many bytes as have come and fit into `into`, or the one byte that carries memory.
std::size_t VirtualConnection::take(End& reader, ByteSpan into, SharedBytes& memory) {
  std::size_t wanted = into.empty() ? 1 : std::min(into.size(), reader.incoming_bytes);
  if (wanted > 1 && network_.random_.once_in(16)) {
    wanted = 1 + network_.random_.below(wanted - 1);
    network_.trace_.hit("net.short_read");
  }
  std::size_t taken = 0;
  while (taken < wanted && !memory && (taken == 0 || !reader.incoming.front().memory)) {
    Chunk& chunk = reader.incoming.front();
    const std::size_t length = std::min(wanted - taken, chunk.bytes.size() - chunk.taken);
    const auto first = chunk.bytes.begin() + static_cast<std::ptrdiff_t>(chunk.taken);
    if (!into.empty()) std::copy_n(first, length, into.subspan(taken).begin());
    memory = std::move(chunk.memory);
    chunk.taken += length;
    taken += length;
    if (chunk.taken == chunk.bytes.size()) reader.incoming.pop_front();
  }
  reader.incoming_bytes -= taken;
  return taken;
}

void VirtualConnection::serve_writer(int i) {
  End& end = ends_[i];
  if (!end.write_done || (!end.queue.empty() && !end.broken)) return;
  end.process->deliver_after(Duration::zero(), [self = shared_from_this(), i] {
    End& writer = self->ends_[i];
    if (!writer.write_done || (!writer.queue.empty() && !writer.broken)) return;
    const WriteDone done = std::move(writer.write_done);
    writer.write_done = nullptr;
    if (writer.broken) return done(*writer.broken);
    done({});
  });
}

}  // namespace edl::os
