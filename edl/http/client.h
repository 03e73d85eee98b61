// An HTTP/1.1 client that keeps connections open and uses them again.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "edl/http/message.h"
#include "edl/http/tls.h"
#include "edl/os/system.h"

namespace edl::http {

// "http://host:port", "https://host:port" or "unix:/path".
struct Url {
  os::Address address;
  bool tls = false;
  bool operator==(const Url&) const = default;
  auto operator<=>(const Url&) const = default;
};
Result<Url> parse_url(std::string_view text);
std::string url_text(const Url& url);

// A streamed exchange under way. Destroying it closes its connection and drops its callbacks.
class ClientStream {
 public:
  virtual ~ClientStream() = default;
  // More of the request's body; only when it was opened with an open body.
  virtual void send(std::string piece) = 0;
  virtual void end_body() = 0;
};

struct StreamCallbacks {
  std::function<void(const Response& head)> on_head;  // its body is empty
  std::function<void(std::string_view piece)> on_piece;
  // Called once, last: the answer is whole, or what went wrong.
  std::function<void(Result<void>)> on_end;
};

struct ClientOptions {
  Limits limits{};
  const TlsContext* tls = nullptr;  // needed for https; outlives the client
  std::size_t idle_max = 32;        // connections kept for later, for each address
};

struct ClientShared;

using ResponseDone = std::function<void(Result<Response>)>;

class Client {
 public:
  Client(os::System& system, ClientOptions options);
  ~Client();

  // kUnavailable: the request has not reached the server, it is safe to try again. kTimeout: it
  // may have; this also when the connection broke before the answer was whole. Destroying the
  // Pending gives the request up and closes its connection. `limit` covers connecting too.
  [[nodiscard]] os::Pending send(const Url& url, Request request, Duration limit,
                                 ResponseDone done);

  // A streamed answer, on a connection of its own. With `open_body` the request is sent chunked
  // and its body goes on by `ClientStream::send`. `limit` is for the answer's head only.
  [[nodiscard]] std::unique_ptr<ClientStream> open(const Url& url, Request request, bool open_body,
                                                   Duration limit, StreamCallbacks callbacks);

 private:
  std::shared_ptr<ClientShared> shared_;
};

}  // namespace edl::http
