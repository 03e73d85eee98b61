// Raised once by one thread, seen by others.
#pragma once

#include <atomic>

namespace edl::os {

class Flag {
 public:
  void raise() { raised_.store(true, std::memory_order_release); }
  bool is_raised() const { return raised_.load(std::memory_order_acquire); }

 private:
  std::atomic<bool> raised_ = false;
};

}  // namespace edl::os
