#include "edl/http/server.h"

#include "edl/http/server_connection.h"

namespace edl::http {

Exchange::Exchange(std::shared_ptr<ServerConnection> connection)
    : connection_(std::move(connection)) {}

Exchange::~Exchange() { connection_->leave(*this, ended_); }

std::string Exchange::peer() const { return connection_->peer(); }

void Exchange::answer(Response response) {
  EDL_CHECK(!begun_, "a request has one answer");
  begun_ = ended_ = true;
  if (connection_->serves(*this)) connection_->answer(std::move(response));
}

void Exchange::begin(int status, Headers headers) {
  EDL_CHECK(!begun_, "a request has one answer");
  begun_ = true;
  if (connection_->serves(*this)) connection_->begin_answer(status, std::move(headers));
}

void Exchange::send(std::string piece) {
  EDL_CHECK(begun_ && !ended_, "pieces come between `begin` and `end`");
  if (connection_->serves(*this)) connection_->send(std::move(piece));
}

void Exchange::end() {
  EDL_CHECK(begun_ && !ended_, "an answer ends once, after `begin`");
  ended_ = true;
  if (connection_->serves(*this)) connection_->end_answer();
}

std::size_t Exchange::unsent_bytes() const {
  return connection_->serves(*this) ? connection_->unsent_bytes() : 0;
}

void Exchange::on_sent(std::function<void()> sent) {
  if (connection_->serves(*this)) connection_->on_sent(std::move(sent));
}

void Exchange::on_gone(std::function<void()> gone) { connection_->on_gone(*this, std::move(gone)); }

void Exchange::read_body(std::function<void(std::string_view piece)> piece) {
  if (connection_->serves(*this)) connection_->read_body(std::move(piece));
}

Result<std::unique_ptr<Server>> Server::start(os::System& system, ServerOptions options,
                                              Serve serve) {
  auto shared = std::make_shared<ServerShared>(system, std::move(options), std::move(serve));
  std::unique_ptr<Server> server(new Server(shared));
  const auto accept = [shared = shared.get()](std::unique_ptr<os::Stream> stream) {
    std::string peer = stream->peer();
    if (shared->connections.size() >= shared->options.limits.connections_max) {
      return shared->log.warn("refused", {{"peer", peer}, {"why", "too many connections"}});
    }
    const std::uint64_t number = shared->next_connection++;
    const auto connection =
        std::make_shared<ServerConnection>(shared->shared_from_this(), number, std::move(peer));
    shared->connections[number] = connection;
    connection->start(std::move(stream));
  };
  EDL_TRY(server->listener_, system.network().listen(shared->options.address, accept));
  return server;
}

Server::~Server() {
  listener_.reset();
  const auto connections = std::exchange(shared_->connections, {});
  for (const auto& [number, connection] : connections) connection->close("the server ends");
}

os::Address Server::address() const { return listener_->address(); }

std::size_t Server::connections() const { return shared_->connections.size(); }

}  // namespace edl::http
