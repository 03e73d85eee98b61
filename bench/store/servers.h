// The servers that are compared: processes on loopback, their folders beside each other.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "edl/os/posix/system.h"
#include "edl/store/client.h"

namespace edl::bench {

// Runs the loop until `start` has called back.
template <class T>
Result<T> wait_for(os::PosixSystem& system,
                   const std::function<os::Pending(store::Done<T>)>& start) {
  std::optional<Result<T>> got;
  const os::Pending pending = start([&](Result<T> result) {
    got = std::move(result);
    system.finish(0);
  });
  while (!got) system.run();
  return std::move(*got);
}

// A server that we start, kill and start again. It ends with this object, or with us.
class Server {
 public:
  struct Plan {
    std::string name;
    std::vector<std::string> argv;
    std::string log_path;
    http::Url url;
  };

  Server(os::PosixSystem& system, Plan plan) : system_(system), plan_(std::move(plan)) {}
  ~Server() { kill(); }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Until the first range is answered.
  Result<void> start();
  // With signal 9; until it is gone.
  void kill();

  const std::string& name() const { return plan_.name; }
  std::unique_ptr<store::Client> client() const;
  std::int64_t resident_bytes() const;

 private:
  void ask(const store::Client& client, const std::function<void()>& answered);

  os::PosixSystem& system_;
  const Plan plan_;
  std::unique_ptr<os::Child> child_;
  bool alive_ = false;
  os::Pending asking_;
};

// On free ports, with data in `folder`.
Result<std::unique_ptr<Server>> embedded_server(os::PosixSystem& system, const std::string& name,
                                                const std::string& program,
                                                const std::string& folder);
Result<std::unique_ptr<Server>> etcd_server(os::PosixSystem& system, const std::string& program,
                                            const std::string& folder);

}  // namespace edl::bench
