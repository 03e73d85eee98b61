#include "edl/membership/rules.h"

#include <algorithm>

namespace edl::membership {

bool Rules::is_finished(const model::Position& here) const {
  if (steps && here.step.value() >= *steps) return true;
  return epochs && here.epoch.value() >= *epochs;
}

model::Batch Rules::batch_of(std::size_t members) const {
  std::uint64_t global = batch;
  if (policy == model::BatchPolicy::kLinear || policy == model::BatchPolicy::kCapped) {
    global = batch * members;
  }
  if (batch_max && policy != model::BatchPolicy::kFixed) global = std::min(global, *batch_max);
  model::Batch whole = model::undivided_batch(global, logical_workers);
  whole.policy = policy;
  if (!micro || *micro >= whole.micro) return whole;
  whole.accumulate = (whole.micro + *micro - 1) / *micro;
  whole.micro = *micro;
  return whole;
}

std::uint32_t Rules::fit(std::uint32_t wanted) const {
  const std::uint32_t most = std::min(max, logical_workers);
  return std::clamp(wanted, std::min(min, most), most);
}

}  // namespace edl::membership
