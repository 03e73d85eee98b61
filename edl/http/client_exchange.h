// A client's request on its way: finds or makes a connection, within a deadline, and brings the
// answer. For the files of this folder only.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "edl/http/client.h"
#include "edl/http/client_connection.h"

namespace edl::http {

class ClientExchange;

// What a client and its exchanges share.
struct ClientShared {
  struct Idle {
    std::unique_ptr<ClientConnection> connection;
    Time since;
  };

  ClientShared(os::System& s, const ClientOptions& o) : system{s}, options(o) {}
  std::unique_ptr<ClientConnection> take_idle(const Url& url);
  void keep_idle(const Url& url, std::unique_ptr<ClientConnection> connection);

  os::System& system;
  const ClientOptions options;
  std::map<Url, std::vector<Idle>> idle{};
  std::set<ClientExchange*> active{};
};

class ClientExchange : public std::enable_shared_from_this<ClientExchange> {
 public:
  struct Plan {
    Url url;
    Duration limit;
    bool open_body = false;
    bool may_reuse = false;        // a connection that was used before, and this one afterwards
    bool head_only_limit = false;  // the deadline is over with the answer's head
    std::size_t body_bytes_max = SIZE_MAX;  // of the answer
  };

  ClientExchange(std::shared_ptr<ClientShared> shared, Plan plan, ClientEvents events);

  void start(Request request);
  void send(std::string piece);
  void end_body();
  // Drops everything; nobody is called any more.
  void stop();

 private:
  void connect();
  void secure(std::unique_ptr<os::Stream> stream);
  void use(std::unique_ptr<ClientConnection> connection);
  void answered(const Result<void>& result);
  void late();
  void fail(Error error);
  void fail_later(Error error);

  const std::shared_ptr<ClientShared> shared_;
  const Plan plan_;
  const Time deadline_;
  ClientEvents events_;
  Outbox request_;  // until there is a connection
  bool without_body_ = false;
  bool reused_ = false;
  bool body_ended_ = true;
  bool over_ = false;
  std::size_t body_bytes_ = 0;
  os::Pending alarm_;
  os::Pending connecting_;
  std::unique_ptr<ClientConnection> connection_;
};

}  // namespace edl::http
