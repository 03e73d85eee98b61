// A number that one thread raises and others read.
#pragma once

#include <atomic>
#include <cstddef>

namespace edl::os {

class Tally {
 public:
  std::size_t value() const { return value_.load(std::memory_order_acquire); }
  // What it was before.
  std::size_t raise() { return value_.fetch_add(1, std::memory_order_acq_rel); }

 private:
  std::atomic<std::size_t> value_ = 0;
};

}  // namespace edl::os
