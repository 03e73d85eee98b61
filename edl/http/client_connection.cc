#include "edl/http/client_connection.h"

#include <algorithm>

#include "edl/base/text.h"

namespace edl::http {
namespace {

constexpr std::size_t kInboxMax = 64 << 10;

}  // namespace

ClientConnection::ClientConnection(os::System& system, std::unique_ptr<os::Stream> stream,
                                   const Limits& limits)
    : system_(system), limits_(limits), stream_(std::move(stream)) {}

void ClientConnection::begin(Outbox request, bool without_body, ClientEvents events) {
  lost_ = nullptr;
  outbox_ = std::move(request);
  without_body_ = without_body;
  events_ = std::move(events);
  head_taken_ = heard_ = wrote_ = keep_alive_ = false;
  parser_ = std::make_unique<ResponseParser>(
      ParserOptions{.header_bytes_max = limits_.header_bytes_max, .without_body = without_body_});
  write();
  read();
}

void ClientConnection::read() {
  if (reading_ || at_end_ || broken_) return;
  reading_ = true;
  const ByteSpan space = inbox_.space(std::max(kInboxMax, limits_.header_bytes_max));
  stream_->read(space, [this](Result<std::size_t> got) {
    reading_ = false;
    if (!parser_) return std::exchange(lost_, nullptr)();
    if (!got.ok()) return broken(got.error());
    heard_ = heard_ || *got > 0;
    at_end_ = *got == 0;
    inbox_.filled(*got);
    advance();
  });
}

void ClientConnection::advance() {
  const std::shared_ptr<bool> alive = alive_;
  while (parser_ && !inbox_.bytes().empty()) {
    const bool more = parse();
    if (!*alive || !parser_) return;
    if (!more) break;
  }
  if (!at_end_) return read();
  const auto whole = parser_->feed_end();
  if (whole.ok()) return end({});
  broken({Code::kUnavailable, text(stream_->peer(), " closed the connection")});
}

// True when it got on. It may have destroyed this object.
bool ClientConnection::parse() {
  const std::shared_ptr<bool> alive = alive_;
  const auto used = parser_->feed(inbox_.bytes());
  if (!used.ok()) {
    end(Error{used.error().code,
              text("the answer of ", stream_->peer(), " is of no use: ", used.error().message)});
    return false;
  }
  inbox_.taken(*used);
  if (parser_->head_done() && !head_taken_) take_head();
  if (!*alive || !head_taken_) return *used > 0;
  std::string piece = parser_->take_body();
  if (!piece.empty() && events_.on_piece) {
    // Kept alive by the copy, whatever the call does.
    const auto on_piece = events_.on_piece;
    on_piece(std::move(piece));
    if (!*alive || !parser_) return false;
  }
  if (parser_->done()) {
    end({});
    return false;
  }
  return *used > 0;
}

void ClientConnection::take_head() {
  Response head = parser_->take_head();
  if (head.status == 101) {
    return end(Error{Code::kCorrupt, text(stream_->peer(), " wants to leave HTTP/1.1")});
  }
  if (head.status < 200) {  // it is still at work
    parser_ = std::make_unique<ResponseParser>(
        ParserOptions{.header_bytes_max = limits_.header_bytes_max, .without_body = without_body_});
    return;
  }
  head_taken_ = true;
  keep_alive_ = parser_->keep_alive();
  const auto on_head = std::exchange(events_.on_head, nullptr);
  if (on_head) on_head(std::move(head));
}

void ClientConnection::write() {
  if (writing_ || outbox_.empty() || broken_) return;
  writing_ = true;
  write_since_ = system_.now();
  stream_->write(outbox_.next(), [this](const Result<void>& done) { written(done); });
  watch_writing();
}

void ClientConnection::written(const Result<void>& done) {
  writing_ = false;
  if (!done.ok()) {
    // The peer may have answered before it closed: what reading ends with tells.
    const bool known = broken_ || at_end_ || !reading_;
    if (!broken_) broken_ = done.error();
    if (parser_ && known) end(*broken_);
    return;
  }
  wrote_ = true;
  outbox_.written();
  if (broken_ && parser_) return end(*broken_);
  write();
}

// Whether the request was taken decides whether it may be sent again: that is waited for.
void ClientConnection::broken(const Error& error) {
  if (!broken_) broken_ = error;
  if (!writing_ || !untouched()) end(*broken_);
}

void ClientConnection::end(Result<void> result) {
  if (!result.ok() && !broken_) broken_ = result.error();
  parser_.reset();
  if (!reading_) inbox_.shrink();
  const auto on_end = std::exchange(events_.on_end, nullptr);
  events_ = {};
  on_end(std::move(result));
}

bool ClientConnection::reusable() const {
  return !parser_ && keep_alive_ && !at_end_ && !broken_ && !writing_ && outbox_.empty() &&
         inbox_.bytes().empty();
}

void ClientConnection::rest(std::function<void()> lost) {
  lost_ = std::move(lost);
  read();
}

Outbox ClientConnection::take_request() {
  EDL_CHECK(untouched() && !writing_);
  outbox_.rewind();
  return std::exchange(outbox_, {});
}

void ClientConnection::watch_writing() {
  if (watching_) return;
  watching_ = true;
  const Duration left = write_since_ + limits_.write_time - system_.now();
  alarm_ = system_.after(left, [this] {
    watching_ = false;
    if (!writing_) return;
    if (system_.now() - write_since_ < limits_.write_time) return watch_writing();
    if (!parser_) return;
    end(Error{Code::kTimeout, text(stream_->peer(), " took no bytes for ", limits_.write_time)});
  });
}

}  // namespace edl::http
