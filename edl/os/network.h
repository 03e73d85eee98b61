// Byte streams between processes: TCP, and Unix sockets, which also carry memory.
// Callbacks run on the loop's thread, never inside the call that asked for them.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "edl/base/bytes.h"
#include "edl/base/time.h"
#include "edl/os/address.h"
#include "edl/os/memory.h"
#include "edl/os/task.h"

namespace edl::os {

using ReadDone = std::function<void(Result<std::size_t>)>;
using WriteDone = std::function<void(Result<void>)>;
using MemoryDone = std::function<void(Result<std::unique_ptr<Memory>>)>;

// One end of a connection. Destroying it closes it and drops its callbacks. At most one read and
// one write are under way; their buffers stay valid until the callback, `close` or destruction.
class Stream {
 public:
  static constexpr std::size_t kPiecesMax = 16;

  virtual ~Stream() = default;

  // Answers how many bytes came, at least one; 0 when the other end has closed.
  virtual void read(ByteSpan into, ReadDone done) = 0;
  // What has come already, without waiting: how many bytes, 0 when nothing is there now; `read`
  // then tells whether there will be more. Only while no read is under way. A stream may always say
  // 0.
  virtual std::size_t read_now(ByteSpan /*into*/) { return 0; }
  // Answers when all pieces are accepted for sending, which is before they have arrived.
  virtual void write(std::span<const ConstBytes> pieces, WriteDone done) = 0;
  // Sends what was accepted, then ends. No callback comes any more.
  virtual void close() = 0;

  // For Unix sockets only: one byte of the stream carries the memory. A plain read drops it.
  virtual void send_memory(const Memory& memory, WriteDone done) = 0;
  virtual void receive_memory(MemoryDone done) = 0;

  // Whether both ends are on one machine, as far as addresses tell.
  virtual bool is_local() const { return false; }
  // For messages: who is at the other end.
  virtual std::string peer() const = 0;
};

// Accepts connections until it is destroyed.
class Listener {
 public:
  virtual ~Listener() = default;
  // With the port that was chosen when 0 was asked for.
  virtual Address address() const = 0;
};

using Accept = std::function<void(std::unique_ptr<Stream>)>;
using ConnectDone = std::function<void(Result<std::unique_ptr<Stream>>)>;

class Network {
 public:
  virtual ~Network() = default;
  // A Unix path that a dead process left behind is taken over; one in use is a conflict.
  virtual Result<std::unique_ptr<Listener>> listen(const Address& address, Accept accept) = 0;
  virtual Pending connect(const Address& address, Duration limit, ConnectDone done) = 0;
};

}  // namespace edl::os
