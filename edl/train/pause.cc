#include "edl/train/pause.h"

#include <algorithm>
#include <array>

namespace edl::train {
namespace {

double milliseconds(Duration duration) {
  return static_cast<double>(std::max(duration, Duration()).count()) / 1e6;
}

// Publishing is one write; what is said between members is short beside it. A broken link is given
// some time to come back.
constexpr Duration kMend = 30ms;

struct Field {
  const char* real;
  const char* predicted;
  Duration Pause::*part;
};
constexpr std::array<Field, 5> kFields{{
    {"pause_ms", "predicted_pause_ms", &Pause::whole},
    {"detect_ms", "predicted_detect_ms", &Pause::detect},
    {"agree_ms", "predicted_agree_ms", &Pause::agree},
    {"transfer_ms", "predicted_transfer_ms", &Pause::transfer},
    {"resume_ms", "predicted_resume_ms", &Pause::resume},
}};

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

std::optional<Pause> PauseClock::expected(model::Cause cause) const {
  if (is_beginning(cause)) return std::nullopt;
  const std::optional<Pause>& average = is_forced(cause) ? forced_ : planned_;
  if (average || !store_write_) return average;
  Pause guess{.agree = 2 * *store_write_, .resume = median_step_};
  if (is_forced(cause)) guess.detect = kMend;
  guess.whole = guess.detect + guess.agree;
  return guess;
}

std::optional<Json> PauseClock::completed(Time now, Duration median_step) {
  const std::optional<Time> before = std::exchange(last_completed_, now);
  median_step_ = median_step;
  if (!entered_) return std::nullopt;
  const std::optional<Pause> predicted = expected(facts_.cause);
  // A member that only joins now has not been kept from anything; nor has one whose step in the new
  // view was quicker than most.
  const Pause real{.whole = before ? std::max(now - *before - median_step, Duration()) : Duration(),
                   .detect = *prepared_ - *noticed_,
                   .agree = *entered_ - *prepared_,
                   .transfer = transfer_,
                   .resume = now - *entered_};
  Json fields{{"steps_redone", 0},
              {"parts_redone", facts_.parts_redone},
              {"steps_lost", facts_.steps_lost}};
  for (const Field& field : kFields) {
    fields[field.real] = milliseconds(real.*field.part);
    fields[field.predicted] = predicted ? Json(milliseconds((*predicted).*field.part)) : Json();
  }
  if (before && !is_beginning(facts_.cause)) {
    std::optional<Pause>& average = is_forced(facts_.cause) ? forced_ : planned_;
    if (!average) average = real;
    for (const Field& field : kFields) {
      Duration& part = (*average).*field.part;
      part = (2 * part + real.*field.part) / 3;
    }
  }
  noticed_.reset();
  prepared_.reset();
  entered_.reset();
  handing_over_.reset();
  transfer_ = {};
  return fields;
}

}  // namespace edl::train
