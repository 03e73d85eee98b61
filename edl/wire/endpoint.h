// Where connections come from: listens and connects for one process of a job, and lets nobody in
// who does not prove the job's secret. Refusals are logged with the reason and the peer.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "edl/os/system.h"
#include "edl/wire/connection.h"
#include "edl/wire/handshake.h"

namespace edl::wire {

struct EndpointOptions {
  std::string job;
  std::string id;  // of this process, for the other end
  Secret secret;
  Duration handshake_limit = 5s;
  std::size_t strangers_max = 64;  // connections that have proven nothing yet
  ConnectionOptions connection{};
};

class Greeting;

class Endpoint {
 public:
  using OnConnection = std::function<void(std::unique_ptr<Connection>)>;
  using ConnectDone = std::function<void(Result<std::unique_ptr<Connection>>)>;

  Endpoint(os::System& system, EndpointOptions options);
  ~Endpoint();

  // Answers the address, with the port that was chosen when it was 0. Listens until the endpoint
  // ends.
  Result<os::Address> listen(const os::Address& address, OnConnection on_connection);
  // `limit` covers the handshake too. The endpoint outlives the attempt.
  [[nodiscard]] os::Pending connect(const os::Address& address, Duration limit, ConnectDone done);

  std::uint64_t refused() const { return refused_; }

 private:
  friend class Greeting;
  class Attempt;

  Nonce fresh_nonce();
  Identity identity();
  std::unique_ptr<Connection> welcome(Greeting& greeting);
  void accept(std::unique_ptr<os::Stream> stream, const OnConnection& on_connection);

  os::System& system_;
  const EndpointOptions options_;
  const JobTag job_;
  const Log log_;
  NonceBook book_;
  std::map<std::uint64_t, std::unique_ptr<Greeting>> strangers_;
  std::uint64_t next_stranger_ = 0;
  std::uint64_t refused_ = 0;
  std::vector<std::unique_ptr<os::Listener>> listeners_;
};

}  // namespace edl::wire
