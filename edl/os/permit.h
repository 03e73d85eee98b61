// Given by one thread, used by another at most once. Who gave it takes it back as long as it is not
// used.
#pragma once

#include <atomic>

namespace edl::os {

class Permit {
 public:
  void give() { state_.store(State::kGiven, std::memory_order_release); }
  bool is_given() const { return state_.load(std::memory_order_acquire) == State::kGiven; }
  // Whether it may be used, which it is by that.
  bool use() { return change(State::kUsed); }
  // Whether it was given, and is not used and never will be.
  bool take_back() { return change(State::kTakenBack); }

 private:
  enum class State { kNone, kGiven, kUsed, kTakenBack };

  bool change(State to) {
    State given = State::kGiven;
    return state_.compare_exchange_strong(given, to, std::memory_order_acq_rel);
  }

  std::atomic<State> state_ = State::kNone;
};

}  // namespace edl::os
