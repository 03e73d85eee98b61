// One virtual connection: two ends and the bytes on their way; for the files of this folder only.
#pragma once

#include <array>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "edl/os/virtual/network.h"

namespace edl::os {

using SharedBytes = std::shared_ptr<Bytes>;

// Memory of a virtual world. Everyone holds the same bytes; only the maker may write.
class VirtualMemory final : public Memory {
 public:
  // `at`: its place, when it is ours.
  explicit VirtualMemory(SharedBytes shared, std::string at = {})
      : content(std::move(shared)), place_(std::move(at)) {}
  ConstBytes bytes() const override { return *content; }
  ByteSpan writable() override { return place_.empty() ? ByteSpan() : ByteSpan(*content); }
  std::string place() const override { return place_; }

  const SharedBytes content;

 private:
  const std::string place_;
};

struct VirtualConnection : std::enable_shared_from_this<VirtualConnection> {
  explicit VirtualConnection(VirtualNetwork& network) : network_(network) {}

  struct Segment {
    Bytes bytes;
    SharedBytes memory;  // carried by a segment of one byte
    bool last = false;   // the sender has closed
    Time arrival{};
    Time sent{};
    Duration again_after{};  // the next try, if this one fails
  };
  struct Chunk {
    Bytes bytes;
    std::size_t taken = 0;
    SharedBytes memory;
  };
  struct End {
    ProcessPtr process;
    int node = 0;
    std::string sees;    // the other end's name
    bool gone = false;   // closed, or its machine lost power
    bool ended = false;  // the other end has closed, and all it sent is in `incoming`
    std::optional<Error> broken;
    std::deque<Chunk> incoming;
    std::size_t incoming_bytes = 0;
    // At most one of these two is waiting.
    ByteSpan read_into;
    ReadDone read_done;
    MemoryDone memory_done;
    WriteDone write_done;
    // Towards the other end.
    std::deque<Segment> queue;   // accepted, not yet sent
    std::deque<Segment> flight;  // sent, not yet received
    std::size_t unacknowledged = 0;
    int unheard = 0;  // packets that have arrived and are not acknowledged
    Time last_arrival{};
    bool head_waits_for_room = false;
  };

  // What the ends do; `i` is 0 or 1.
  void read(int i, ByteSpan into, ReadDone done);
  std::size_t read_now(int i, ByteSpan into);
  void receive_memory(int i, MemoryDone done);
  void write(int i, std::span<const ConstBytes> pieces, WriteDone done);
  void send_memory(int i, SharedBytes memory, WriteDone done);
  void close(int i);
  // The end's machine is gone: nothing is sent.
  void vanish(int i);

 private:
  friend class VirtualNetwork;
  friend class VirtualStream;

  static void leave(End& end);
  void accept_bytes(int i, Segment segment);
  void pump(int i);
  void schedule_head(int i);
  void head_arrives(int i);
  void retry_head(int i);
  void receive(int i, Segment segment);
  void acknowledge(int i, int packets, std::size_t bytes, Duration again_after);
  void send_reset(int i);
  void break_end(int i, Error error);
  bool can_serve_reader(int i) const;
  void serve_reader(int i);
  Task reader_task(int i);
  void answer_reader(int i);
  void made_room(int i);
  std::size_t take(End& reader, ByteSpan into, SharedBytes& memory);
  void serve_writer(int i);

  VirtualNetwork& network_;
  std::array<End, 2> ends_;
};

}  // namespace edl::os
