#include "examples/lock/core.h"

#include <algorithm>

#include "edl/base/text.h"

namespace edl::lock {

std::string token_text(const Token& token) { return text(token.epoch, ".", token.count); }

const char* answer_name(Answer answer) {
  switch (answer) {
    case Answer::kGranted:
      return "granted";
    case Answer::kWait:
      return "wait";
    case Answer::kTurn:
      return "turn";
    case Answer::kReleased:
      return "released";
  }
  return "unknown";
}

LockCore::LockCore(std::uint64_t epoch, Duration lease, Time now)
    : epoch_(epoch), lease_(lease), quiet_until_(now + lease) {}

std::vector<Decision> LockCore::on_request(const std::string& client, const Request& request,
                                           Time now) {
  expire(now);
  std::vector<Decision> out;
  const bool holds = holder_ && holder_->client == client && holder_->token == request.token;
  switch (request.ask) {
    case Ask::kAcquire:
      out.push_back(acquire(client, request.number, now));
      break;
    case Ask::kRenew:
      if (holds) {
        holder_->until = now + lease_;
        out.push_back({client, Answer::kGranted, request.number, holder_->token, "renewed"});
      } else {
        out.push_back({client, Answer::kReleased, request.number, request.token,
                       text("token ", token_text(request.token), " is not the holder's")});
      }
      break;
    case Ask::kRelease:
      if (holds) holder_.reset();
      out.push_back({client, Answer::kReleased, request.number, request.token,
                     holds ? "released by its holder" : "it was not held with this token"});
      break;
  }
  pass_turn(now, out);
  return out;
}

Decision LockCore::acquire(const std::string& client, std::uint64_t number, Time now) {
  if (now < quiet_until_) {
    return wait(client, number, "leases granted before the last start may still run");
  }
  if (holder_ && holder_->client == client) {
    // It lost our answer, or restarted: what it was granted before is void.
    return grant(client, number, now, "it held the lock already and asked anew");
  }
  if (holder_) return wait(client, number, text(holder_->client, " holds the lock"));
  if (turn_ && turn_->client != client) {
    return wait(client, number, text("it is the turn of ", turn_->client));
  }
  if (turn_) return grant(client, number, now, "it was its turn");
  return grant(client, number, now, "the lock was free");
}

Decision LockCore::grant(const std::string& client, std::uint64_t number, Time now,
                         std::string reason) {
  std::erase(queue_, client);
  turn_.reset();
  holder_ = Lease{client, {epoch_, ++count_}, now + lease_};
  return {client, Answer::kGranted, number, holder_->token, std::move(reason)};
}

Decision LockCore::wait(const std::string& client, std::uint64_t number, std::string reason) {
  if (std::find(queue_.begin(), queue_.end(), client) == queue_.end()) queue_.push_back(client);
  return {client, Answer::kWait, number, {}, std::move(reason)};
}

std::vector<Decision> LockCore::on_gone(const std::string& client, Time now) {
  std::erase(queue_, client);
  if (turn_ && turn_->client == client) turn_.reset();
  return on_time(now);
}

std::vector<Decision> LockCore::on_time(Time now) {
  expire(now);
  std::vector<Decision> out;
  pass_turn(now, out);
  return out;
}

void LockCore::expire(Time now) {
  if (holder_ && now >= holder_->until) holder_.reset();
  if (turn_ && now >= turn_->until) turn_.reset();
}

// A grant is always the answer to a request, because its lease counts from when that was sent. So
// the first in the queue is told to ask again, and the lock is kept for it meanwhile.
void LockCore::pass_turn(Time now, std::vector<Decision>& out) {
  if (holder_ || turn_ || queue_.empty() || now < quiet_until_) return;
  turn_ = Turn{queue_.front(), now + lease_ / 4};
  queue_.pop_front();
  out.push_back(
      {turn_->client, Answer::kTurn, 0, {}, "the lock is free and it is the first to wait"});
}

std::optional<Time> LockCore::wake_at() const {
  if (holder_) return holder_->until;
  if (turn_) return turn_->until;
  if (!queue_.empty()) return quiet_until_;
  return std::nullopt;
}

}  // namespace edl::lock
