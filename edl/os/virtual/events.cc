#include "edl/os/virtual/events.h"

#include <algorithm>

#include "edl/base/check.h"

namespace edl::os {

void EventQueue::at(Time time, Task task) {
  EDL_CHECK(time >= now_, "an event in the past");
  heap_.push_back({time, order_++, std::move(task)});
  std::push_heap(heap_.begin(), heap_.end());
}

void EventQueue::run_next() {
  std::pop_heap(heap_.begin(), heap_.end());
  Event event = std::move(heap_.back());
  heap_.pop_back();
  now_ = event.at;
  ++count_;
  event.task();
}

void EventQueue::advance_to(Time time) {
  EDL_CHECK(heap_.empty() || next_time() >= time);
  if (time > now_) now_ = time;
}

}  // namespace edl::os
