// The way to one other member: posts memory of a device to it. What arrives from it is handed to
// AllReduce::on_bulk by whoever owns the connection.
#pragma once

#include <functional>

#include "edl/collective/buffer.h"
#include "edl/wire/connection.h"

namespace edl::collective {

class Link {
 public:
  virtual ~Link() = default;
  // Sends the bytes, in the order of posting, at the latest when `flush` is called. They stay as
  // they are until `sent` was called, they were dropped, or the link's connection has ended.
  virtual Result<void> post(const wire::MessageHead& head, const Buffer& bytes,
                            std::function<void()> sent) = 0;
  // The same for memory of the host, whatever the device.
  virtual Result<void> post_host(const wire::MessageHead& head, ConstBytes bytes,
                                 std::function<void()> sent) = 0;
  virtual void flush() {}
  // Forgets what of this generation was posted and is not on its way yet; its `sent` is never
  // called.
  virtual void drop(model::Generation generation) = 0;
};

// Over TCP or a Unix socket, of the memory of the CPU. Borrows the connection.
class ConnectionLink final : public Link {
 public:
  explicit ConnectionLink(wire::Connection& connection) : connection_(connection) {}

  Result<void> post(const wire::MessageHead& head, const Buffer& bytes,
                    std::function<void()> sent) override {
    EDL_CHECK(bytes.device() == Device());
    return connection_.queue_bulk(head, {bytes.address(), bytes.bytes()}, std::move(sent));
  }
  Result<void> post_host(const wire::MessageHead& head, ConstBytes bytes,
                         std::function<void()> sent) override {
    return connection_.queue_bulk(head, bytes, std::move(sent));
  }
  void flush() override { connection_.flush(); }
  void drop(model::Generation generation) override { connection_.drop_bulk(generation); }

 private:
  wire::Connection& connection_;
};

}  // namespace edl::collective
