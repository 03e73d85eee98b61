#include "edl/http/client.h"

#include "edl/base/text.h"
#include "edl/http/client_exchange.h"

namespace edl::http {
namespace {

// Gives the exchange up when its owner does.
class CallOperation final : public os::Pending::Operation {
 public:
  explicit CallOperation(std::shared_ptr<ClientExchange> exchange)
      : exchange_(std::move(exchange)) {}
  ~CallOperation() override { exchange_->stop(); }

 private:
  std::shared_ptr<ClientExchange> exchange_;
};

class OpenStream final : public ClientStream {
 public:
  explicit OpenStream(std::shared_ptr<ClientExchange> exchange) : exchange_(std::move(exchange)) {}
  ~OpenStream() override { exchange_->stop(); }
  void send(std::string piece) override { exchange_->send(std::move(piece)); }
  void end_body() override { exchange_->end_body(); }

 private:
  std::shared_ptr<ClientExchange> exchange_;
};

}  // namespace

Result<Url> parse_url(std::string_view text_given) {
  std::string_view rest = text_given;
  Url url;
  const bool is_unix = rest.starts_with("unix:");
  url.tls = rest.starts_with("https://");
  if (!is_unix && !url.tls && !rest.starts_with("http://")) {
    return Error{Code::kInvalid, text("\"", text_given, "\" is not an address: write ",
                                      "http://HOST:PORT, https://HOST:PORT or unix:/PATH")};
  }
  if (!is_unix) {
    rest.remove_prefix(url.tls ? 8 : 7);
    if (rest.ends_with('/')) rest.remove_suffix(1);
  }
  EDL_TRY(url.address, os::parse_address(rest));
  if (url.address.is_unix() != is_unix) {
    return Error{Code::kInvalid, text("\"", text_given, "\": a Unix socket is unix:/PATH")};
  }
  return url;
}

std::string url_text(const Url& url) {
  if (url.address.is_unix()) return os::address_text(url.address);
  return text(url.tls ? "https://" : "http://", url.address);
}

Client::Client(os::System& system, ClientOptions options)
    : shared_(std::make_shared<ClientShared>(system, options)) {}

Client::~Client() {
  while (!shared_->active.empty()) (*shared_->active.begin())->stop();
  shared_->idle.clear();
}

os::Pending Client::send(const Url& url, Request request, Duration limit, ResponseDone done) {
  const auto response = std::make_shared<Response>();
  const std::size_t body_max = shared_->options.limits.body_bytes_max;
  ClientEvents events;
  events.on_head = [response](Response head) { *response = std::move(head); };
  events.on_piece = [response](std::string piece) {
    if (response->body.empty()) {
      response->body = std::move(piece);
    } else {
      response->body += piece;
    }
  };
  events.on_end = [response, done = std::move(done)](const Result<void>& result) {
    if (!result.ok()) return done(result.error());
    done(std::move(*response));
  };
  const auto exchange = std::make_shared<ClientExchange>(
      shared_,
      ClientExchange::Plan{
          .url = url, .limit = limit, .may_reuse = true, .body_bytes_max = body_max},
      std::move(events));
  exchange->start(std::move(request));
  return os::Pending(std::make_unique<CallOperation>(exchange));
}

std::unique_ptr<ClientStream> Client::open(const Url& url, Request request, bool open_body,
                                           Duration limit, StreamCallbacks callbacks) {
  ClientEvents events;
  events.on_head = [on_head = std::move(callbacks.on_head)](const Response& head) {
    if (on_head) on_head(head);
  };
  events.on_piece = [on_piece = std::move(callbacks.on_piece)](const std::string& piece) {
    if (on_piece) on_piece(piece);
  };
  events.on_end = [on_end = std::move(callbacks.on_end)](Result<void> result) {
    if (on_end) on_end(std::move(result));
  };
  const auto exchange = std::make_shared<ClientExchange>(
      shared_,
      ClientExchange::Plan{
          .url = url, .limit = limit, .open_body = open_body, .head_only_limit = true},
      std::move(events));
  exchange->start(std::move(request));
  return std::make_unique<OpenStream>(exchange);
}

}  // namespace edl::http
