#include "edl/membership/candidate.h"

#include <algorithm>

namespace edl::membership {
namespace {

constexpr std::uint64_t kNear = 2;  // so few records are taken between two steps
// Who does not gain within so many records never does. The others wait for it, unless that would be
// for more than kLagMax steps.
constexpr int kRecordsToGain = 10;
constexpr std::uint64_t kLagMax = 64;

}  // namespace

void Candidate::is_at(const model::Position& now, model::Step leader, Time time) {
  if (!ready) {
    since = time;
    least_lag = kLagMax;
    records_without_gain = 0;
  }
  const bool has_moved = now.step > here.step;
  ready = admitted = true;
  here = now;
  lag = leader.value() - std::min(leader, here.step).value();
  if (lag < least_lag) {
    least_lag = lag;
    records_without_gain = 0;
  } else if (has_moved && records_without_gain < kRecordsToGain) {
    ++records_without_gain;
  }
}

bool Candidate::is_near(model::Step leader) const {
  return here.step.value() + kNear >= leader.value();
}

bool Candidate::keeps_behind() const {
  return records_without_gain >= kRecordsToGain && lag <= kLagMax;
}

}  // namespace edl::membership
