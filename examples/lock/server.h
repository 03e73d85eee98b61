// The lock's server: a shell around LockCore. It keeps its epoch on disk, and nothing else.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "edl/os/system.h"
#include "edl/wire/endpoint.h"
#include "examples/lock/core.h"

namespace edl::lock {

struct ServerOptions {
  os::Address address;
  std::string folder;  // for the epoch; one server at a time
  wire::Secret secret;
  Duration lease = 2s;
  std::function<void(const Decision&)> observe = [](const Decision&) {};
};

class LockServer final : public os::Program {
 public:
  // An error when the folder is used by another server, unreadable, or the address is taken.
  static Result<std::unique_ptr<LockServer>> start(os::System& system, ServerOptions options);

  const os::Address& address() const { return address_; }

 private:
  LockServer(os::System& system, ServerOptions options, std::unique_ptr<os::DiskLock> folder_lock,
             std::uint64_t epoch);

  void on_connection(std::unique_ptr<wire::Connection> connection);
  void on_frame(const std::string& client, const wire::Frame& frame);
  void on_gone(const std::string& client);
  void act(const std::vector<Decision>& decisions);

  os::System& system_;
  const ServerOptions options_;
  const std::unique_ptr<os::DiskLock> folder_lock_;
  LockCore core_;
  wire::Endpoint endpoint_;
  os::Address address_;
  std::map<std::string, std::unique_ptr<wire::Connection>> clients_;
  os::Pending timer_;
};

}  // namespace edl::lock
