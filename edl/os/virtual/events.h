// Virtual time: what will happen, ordered by when; at one instant, by who asked first.
#pragma once

#include <cstdint>
#include <vector>

#include "edl/base/time.h"
#include "edl/os/task.h"

namespace edl::os {

class EventQueue {
 public:
  Time now() const { return now_; }
  std::uint64_t count() const { return count_; }  // events run so far
  bool empty() const { return heap_.empty(); }
  Time next_time() const { return heap_.front().at; }

  void at(Time time, Task task);
  void after(Duration delay, Task task) { at(now_ + delay, std::move(task)); }

  // Runs the next event and moves the clock to it.
  void run_next();
  // Moves the clock forward when nothing is left to happen before `time`.
  void advance_to(Time time);

 private:
  struct Event {
    Time at{};
    std::uint64_t order = 0;
    std::size_t task = 0;                       // its place in `tasks_`, which does not move
    bool operator<(const Event& other) const {  // the heap's top is the earliest
      return at != other.at ? at > other.at : order > other.order;
    }
  };

  std::vector<Event> heap_;
  std::vector<Task> tasks_;
  std::vector<std::size_t> free_;  // places in `tasks_`
  Time now_{};
  std::uint64_t order_ = 0;
  std::uint64_t count_ = 0;
};

}  // namespace edl::os
