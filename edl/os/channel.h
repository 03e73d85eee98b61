// Channel<T>: a bounded queue between two threads. A full channel makes the sender wait; nothing is
// ever dropped while it is open, and what was accepted is received even after `close`.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>

#include "edl/base/check.h"
#include "edl/base/time.h"

namespace edl::os {

template <class T>
class Channel {
 public:
  explicit Channel(std::size_t limit) : limit_(limit) { EDL_CHECK(limit > 0); }
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  // False when it is full for as long as `wait`, or closed. `item` is moved from only on success.
  bool send(T& item, Duration wait) {
    std::unique_lock lock(mutex_);
    const auto has_room = [&] { return closed_ || items_.size() < limit_; };
    if (!room_.wait_for(lock, wait, has_room) || closed_) return false;
    items_.push_back(std::move(item));
    lock.unlock();
    filled_.notify_one();
    return true;
  }

  // Nothing when it is empty for as long as `wait`, or empty and closed.
  std::optional<T> receive(Duration wait) {
    std::unique_lock lock(mutex_);
    // Without a wait nobody sleeps: even a time that is over costs a call to the kernel.
    if (wait > Duration()) {
      filled_.wait_for(lock, wait, [&] { return closed_ || !items_.empty(); });
    }
    if (items_.empty()) return std::nullopt;
    std::optional<T> item(std::move(items_.front()));
    items_.pop_front();
    lock.unlock();
    room_.notify_one();
    return item;
  }

  // Wakes everyone; senders are refused from now on.
  void close() {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
    }
    filled_.notify_all();
    room_.notify_all();
  }

  bool closed() const {
    const std::lock_guard lock(mutex_);
    return closed_;
  }

 private:
  const std::size_t limit_;
  mutable std::mutex mutex_;
  std::condition_variable filled_;
  std::condition_variable room_;
  std::deque<T> items_;
  bool closed_ = false;
};

}  // namespace edl::os
