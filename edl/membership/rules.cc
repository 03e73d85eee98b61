#include "edl/membership/rules.h"

#include <algorithm>

#include "edl/batch/lone_sample.h"

namespace edl::membership {
namespace {

batch::BatchRule batch_rule(const Rules& rules) {
  return {.policy = rules.policy,
          .logical_workers = rules.logical_workers,
          .batch = rules.batch,
          .batch_max = rules.batch_max,
          .micro = rules.micro};
}

}  // namespace

bool Rules::is_finished(const model::Position& here) const {
  if (steps && here.step.value() >= *steps) return true;
  return epochs && here.epoch.value() >= *epochs;
}

model::Batch Rules::batch_of(std::size_t members, std::optional<std::uint64_t> chosen) const {
  return batch::batch_of(batch_rule(*this), members, chosen);
}

model::Batch Rules::batch_at(const model::Position& here, std::size_t members,
                             std::optional<std::uint64_t> chosen) const {
  if (policy == model::BatchPolicy::kAdaptive && samples_never_alone && chosen) {
    const auto right =
        batch::batch_from_here(batch_rule(*this), *samples_never_alone, here.position, *chosen);
    chosen = right.value_or(batch);
  }
  return batch_of(members, chosen);
}

double Rules::lr_factor(const model::Batch& batch_of_view) const {
  return batch::rate_factor(lr_rule, batch, batch_of_view.global);
}

std::uint32_t Rules::fit(std::uint32_t wanted) const {
  const std::uint32_t most = std::min(max, logical_workers);
  return std::clamp(wanted, std::min(min, most), most);
}

}  // namespace edl::membership
