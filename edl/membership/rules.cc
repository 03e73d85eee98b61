#include "edl/membership/rules.h"

#include <algorithm>

#include "edl/batch/policy.h"

namespace edl::membership {

bool Rules::is_finished(const model::Position& here) const {
  if (steps && here.step.value() >= *steps) return true;
  return epochs && here.epoch.value() >= *epochs;
}

model::Batch Rules::batch_of(std::size_t members, std::optional<std::uint64_t> chosen) const {
  return batch::batch_of({.policy = policy,
                          .logical_workers = logical_workers,
                          .batch = batch,
                          .batch_max = batch_max,
                          .micro = micro},
                         members, chosen);
}

double Rules::lr_factor(const model::Batch& batch_of_view) const {
  return batch::rate_factor(lr_rule, batch, batch_of_view.global);
}

std::uint32_t Rules::fit(std::uint32_t wanted) const {
  const std::uint32_t most = std::min(max, logical_workers);
  return std::clamp(wanted, std::min(min, most), most);
}

}  // namespace edl::membership
