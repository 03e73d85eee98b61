// How long a link may be silent before it is suspected. Nobody has to tune it: it is learned from
// how long steps take. One number can be said: how many steps of silence are too many.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "edl/base/time.h"

namespace edl::membership {

class Silence {
 public:
  static constexpr Duration kLeast = 200ms;  // a busy machine may well be silent that long
  static constexpr Duration kAtFirst = 2s;   // until a step was measured
  static constexpr Duration kMost = 60s;
  static constexpr std::size_t kWindow = 100;  // steps that count
  static constexpr double kStepsDefault = 8;
  static constexpr std::size_t kLastFew = 8;

  explicit Silence(double steps_max = kStepsDefault) : steps_max_(steps_max) {}

  void on_step(Duration step);
  // Of links with the leader; others may be silent longer, because nobody beats there so often.
  Duration limit() const;
  Duration limit_of_others() const { return limit() < 500ms ? Duration(2s) : 4 * limit(); }
  Duration median_step() const;
  // Of the last few the shortest, which nothing has disturbed; 0 until there is one.
  Duration quiet_step() const;

 private:
  double steps_max_;
  std::deque<Duration> steps_;
  mutable std::optional<Duration> median_;  // once it was asked for
};

}  // namespace edl::membership
