// What a server's connection writes.
#include "edl/base/text.h"
#include "edl/http/server_connection.h"

namespace edl::http {
namespace {

bool has_no_body(int status) { return status < 200 || status == 204 || status == 304; }

}  // namespace

bool ServerConnection::serves(const Exchange& exchange) const {
  return exchange_ == &exchange && phase_ == Phase::kOpen;
}

void ServerConnection::begin_head(Response& response, Framing framing) {
  if (same_name(find_header(response.headers, "connection"), "close")) close_after_ = true;
  if (close_after_) framing.connection = "close";
  if (!close_after_ && is_http_1_0_) framing.connection = "keep-alive";
  auto head = encode_head(response, framing);
  if (!head.ok()) {
    response = {500, {{"Content-Type", "text/plain"}}, text(head.error().message, "\n")};
    silent_ = is_head_;
    chunked_ = false;
    close_after_ = true;
    framing = {.body_bytes = response.body.size(), .connection = "close"};
    head = encode_head(response, framing);
  }
  begun_ = true;
  outbox_.add(std::move(head).value());
}

void ServerConnection::answer(Response response) {
  silent_ = is_head_ || has_no_body(response.status);
  if (!is_whole_) close_after_ = true;  // nobody will read the rest of the request
  const auto body = has_no_body(response.status) ? Framing::Body::kNone : Framing::Body::kLength;
  begin_head(response, {.body = body, .body_bytes = response.body.size()});
  if (!silent_) outbox_.add(std::move(response.body));
  answered_ = true;
  write();
}

void ServerConnection::begin_answer(int status, Headers headers) {
  silent_ = is_head_ || has_no_body(status);
  chunked_ = !silent_ && !is_http_1_0_;
  if (is_http_1_0_) close_after_ = true;  // the end of the body is the end of the connection
  Response response{status, std::move(headers), {}};
  begin_head(response, {.body = chunked_ ? Framing::Body::kChunks : Framing::Body::kNone});
  if (response.status != status) {  // a header that cannot be sent
    if (!silent_) outbox_.add(std::move(response.body));
    silent_ = true;
  }
  write();
}

void ServerConnection::send(std::string piece) {
  if (silent_) return;
  if (chunked_) {
    outbox_.add_chunk(std::move(piece));
  } else {
    outbox_.add(std::move(piece));
  }
  const std::size_t limit = shared_->options.limits.unsent_bytes_max;
  if (outbox_.bytes() > limit) {
    return close(text("more than ", limit, " bytes wait to be sent"));
  }
  write();
}

void ServerConnection::end_answer() {
  answered_ = true;
  if (chunked_) outbox_.add(std::string(kLastChunk));
  if (!outbox_.empty()) return write();
  shared_->system.post([self = shared_from_this()] {
    if (self->phase_ == Phase::kOpen && self->answered_ && self->outbox_.empty()) {
      self->finish_exchange();
    }
  });
}

void ServerConnection::write() {
  if (writing_ || outbox_.empty() || phase_ == Phase::kClosed) return;
  writing_ = true;
  write_since_ = shared_->system.now();
  stream_->write(outbox_.next(), [this](Result<void> done) {
    if (!done.ok()) return close(done.error().message);
    written();
  });
  watch();
}

void ServerConnection::written() {
  const auto self = shared_from_this();
  writing_ = false;
  outbox_.written();
  if (!outbox_.empty()) return write();
  if (phase_ != Phase::kOpen) return;
  if (begun_ && on_sent_) {
    auto on_sent = std::exchange(on_sent_, nullptr);
    on_sent();
    if (phase_ != Phase::kOpen) return;
    if (!on_sent_ && exchange_ != nullptr) on_sent_ = std::move(on_sent);
  }
  if (answered_ && outbox_.empty()) finish_exchange();
}

// The answer is whole and taken by the network.
void ServerConnection::finish_exchange() {
  exchange_ = nullptr;
  on_sent_ = nullptr;
  on_gone_ = nullptr;
  on_piece_ = nullptr;
  if (close_after_ && is_whole_ && inbox_.bytes().empty()) return close("the last answer is sent");
  serving_ = false;
  if (close_after_ || !is_whole_) {
    linger();
  } else {
    head_taken_ = is_streamed_ = is_whole_ = begun_ = chunked_ = answered_ = false;
    gone_ = end_given_ = false;
    idle_since_ = shared_->system.now();
  }
  kept_ = {};
  advance();
}

void ServerConnection::on_gone(const Exchange& exchange, std::function<void()> gone) {
  if (exchange_ != &exchange) return;
  on_gone_ = std::move(gone);
  if (std::exchange(gone_, false)) tell_gone();
}

// Not at once: this may be inside a call of the one who is to be told.
void ServerConnection::tell_gone() {
  if (exchange_ == nullptr || gone_) return;
  gone_ = true;
  shared_->system.post([self = shared_from_this()] {
    if (self->exchange_ == nullptr || !self->on_gone_) return;
    std::exchange(self->on_gone_, nullptr)();
  });
}

void ServerConnection::read_body(std::function<void(std::string_view)> piece) {
  on_piece_ = std::move(piece);
  shared_->system.post([self = shared_from_this()] {
    if (self->phase_ != Phase::kOpen) return;
    self->give_body();
    if (self->phase_ == Phase::kOpen) self->advance();
  });
}

void ServerConnection::leave(const Exchange& exchange, bool answered) {
  if (exchange_ != &exchange) return;
  exchange_ = nullptr;
  on_sent_ = nullptr;
  on_gone_ = nullptr;
  on_piece_ = nullptr;
  if (!answered && phase_ == Phase::kOpen) close("it was not answered");
}

}  // namespace edl::http
