// What the learning rate is multiplied by: for the batch, for the time after a change of it, and
// while training warms up. Plain functions; each number depends on the job and the view alone.
#pragma once

#include <cstdint>

#include "edl/model/ramp.h"
#include "edl/model/rate.h"

namespace edl::batch {

// Steps that a change of the factor is spread over, so that the momentum of the old batch does not
// meet the rate of the new one (Lin et al., Dynamic Mini-batch SGD, 2019).
inline constexpr std::uint64_t kRampSteps = 8;
// Up to here `piecewise` is linear.
inline constexpr std::uint64_t kLinearBatchMax = 8192;

// For a global batch, when the rate that the user gave is meant for one of `base` samples.
double rate_factor(model::RateRule rule, std::uint64_t base, std::uint64_t global);

// What a view says of the rate: where the factor stays, and how it gets there.
struct Rate {
  double factor = 1;
  model::Ramp ramp{};

  double at(model::Step t) const;
  bool operator==(const Rate&) const = default;
};
// For a view from step `first` on whose batch wants the factor `to`. It begins at the factor of the
// moment; a ramp to the same factor goes on.
Rate next_rate(const Rate& before, double to, model::Step first);

// Grows with the samples from nearly 0 to 1; `seen` includes those of the step itself.
double warmup_factor(std::uint64_t seen, std::uint64_t warmup_samples);

// What LARS multiplies the rate of one tensor by (You et al., 2017).
double lars_ratio(double weight_norm, double gradient_norm, double weight_decay);

}  // namespace edl::batch
