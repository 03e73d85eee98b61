#include "edl/batch/rate.h"

#include <algorithm>
#include <cmath>

#include "edl/base/check.h"

namespace edl::batch {
namespace {

constexpr double kLarsTrust = 0.001;

double piecewise(double base, double global) {
  const double linear_max = std::max(base, static_cast<double>(kLinearBatchMax));
  if (global <= linear_max) return global / base;
  return linear_max / base * std::sqrt(global / linear_max);
}

}  // namespace

double rate_factor(model::RateRule rule, std::uint64_t base, std::uint64_t global) {
  EDL_CHECK(base > 0 && global > 0);
  const auto from = static_cast<double>(base);
  const auto to = static_cast<double>(global);
  switch (rule) {
    case model::RateRule::kNone:
      return 1;
    case model::RateRule::kLinear:
    case model::RateRule::kLars:
      return to / from;
    case model::RateRule::kSquareRoot:
      return std::sqrt(to / from);
    case model::RateRule::kPiecewise:
      break;
  }
  return piecewise(from, to);
}

double Rate::at(model::Step t) const {
  if (ramp.steps == 0) return factor;
  if (t < ramp.t0) return ramp.from;
  const std::uint64_t since = t.value() - ramp.t0.value();
  if (since >= ramp.steps) return ramp.to;
  const double share = static_cast<double>(since) / static_cast<double>(ramp.steps);
  return ramp.from + share * (ramp.to - ramp.from);
}

Rate next_rate(const Rate& before, double to, model::Step first) {
  if (before.factor == to) return before;
  const double present = before.at(first);
  if (present == to) return {.factor = to};
  return {.factor = to, .ramp = {.from = present, .to = to, .t0 = first, .steps = kRampSteps}};
}

double warmup_factor(std::uint64_t seen, std::uint64_t warmup_samples) {
  if (seen >= warmup_samples) return 1;
  return static_cast<double>(seen) / static_cast<double>(warmup_samples);
}

double lars_ratio(double weight_norm, double gradient_norm, double weight_decay) {
  const double length = gradient_norm + weight_decay * weight_norm;
  if (weight_norm <= 0 || length <= 0) return 1;
  return kLarsTrust * weight_norm / length;
}

}  // namespace edl::batch
