// An HTTP/1.1 server on one address. Thousands of idle connections cost memory, not threads.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "edl/http/message.h"
#include "edl/http/tls.h"
#include "edl/os/system.h"

namespace edl::http {

class ServerConnection;
struct ServerShared;

// A request and its answer: whole, or as a stream of chunks. It may outlive its connection; then
// nothing that is sent arrives and `on_gone` was called. Destroyed without a whole answer, it
// closes the connection.
class Exchange {
 public:
  explicit Exchange(std::shared_ptr<ServerConnection> connection);
  ~Exchange();
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  // For a streamed request the body is empty: see `read_body`.
  const Request& request() const { return request_; }
  std::string peer() const;

  void answer(Response response);

  // A streamed answer: `begin`, any number of `send`, `end`. Each piece is sent as one chunk.
  void begin(int status, Headers headers);
  void send(std::string piece);
  void end();
  // Sent but not yet taken by the network. Above `unsent_bytes_max` the connection is closed, so
  // a sender of much waits for `on_sent` before it goes on.
  std::size_t unsent_bytes() const;
  // Called each time when all that was sent has been taken by the network.
  void on_sent(std::function<void()> sent);

  // The peer has gone, or was closed because of a limit. Called once; never after destruction.
  void on_gone(std::function<void()> gone);

  // The body of a streamed request, piece by piece as it comes; an empty piece is its end. What
  // came before the call is kept (up to a limit) and given then, though not inside the call.
  void read_body(std::function<void(std::string_view piece)> piece);

 private:
  friend class ServerConnection;
  struct ServerShared;

  std::shared_ptr<ServerConnection> connection_;
  Request request_;
  bool begun_ = false;
  bool ended_ = false;
};

struct ServerOptions {
  os::Address address;
  Limits limits{};
  const TlsContext* tls = nullptr;  // plain when null; outlives the server
  // Requests for these targets are given when their head is complete, with `read_body` to follow;
  // all others when they are whole.
  std::function<bool(const Request& head)> streams = [](const Request&) { return false; };
};

class Server {
 public:
  using Serve = std::function<void(std::unique_ptr<Exchange>)>;

  static Result<std::unique_ptr<Server>> start(os::System& system, ServerOptions options,
                                               Serve serve);
  ~Server();

  // With the port that was chosen when it was 0.
  os::Address address() const;
  std::size_t connections() const;

 private:
  explicit Server(std::shared_ptr<ServerShared> shared) : shared_(std::move(shared)) {}

  std::shared_ptr<ServerShared> shared_;
  std::unique_ptr<os::Listener> listener_;
};

}  // namespace edl::http
