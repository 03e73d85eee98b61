#include "edl/train/pause.h"

#include <algorithm>

namespace edl::train {
namespace {

double milliseconds(Duration duration) {
  return static_cast<double>(std::max(duration, Duration()).count()) / 1e6;
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

void PauseClock::entered(Time now, std::uint32_t parts_redone, std::uint64_t steps_lost) {
  prepared(now);
  entered_ = now;
  parts_redone_ = parts_redone;
  steps_lost_ = steps_lost;
}

std::optional<Json> PauseClock::completed(Time now, Duration median_step) {
  const std::optional<Time> before = std::exchange(last_completed_, now);
  if (!entered_) return std::nullopt;
  // A member that only joins now has not been kept from anything.
  const Duration pause = before ? now - *before - median_step : Duration();
  Json fields{{"pause_ms", milliseconds(pause)},
              {"detect_ms", milliseconds(*prepared_ - *noticed_)},
              {"agree_ms", milliseconds(*entered_ - *prepared_)},
              {"transfer_ms", milliseconds(transfer_)},
              {"resume_ms", milliseconds(now - *entered_)},
              {"steps_redone", 0},
              {"parts_redone", parts_redone_},
              {"steps_lost", steps_lost_}};
  noticed_.reset();
  prepared_.reset();
  entered_.reset();
  handing_over_.reset();
  transfer_ = {};
  return fields;
}

}  // namespace edl::train
