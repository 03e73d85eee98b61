#include "edl/train/pause.h"

#include <algorithm>

namespace edl::train {
namespace {

double milliseconds(Duration duration) {
  return static_cast<double>(std::max(duration, Duration()).count()) / 1e6;
}

// Publishing is one write; what is said between members is short beside it. A broken link is given
// some time to come back.
constexpr Duration kMend = 30ms;

bool is_forced(model::Cause cause) { return cause == model::Cause::kDeath; }
bool is_beginning(model::Cause cause) {
  return cause == model::Cause::kStart || cause == model::Cause::kResume;
}

}  // namespace

void PauseClock::noticed(Time now) {
  if (!noticed_) noticed_ = now;
}

void PauseClock::prepared(Time now) {
  noticed(now);
  if (!prepared_) prepared_ = now;
  if (handing_over_) transfer_ += now - *std::exchange(handing_over_, std::nullopt);
}

void PauseClock::handing_over(Time now) {
  if (!handing_over_) handing_over_ = now;
}

void PauseClock::entered(Time now, const Entered& facts) {
  prepared(now);
  entered_ = now;
  facts_ = facts;
}

std::optional<Duration> PauseClock::expected(model::Cause cause) const {
  if (is_beginning(cause)) return std::nullopt;
  const std::optional<Duration>& average = is_forced(cause) ? forced_ : planned_;
  if (average || !store_write_) return average;
  return 2 * *store_write_ + (is_forced(cause) ? kMend : Duration());
}

std::optional<Json> PauseClock::completed(Time now, Duration median_step) {
  const std::optional<Time> before = std::exchange(last_completed_, now);
  if (!entered_) return std::nullopt;
  // A member that only joins now has not been kept from anything.
  const Duration pause = before ? now - *before - median_step : Duration();
  const std::optional<Duration> predicted = expected(facts_.cause);
  Json fields{{"pause_ms", milliseconds(pause)},
              {"predicted_pause_ms", predicted ? Json(milliseconds(*predicted)) : Json()},
              {"detect_ms", milliseconds(*prepared_ - *noticed_)},
              {"agree_ms", milliseconds(*entered_ - *prepared_)},
              {"transfer_ms", milliseconds(transfer_)},
              {"resume_ms", milliseconds(now - *entered_)},
              {"steps_redone", 0},
              {"parts_redone", facts_.parts_redone},
              {"steps_lost", facts_.steps_lost}};
  if (before && !is_beginning(facts_.cause)) {
    std::optional<Duration>& average = is_forced(facts_.cause) ? forced_ : planned_;
    average = average ? (2 * *average + pause) / 3 : pause;
  }
  noticed_.reset();
  prepared_.reset();
  entered_.reset();
  handing_over_.reset();
  transfer_ = {};
  return fields;
}

}  // namespace edl::train
