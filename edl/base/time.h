// The types of time. Nothing here reads a clock: only edl/os does.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "edl/base/result.h"

namespace edl {

using Duration = std::chrono::nanoseconds;
using namespace std::chrono_literals;

// A clock that never goes back. Comparable only within one boot of one machine.
struct MonotonicClock {
  using duration = Duration;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<MonotonicClock, Duration>;
  static constexpr bool is_steady = true;
};
using Time = MonotonicClock::time_point;

// The clock on the wall, since 1970. It may jump; use it for people, never for deadlines.
using WallTime = std::chrono::time_point<std::chrono::system_clock, Duration>;

double seconds(Duration duration);

// "250 ms", "1.5 s", "2 h": the largest unit that keeps the number above one.
std::string duration_text(Duration duration);

// "250ms", "15s", "1.5s", "10m", "2h"; a bare number is refused, because it does not say of what.
Result<Duration> parse_duration(std::string_view text);

}  // namespace edl
