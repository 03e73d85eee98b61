#include "edl/checkpoint/interval.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "edl/base/text.h"
#include "edl/model/job.h"

namespace edl::checkpoint {
namespace {

// Before anything is known: one failure in an hour, and a checkpoint that costs a tenth of a
// second.
constexpr Duration kMeanPrior = 1h;
constexpr Duration kStallPrior = 100ms;
// Writing runs beside training, which it slows down by at most this share of its time.
constexpr int kWriteShareInverse = 4;
// However often it fails, checkpoints cost at most a twentieth of the time.
constexpr int kCostShareInverse = 20;
constexpr Duration kEveryMin = 1s;
constexpr Duration kEveryMax = 1h;

Duration smoothed(Duration before, Duration now) { return (before + now) / 2; }

}  // namespace

Result<IntervalRule> parse_interval_rule(std::string_view word) {
  using Kind = IntervalRule::Kind;
  if (word == "auto") return IntervalRule{};
  if (word == "off") return IntervalRule{.kind = Kind::kOff};
  const Error wrong{Code::kInvalid,
                    text("\"", word, "\" does not say how often to write a checkpoint: use auto, ",
                         "off, a number of steps (100steps) or a time (30s)")};
  if (word.ends_with("steps")) {
    const std::string_view digits = word.substr(0, word.size() - 5);
    std::uint64_t steps = 0;
    const char* end = digits.data() + digits.size();
    const auto [rest, failed] = std::from_chars(digits.data(), end, steps);
    if (failed != std::errc() || rest != end || steps == 0 || steps > model::kCheckpointStepsMax) {
      return wrong;
    }
    return IntervalRule{.kind = Kind::kSteps, .steps = steps};
  }
  const auto time = parse_duration(word);
  if (!time.ok() || *time <= Duration::zero()) return wrong;
  return IntervalRule{.kind = Kind::kTime, .time = *time};
}

Interval::Interval(IntervalRule rule, Time now, model::Step step)
    : rule_(rule),
      started_(now),
      last_(now),
      last_step_(step),
      stall_(kStallPrior),
      write_(Duration::zero()) {}

void Interval::begun(Time now, model::Step step, Duration stall) {
  stall_ = measured_ ? smoothed(stall_, stall) : stall;
  last_ = now;
  last_step_ = step;
}

void Interval::written(Duration took) {
  write_ = measured_ ? smoothed(write_, took) : took;
  measured_ = true;
}

Duration Interval::cost() const {
  return std::max<Duration>(stall_ + write_ / kWriteShareInverse, 1ms);
}

// The prior counts as one failure in kMeanPrior.
Duration Interval::mean_between_failures(Time now) const {
  return (kMeanPrior + (now - started_)) / static_cast<std::int64_t>(1 + failures_);
}

Duration Interval::every(Time now) const {
  const double best = std::sqrt(2 * seconds(cost()) * seconds(mean_between_failures(now)));
  const Duration wanted = std::chrono::duration_cast<Duration>(std::chrono::duration<double>(best));
  const Duration low = std::max(kEveryMin, cost() * kCostShareInverse);
  return std::clamp(wanted, low, std::max(low, kEveryMax));
}

std::string Interval::auto_reason(Time now) const {
  return text("a checkpoint every ", duration_text(every(now)), ": one costs ",
              duration_text(cost()), measured_ ? " as measured" : " as assumed",
              ", and a failure is expected every ", duration_text(mean_between_failures(now)), " (",
              failures_, " seen)");
}

Interval::Decision Interval::decide(Time now, model::Step step) const {
  if (step <= last_step_) return {false, "the last checkpoint has this step"};
  switch (rule_.kind) {
    case IntervalRule::Kind::kOff:
      return {false, "checkpoints are off"};
    case IntervalRule::Kind::kSteps:
      return {step.value() - last_step_.value() >= rule_.steps,
              text("a checkpoint every ", rule_.steps, " steps was asked for")};
    case IntervalRule::Kind::kTime:
      return {now - last_ >= rule_.time,
              text("a checkpoint every ", duration_text(rule_.time), " was asked for")};
    case IntervalRule::Kind::kAuto:
      break;
  }
  return {now - last_ >= every(now), auto_reason(now)};
}

}  // namespace edl::checkpoint
