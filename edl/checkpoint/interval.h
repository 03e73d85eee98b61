// How often to write a checkpoint. Writing costs time, and so does training again what was lost;
// the sum is least when sqrt(2 C M) lies between two checkpoints: C is what one costs, M the mean
// time between failures. Plain state; the time is an argument.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "edl/base/time.h"
#include "edl/model/ids.h"

namespace edl::checkpoint {

// What the user asked for: `auto`, `off`, `100steps` or a time such as `30s`.
struct IntervalRule {
  enum class Kind { kAuto, kOff, kSteps, kTime };
  Kind kind = Kind::kAuto;
  std::uint64_t steps = 0;  // for kSteps
  Duration time{};          // for kTime

  bool operator==(const IntervalRule&) const = default;
};
Result<IntervalRule> parse_interval_rule(std::string_view word);

class Interval {
 public:
  Interval(IntervalRule rule, Time now, model::Step step);

  // A checkpoint of `step` was begun. Training stood still for `stall` to copy the state.
  void begun(Time now, model::Step step, Duration stall);
  // It was written, or could not be; beside training that took `took`.
  void written(Duration took);
  // A failure after which a checkpoint would have been needed, or was.
  void failed() { ++failures_; }

  struct Decision {
    bool due = false;
    std::string reason{};  // one sentence: how far apart, and why
  };
  Decision decide(Time now, model::Step step) const;
  // Under `auto`, how long after the one before the next is due.
  Duration every(Time now) const;

 private:
  Duration cost() const;
  Duration mean_between_failures(Time now) const;
  std::string auto_reason(Time now) const;

  IntervalRule rule_;
  Time started_;
  Time last_;
  model::Step last_step_;
  bool measured_ = false;
  Duration stall_;  // smoothed
  Duration write_;  // smoothed
  std::uint64_t failures_ = 0;
};

}  // namespace edl::checkpoint
