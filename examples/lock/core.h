// A leased lock: who holds it, who waits, and why. The example of how EDL's protocols are built:
// this core takes facts and the time and returns decisions; it does no I/O and knows no clock.
//
// What always holds: at most one lease runs at a time; tokens only grow; nothing is granted in the
// first lease after a start, because leases of the server before may still run.
#pragma once

#include <compare>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "edl/base/time.h"

namespace edl::lock {

// Proof of having been the holder; a later holder's is larger. A resource that remembers the
// largest token it saw can refuse those who lost the lock without noticing.
struct Token {
  std::uint64_t epoch = 0;  // of the server; each start has a new one
  std::uint64_t count = 0;
  auto operator<=>(const Token&) const = default;
};
std::string token_text(const Token& token);

enum class Ask { kAcquire = 1, kRenew = 2, kRelease = 3 };
enum class Answer {
  kGranted = 1,   // yours for a lease, counted from when you sent the request
  kWait = 2,      // you are in the queue
  kTurn = 3,      // it is free and kept for you for a while: ask again
  kReleased = 4,  // it is not yours any more
};
const char* answer_name(Answer answer);

struct Request {
  Ask ask = Ask::kAcquire;
  std::uint64_t number = 0;  // comes back in the answer; 0 in a kTurn
  Token token;               // of what is renewed or released
};

struct Decision {
  std::string client;
  Answer answer = Answer::kWait;
  std::uint64_t number = 0;
  Token token;
  std::string reason;  // one sentence
};

class LockCore {
 public:
  LockCore(std::uint64_t epoch, Duration lease, Time now);

  std::vector<Decision> on_request(const std::string& client, const Request& request, Time now);
  // Its connection ended. Its lease runs on: it may not know.
  std::vector<Decision> on_gone(const std::string& client, Time now);
  std::vector<Decision> on_time(Time now);
  // When `on_time` has something to do, if nothing happens before.
  std::optional<Time> wake_at() const;

 private:
  struct Lease {
    std::string client;
    Token token;
    Time until;
  };
  struct Turn {
    std::string client;
    Time until;
  };

  Decision acquire(const std::string& client, std::uint64_t number, Time now);
  Decision grant(const std::string& client, std::uint64_t number, Time now, std::string reason);
  Decision wait(const std::string& client, std::uint64_t number, std::string reason);
  void expire(Time now);
  void pass_turn(Time now, std::vector<Decision>& out);

  const std::uint64_t epoch_;
  const Duration lease_;
  const Time quiet_until_;
  std::uint64_t count_ = 0;
  std::optional<Lease> holder_;
  std::optional<Turn> turn_;
  std::deque<std::string> queue_;
};

}  // namespace edl::lock
