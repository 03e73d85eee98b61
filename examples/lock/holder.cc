#include "examples/lock/holder.h"

#include <algorithm>

namespace edl::lock {

Request HolderCore::send(Ask ask, Time now) {
  const std::uint64_t number = next_number_++;
  asked_ = Asked{number, ask, now};
  return {ask, number, held_ ? held_->token : Token{}};
}

std::optional<Request> HolderCore::want(Time now) {
  if (held_ && now >= held_->until) held_.reset();
  // An answer that does not come within a lease is worth nothing any more.
  if (asked_ && now - asked_->sent < lease_) return std::nullopt;
  if (held_) {
    if (held_->until - now > lease_ * 2 / 3) return std::nullopt;
    return send(Ask::kRenew, now);
  }
  // A server that restarted has forgotten its queue: ask again now and then.
  if (queued_ && now - queued_at_ < lease_) return std::nullopt;
  return send(Ask::kAcquire, now);
}

std::optional<Request> HolderCore::release(Time now) {
  if (!holds(now)) return std::nullopt;
  const Request request = send(Ask::kRelease, now);
  held_.reset();
  return request;
}

void HolderCore::on_answer(const Decision& answer, Time now) {
  if (answer.answer == Answer::kTurn) {
    queued_ = false;
    return;
  }
  if (!asked_ || asked_->number != answer.number) return;  // of a request that we gave up
  const Asked asked = *asked_;
  asked_.reset();
  queued_ = answer.answer == Answer::kWait;
  queued_at_ = now;
  if (answer.answer == Answer::kGranted) held_ = Held{answer.token, asked.sent + lease_};
  if (answer.answer == Answer::kReleased && asked.ask == Ask::kRenew) held_.reset();
}

void HolderCore::on_disconnected() {
  asked_.reset();
  queued_ = false;
}

Time HolderCore::wake_at(Time now) const {
  Time wake = now + lease_;
  if (asked_) wake = std::min(wake, asked_->sent + lease_);
  if (held_) wake = std::min(wake, asked_ ? held_->until : held_->until - lease_ * 2 / 3);
  if (queued_) wake = std::min(wake, queued_at_ + lease_);
  return std::max(wake, now + lease_ / 100);
}

}  // namespace edl::lock
