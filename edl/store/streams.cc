#include "edl/store/streams.h"

#include "edl/store/codec.h"
#include "edl/store/request_check.h"

namespace edl::store {
namespace {

constexpr std::size_t kMessageBytesMax = 8 << 20;
constexpr std::size_t kUnsentBytes = 256 << 10;  // beyond it a watch waits for its reader

}  // namespace

CallStream::CallStream(std::unique_ptr<http::Exchange> exchange, Route route)
    : route_(route), exchange_(std::move(exchange)), splitter_(kMessageBytesMax) {}

void CallStream::start(std::function<void()> changed, std::function<void()> gone) {
  changed_ = std::move(changed);
  exchange_->on_gone(std::move(gone));
  exchange_->on_sent([this] {
    if (behind_) changed_();
  });
  exchange_->read_body([this](std::string_view piece) { on_piece(piece); });
}

void CallStream::on_piece(std::string_view piece) {
  if (over_ || body_ended_) return;
  body_ended_ = piece.empty();
  std::vector<std::string> values;
  const auto split = body_ended_ ? splitter_.finish(values) : splitter_.feed(piece, values);
  for (const std::string& value : values) {
    const auto taken = take(RawJson(value));
    if (!taken.ok()) return refuse(taken.error());
  }
  if (!split.ok()) return refuse(split.error());
  changed_();
}

Result<void> CallStream::take(const RawJson& json) {
  if (route_ == Route::kKeepAlive) {
    EDL_TRY(renewals_.emplace_back(), read_message<LeaseKeepAliveRequest>(json));
    return {};
  }
  EDL_TRY(WatchRequest request, read_message<WatchRequest>(json));
  if (auto refusal = check_message_size(message_bytes(request), {})) {
    over_ = true;
    exchange_->answer(stream_refusal_response(*refusal));
    return {};
  }
  requests_.push_back(std::move(request));
  return {};
}

// Only the first message can still be refused; after it etcd ignores what it cannot read.
void CallStream::refuse(const Error& error) {
  constexpr int kUnknown = 2;
  if (!begun_ && renewals_.empty() && requests_.empty()) {
    over_ = true;
    exchange_->answer(refusal_response({kUnknown, error.message}));
  }
  body_ended_ = true;
  changed_();
}

void CallStream::renew(StoreCore& core, Time now) {
  for (const LeaseKeepAliveRequest& request : renewals_) {
    const UnaryResponse answer = core.apply(request, now);
    answers_ += stream_line(message_text(std::get<LeaseKeepAliveResponse>(answer)));
  }
  renewals_.clear();
}

void CallStream::speak(const StoreCore& core) {
  if (over_) return;
  if (route_ == Route::kWatch) return speak_watches(core);
  if (!answers_.empty()) send(std::exchange(answers_, {}));
  if (!body_ended_) return;
  over_ = true;
  if (!begun_) exchange_->begin(200, json_headers());
  exchange_->end();
}

void CallStream::speak_watches(const StoreCore& core) {
  for (const WatchRequest& request : std::exchange(requests_, {})) {
    send(watches_.on_request(request, core));
  }
  behind_ = false;
  for (;;) {
    if (exchange_->unsent_bytes() >= kUnsentBytes) {
      behind_ = true;
      return;
    }
    const auto responses = watches_.poll(core, kUnsentBytes);
    if (responses.empty()) return;
    send(responses);
  }
}

void CallStream::tell_progress(const StoreCore& core) {
  if (!over_ && begun_ && exchange_->unsent_bytes() == 0) send(watches_.progress(core));
}

void CallStream::send(const std::vector<WatchResponse>& responses) {
  std::string lines;
  for (const WatchResponse& response : responses) {
    lines += "{\"result\":";
    append_message(lines, response);
    lines += "}\n";
  }
  if (!lines.empty()) send(std::move(lines));
}

void CallStream::send(std::string lines) {
  if (!begun_) exchange_->begin(200, json_headers());
  begun_ = true;
  exchange_->send(std::move(lines));
}

void StreamSet::add(os::System& system, std::unique_ptr<http::Exchange> exchange, Route route) {
  const std::uint64_t number = next_++;
  CallStream& stream =
      *(streams_[number] = std::make_unique<CallStream>(std::move(exchange), route));
  // Not destroyed inside its own callback.
  stream.start(changed_, [this, &system, number] {
    system.post([this, number] { streams_.erase(number); });
  });
}

void StreamSet::renew(StoreCore& core, Time now) {
  for (auto& [number, stream] : streams_) stream->renew(core, now);
}

void StreamSet::speak(const StoreCore& core) {
  for (auto at = streams_.begin(); at != streams_.end();) {
    at->second->speak(core);
    at = at->second->over() ? streams_.erase(at) : std::next(at);
  }
}

void StreamSet::tell_progress(const StoreCore& core) {
  for (auto& [number, stream] : streams_) stream->tell_progress(core);
}

}  // namespace edl::store
