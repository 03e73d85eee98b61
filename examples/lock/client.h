// The lock's client: a shell around HolderCore that connects, asks, renews, and connects again.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "edl/os/system.h"
#include "edl/wire/endpoint.h"
#include "examples/lock/holder.h"

namespace edl::lock {

struct ClientOptions {
  os::Address server;
  std::string id;
  wire::Secret secret;
  Duration lease = 2s;  // the server's
  // Called when it begins to hold the lock. Whether it still does, only `holds` tells.
  std::function<void()> on_held = [] {};
};

class LockClient {
 public:
  LockClient(os::System& system, ClientOptions options);

  void want();
  void release();
  // Take the time before you ask: the process may be stopped between the two.
  bool holds(Time now) const { return core_.holds(now); }
  const Token& token() const { return core_.token(); }

 private:
  void connect();
  void connect_later();
  void on_frame(const wire::Frame& frame);
  void ask();

  os::System& system_;
  const ClientOptions options_;
  wire::Endpoint endpoint_;
  HolderCore core_;
  bool wanted_ = false;
  bool held_ = false;  // as told to on_held
  Duration backoff_;
  std::unique_ptr<wire::Connection> connection_;
  os::Pending connecting_;
  os::Pending retry_;
  os::Pending timer_;
};

}  // namespace edl::lock
