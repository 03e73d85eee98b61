#include "edl/os/virtual/events.h"

#include <algorithm>
#include <utility>

#include "edl/base/check.h"

namespace edl::os {

void EventQueue::at(Time time, Task task) {
  EDL_CHECK(time >= now_, "an event in the past");
  if (free_.empty()) {
    free_.push_back(tasks_.size());
    tasks_.emplace_back();
  }
  const std::size_t place = free_.back();
  free_.pop_back();
  tasks_[place] = std::move(task);
  heap_.push_back({time, order_++, place});
  std::push_heap(heap_.begin(), heap_.end());
}

void EventQueue::run_next() {
  std::pop_heap(heap_.begin(), heap_.end());
  const Event event = heap_.back();
  heap_.pop_back();
  now_ = event.at;
  ++count_;
  const Task task = std::exchange(tasks_[event.task], nullptr);
  free_.push_back(event.task);
  task();
}

void EventQueue::advance_to(Time time) {
  EDL_CHECK(heap_.empty() || next_time() >= time);
  if (time > now_) now_ = time;
}

}  // namespace edl::os
