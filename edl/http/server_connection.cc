// What a server's connection reads, and when it has waited long enough. Its answers are in
// server_answer.cc.
#include "edl/http/server_connection.h"

#include <algorithm>

#include "edl/base/text.h"

namespace edl::http {
namespace {

constexpr std::size_t kInboxMax = 64 << 10;
constexpr std::size_t kAheadMax = 4 << 10;  // read of the next requests while one is served
constexpr auto kLingerTime = 1s;

}  // namespace

ServerConnection::ServerConnection(std::shared_ptr<ServerShared> shared, std::uint64_t number,
                                   std::string peer)
    : shared_(std::move(shared)),
      number_(number),
      peer_(std::move(peer)),
      idle_since_(shared_->system.now()) {}

void ServerConnection::start(std::unique_ptr<os::Stream> stream) {
  if (shared_->options.tls == nullptr) return open(std::move(stream));
  handshake_ = accept_tls(shared_->system, *shared_->options.tls, std::move(stream),
                          shared_->options.limits.message_time,
                          [this](Result<std::unique_ptr<os::Stream>> secured) {
                            if (!secured.ok()) return close(secured.error().message);
                            open(std::move(secured).value());
                          });
}

void ServerConnection::open(std::unique_ptr<os::Stream> stream) {
  handshake_.cancel();
  stream_ = std::move(stream);
  phase_ = Phase::kOpen;
  read();
  watch();
}

void ServerConnection::close(std::string_view why) {
  if (phase_ == Phase::kClosed) return;
  const auto self = shared_from_this();
  phase_ = Phase::kClosed;
  shared_->log.debug("connection closed", {{"peer", peer_}, {"why", why}});
  tell_gone();
  handshake_.cancel();
  alarm_.cancel();
  stream_.reset();
  inbox_ = {};
  outbox_ = {};
  parser_.reset();
  kept_ = {};
  on_sent_ = nullptr;
  on_piece_ = nullptr;
  shared_->connections.erase(number_);
}

void ServerConnection::read() {
  if (reading_ || at_end_ || phase_ == Phase::kClosed) return;
  const std::size_t header_max = shared_->options.limits.header_bytes_max;
  const bool ahead = serving_ && is_whole_;
  const ByteSpan space = inbox_.space(ahead ? kAheadMax : std::max(kInboxMax, header_max));
  if (space.empty()) return;
  reading_ = true;
  stream_->read(space, [this](Result<std::size_t> got) {
    reading_ = false;
    if (!got.ok()) return close(got.error().message);
    if (*got == 0) at_end_ = true;
    inbox_.filled(*got);
    advance();
  });
}

// Goes as far as the bytes at hand allow, then waits for more of them.
void ServerConnection::advance() {
  const auto self = shared_from_this();
  if (phase_ == Phase::kLinger) inbox_.taken(inbox_.bytes().size());
  while (may_parse() && parse()) {
  }
  if (phase_ == Phase::kClosed) return;
  if (at_end_) at_end();
  read();
  watch();
}

bool ServerConnection::may_parse() const {
  if (phase_ != Phase::kOpen || (serving_ && is_whole_)) return false;
  const bool full = !on_piece_ && kept_.size() >= shared_->options.limits.body_bytes_max;
  return !full && !inbox_.bytes().empty();
}

// True when it got on.
bool ServerConnection::parse() {
  if (!parser_) {
    parser_ = std::make_unique<RequestParser>(
        ParserOptions{.header_bytes_max = shared_->options.limits.header_bytes_max});
    message_since_ = shared_->system.now();
  }
  const auto used = parser_->feed(inbox_.bytes());
  if (!used.ok()) {
    refuse(parser_->refusal(), used.error().message);
    return false;
  }
  inbox_.taken(*used);
  if (parser_->head_done() && !head_taken_) take_head();
  if (head_taken_ && phase_ == Phase::kOpen) take_body();
  return *used > 0;
}

void ServerConnection::take_head() {
  const Limits& limits = shared_->options.limits;
  request_ = parser_->take_head();
  head_taken_ = true;
  is_http_1_0_ = parser_->is_http_1_0();
  is_head_ = request_.method == "HEAD";
  close_after_ = !parser_->keep_alive();
  is_streamed_ = shared_->options.streams(request_);
  if (!is_streamed_ && parser_->content_length().value_or(0) > limits.body_bytes_max) {
    return refuse(413, text("the body has ", *parser_->content_length(), " bytes, the limit is ",
                            limits.body_bytes_max));
  }
  const bool asks = same_name(find_header(request_.headers, "expect"), "100-continue");
  if (asks && !is_http_1_0_ && !parser_->done()) {
    outbox_.add("HTTP/1.1 100 Continue\r\n\r\n");
    write();
  }
  if (is_streamed_) serve();
}

void ServerConnection::take_body() {
  const std::size_t limit = shared_->options.limits.body_bytes_max;
  if (!is_streamed_ && parser_->body_bytes() > limit) {
    return refuse(413, text("the body is longer than ", limit, " bytes"));
  }
  if (is_streamed_) kept_ += parser_->take_body();
  if (parser_->done()) {
    if (!is_streamed_) request_.body = parser_->take_body();
    is_whole_ = true;
    parser_.reset();
    if (!reading_) inbox_.shrink();
  }
  if (is_streamed_) return give_body();
  if (is_whole_) serve();
}

// A callback may do anything, so each is moved away while it runs.
void ServerConnection::give_body() {
  while (on_piece_ && exchange_ != nullptr && phase_ == Phase::kOpen) {
    if (kept_.empty() && (!is_whole_ || end_given_)) return;
    end_given_ = kept_.empty();
    const std::string piece = std::exchange(kept_, {});
    auto on_piece = std::exchange(on_piece_, nullptr);
    on_piece(piece);
    if (!on_piece_ && exchange_ != nullptr && phase_ == Phase::kOpen) {
      on_piece_ = std::move(on_piece);
    }
  }
}

void ServerConnection::serve() {
  serving_ = true;
  auto exchange = std::make_unique<Exchange>(shared_from_this());
  exchange->request_ = std::move(request_);
  exchange_ = exchange.get();
  shared_->serve(std::move(exchange));
}

// The peer has closed, or only its sending side: an answer that comes yet is still sent.
void ServerConnection::at_end() {
  if (!serving_ || phase_ == Phase::kLinger) return close("the peer has closed");
  if (!answered_) tell_gone();
}

void ServerConnection::refuse(int status, const std::string& why) {
  if (begun_) return close(why);
  tell_gone();
  close_after_ = true;
  const Response response{status, {{"Content-Type", "text/plain"}}, text(why, "\n")};
  outbox_.add(
      encode_head(response, {.body_bytes = response.body.size(), .connection = "close"}).value());
  outbox_.add(response.body);
  shared_->log.debug("refused", {{"peer", peer_}, {"status", status}, {"why", why}});
  linger();
  write();
}

void ServerConnection::linger() {
  phase_ = Phase::kLinger;
  parser_.reset();
  inbox_.taken(inbox_.bytes().size());
  linger_until_ = shared_->system.now() + kLingerTime;
}

Time ServerConnection::deadline() const {
  const Limits& limits = shared_->options.limits;
  Time at = Time::max();
  if (writing_) at = write_since_ + limits.write_time;
  if (phase_ == Phase::kLinger) return std::min(at, linger_until_);
  if (phase_ != Phase::kOpen) return Time::max();
  if (parser_ && !(is_streamed_ && head_taken_)) {
    at = std::min(at, message_since_ + limits.message_time);
  } else if (!serving_) {
    at = std::min(at, idle_since_ + limits.idle_time);
  }
  return at;
}

// The alarm is not moved when a deadline moves away: it looks again when it rings.
void ServerConnection::watch() {
  const Time at = deadline();
  if (at >= alarm_at_) return;
  alarm_at_ = at;
  alarm_ = shared_->system.after(at - shared_->system.now(), [this] { on_time(); });
}

void ServerConnection::on_time() {
  const auto self = shared_from_this();
  alarm_at_ = Time::max();
  const Time now = shared_->system.now();
  if (deadline() > now) return watch();
  const Limits& limits = shared_->options.limits;
  if (writing_ && now - write_since_ >= limits.write_time) {
    return close(text("it took no bytes for ", limits.write_time));
  }
  if (phase_ == Phase::kOpen && parser_) {
    refuse(408, text("the request did not come within ", limits.message_time));
    return watch();
  }
  close(phase_ == Phase::kLinger ? "done" : "idle");
}

}  // namespace edl::http
