// The other side of the lock as a core: what one client knows, and what it may believe.
//
// What always holds: `holds(now)` is true only within a lease counted from before the server
// granted it, so it ends here no later than there, however long answers were on their way.
#pragma once

#include <optional>
#include <string>

#include "examples/lock/core.h"

namespace edl::lock {

class HolderCore {
 public:
  explicit HolderCore(Duration lease) : lease_(lease) {}

  // Wants the lock (or wants to go on holding it): what to send, if anything, now.
  std::optional<Request> want(Time now);
  // Does not want it any more.
  std::optional<Request> release(Time now);
  void on_answer(const Decision& answer, Time now);
  // The connection ended. What is held stays held until its lease ends.
  void on_disconnected();

  bool holds(Time now) const { return held_ && now < held_->until; }
  const Token& token() const { return held_->token; }
  // When `want` should be asked again, at the latest.
  Time wake_at(Time now) const;

 private:
  struct Asked {
    std::uint64_t number;
    Ask ask;
    Time sent;
  };
  struct Held {
    Token token;
    Time until;
  };

  Request send(Ask ask, Time now);

  const Duration lease_;
  std::uint64_t next_number_ = 1;
  std::optional<Asked> asked_;
  std::optional<Held> held_;
  bool queued_ = false;  // the server will tell when it is our turn
  Time queued_at_{};
};

}  // namespace edl::lock
