// Begins pieces of work, so many at a time; the others wait for their turn.
#pragma once

#include <deque>

#include "edl/os/task.h"

namespace edl::store::zookeeper {

class Window {
 public:
  void add(os::Task begin) {
    waiting_.push_back(std::move(begin));
    fill();
  }
  // One that was begun is over.
  void done() {
    --under_way_;
    fill();
  }
  // All are over, or will never be.
  bool empty() const { return under_way_ == 0; }
  void clear() {
    waiting_.clear();
    under_way_ = 0;
  }

 private:
  static constexpr int kMax = 256;

  void fill() {
    while (under_way_ < kMax && !waiting_.empty()) {
      const os::Task begin = std::move(waiting_.front());
      waiting_.pop_front();
      ++under_way_;
      begin();
    }
  }

  std::deque<os::Task> waiting_;
  int under_way_ = 0;
};

}  // namespace edl::store::zookeeper
