#include "edl/http/client_exchange.h"

#include "edl/base/text.h"
#include "edl/http/encode.h"

namespace edl::http {

std::unique_ptr<ClientConnection> ClientShared::take_idle(const Url& url) {
  auto& list = idle[url];
  std::unique_ptr<ClientConnection> found;
  // The last one back has the best chance to be alive.
  if (!list.empty() && system.now() - list.back().since < options.limits.idle_time) {
    found = std::move(list.back().connection);
    list.pop_back();
  } else {
    list.clear();
  }
  if (list.empty()) idle.erase(url);
  return found;
}

void ClientShared::keep_idle(const Url& url, std::unique_ptr<ClientConnection> connection) {
  if (options.idle_max == 0) return;
  auto& list = idle[url];
  if (list.size() >= options.idle_max) list.erase(list.begin());
  ClientConnection* kept = connection.get();
  list.push_back({std::move(connection), system.now()});
  kept->rest([this, url, kept] {
    auto& others = idle[url];
    std::erase_if(others, [&](const Idle& one) { return one.connection.get() == kept; });
    if (others.empty()) idle.erase(url);
  });
}

ClientExchange::ClientExchange(std::shared_ptr<ClientShared> shared, Plan plan, ClientEvents events)
    : shared_(std::move(shared)),
      plan_(std::move(plan)),
      deadline_(shared_->system.now() + plan_.limit),
      events_(std::move(events)) {}

void ClientExchange::start(Request request) {
  shared_->active.insert(this);
  body_ended_ = !plan_.open_body;
  without_body_ = request.method == "HEAD";
  Framing framing{.body_bytes = request.body.size()};
  if (plan_.open_body) framing.body = Framing::Body::kChunks;
  if (!plan_.may_reuse) framing.connection = "close";
  const bool has_no_body = request.body.empty() && (request.method == "GET" || without_body_);
  if (!plan_.open_body && has_no_body) framing.body = Framing::Body::kNone;
  const os::Address& address = plan_.url.address;
  auto head =
      encode_head(request, address.is_unix() ? "localhost" : os::address_text(address), framing);
  if (!head.ok()) return fail_later(head.error());
  if (plan_.url.tls && shared_->options.tls == nullptr) {
    return fail_later({Code::kInvalid, text("cannot use ", url_text(plan_.url),
                                            ": this client was given no TLS settings")});
  }
  request_.add(std::move(head).value());
  if (plan_.open_body) {
    request_.add_chunk(std::move(request.body));
  } else {
    request_.add(std::move(request.body));
  }
  alarm_ = shared_->system.after(plan_.limit, [this] { late(); });
  auto idle = plan_.may_reuse ? shared_->take_idle(plan_.url) : nullptr;
  reused_ = idle != nullptr;
  if (reused_) return use(std::move(idle));
  connect();
}

void ClientExchange::connect() {
  const Duration left = deadline_ - shared_->system.now();
  connecting_ = shared_->system.network().connect(
      plan_.url.address, left, [this](Result<std::unique_ptr<os::Stream>> stream) {
        if (!stream.ok()) return fail({Code::kUnavailable, stream.error().message});
        secure(std::move(stream).value());
      });
}

void ClientExchange::secure(std::unique_ptr<os::Stream> stream) {
  const auto& [system, options] = std::tie(shared_->system, shared_->options);
  if (!plan_.url.tls) {
    return use(std::make_unique<ClientConnection>(system, std::move(stream), options.limits));
  }
  const auto secured = [this](Result<std::unique_ptr<os::Stream>> made) {
    if (made.ok()) {
      return use(std::make_unique<ClientConnection>(shared_->system, std::move(made).value(),
                                                    shared_->options.limits));
    }
    const Error& error = made.error();  // whatever it is, the request was not sent
    fail({error.code == Code::kTimeout ? Code::kUnavailable : error.code, error.message});
  };
  connecting_ = connect_tls(system, *options.tls, std::move(stream), plan_.url.address.host,
                            deadline_ - system.now(), secured);
}

void ClientExchange::use(std::unique_ptr<ClientConnection> connection) {
  connecting_.cancel();
  connection_ = std::move(connection);
  ClientEvents events;
  events.on_head = [this](Response head) {
    if (plan_.head_only_limit) alarm_.cancel();
    const auto self = shared_from_this();
    std::exchange(events_.on_head, nullptr)(std::move(head));
  };
  events.on_piece = [this](std::string piece) {
    const auto self = shared_from_this();
    body_bytes_ += piece.size();
    if (body_bytes_ > plan_.body_bytes_max) {
      return fail({Code::kExhausted, text("the answer of ", url_text(plan_.url), " is longer than ",
                                          plan_.body_bytes_max, " bytes")});
    }
    auto on_piece = std::exchange(events_.on_piece, nullptr);  // the call may end the exchange
    on_piece(std::move(piece));
    if (!over_) events_.on_piece = std::move(on_piece);
  };
  events.on_end = [this](Result<void> result) { answered(result); };
  connection_->begin(std::move(request_), without_body_, std::move(events));
}

void ClientExchange::answered(const Result<void>& result) {
  if (result.ok()) {
    auto connection = std::move(connection_);
    if (plan_.may_reuse && connection->reusable()) {
      shared_->keep_idle(plan_.url, std::move(connection));
    }
    const auto on_end = std::exchange(events_.on_end, nullptr);
    const auto self = shared_from_this();
    stop();
    return on_end({});
  }
  if (reused_ && connection_->untouched()) {
    reused_ = false;
    request_ = connection_->take_request();
    connection_.reset();
    return connect();
  }
  const Error& error = result.error();
  if (error.code == Code::kCorrupt || error.code == Code::kExhausted) return fail(error);
  fail({Code::kTimeout, text("no whole answer from ", url_text(plan_.url), ": ", error.message)});
}

void ClientExchange::late() {
  const std::string url = url_text(plan_.url);
  if (!connection_) {
    return fail({Code::kUnavailable, text("cannot connect to ", url, " within ", plan_.limit)});
  }
  fail({Code::kTimeout, text("no answer from ", url, " within ", plan_.limit)});
}

void ClientExchange::fail(Error error) {
  if (over_) return;
  const auto self = shared_from_this();
  const auto on_end = std::exchange(events_.on_end, nullptr);
  stop();
  on_end(std::move(error));
}

void ClientExchange::fail_later(Error error) {
  shared_->system.post([weak = weak_from_this(), error = std::move(error)] {
    if (const auto self = weak.lock()) self->fail(error);
  });
}

void ClientExchange::send(std::string piece) {
  EDL_CHECK(!body_ended_, "pieces of a body come before its end");
  if (over_) return;
  Outbox& outbox = connection_ ? connection_->outbox() : request_;
  outbox.add_chunk(std::move(piece));
  const std::size_t limit = shared_->options.limits.unsent_bytes_max;
  if (outbox.bytes() > limit) {
    return fail_later({Code::kExhausted, text("cannot send to ", url_text(plan_.url), ": above ",
                                              limit, " bytes wait already")});
  }
  if (connection_) connection_->write();
}

void ClientExchange::end_body() {
  EDL_CHECK(!body_ended_, "a body ends once, and only an open one");
  body_ended_ = true;
  if (over_) return;
  Outbox& outbox = connection_ ? connection_->outbox() : request_;
  outbox.add(std::string(kLastChunk));
  if (connection_) connection_->write();
}

void ClientExchange::stop() {
  const auto self = shared_from_this();  // what the callbacks hold may hold this
  over_ = true;
  events_ = {};
  alarm_.cancel();
  connecting_.cancel();
  connection_.reset();
  shared_->active.erase(this);
}

}  // namespace edl::http
