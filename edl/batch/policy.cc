#include "edl/batch/policy.h"

#include <algorithm>

namespace edl::batch {
namespace {

std::uint64_t global_batch(const BatchRule& rule, std::size_t members,
                           std::optional<std::uint64_t> chosen) {
  switch (rule.policy) {
    case model::BatchPolicy::kFixed:
      return rule.batch;
    case model::BatchPolicy::kLinear:
      return rule.batch * members;
    case model::BatchPolicy::kCapped:
      return std::min(rule.batch * members, rule.batch_max.value_or(~std::uint64_t{0}));
    case model::BatchPolicy::kAdaptive:
      break;
  }
  return std::clamp(chosen.value_or(rule.batch), rule.batch,
                    std::max(rule.batch, rule.batch_max.value_or(rule.batch)));
}

}  // namespace

model::Batch batch_of(const BatchRule& rule, std::size_t members,
                      std::optional<std::uint64_t> chosen) {
  model::Batch batch =
      model::undivided_batch(global_batch(rule, members, chosen), rule.logical_workers);
  batch.policy = rule.policy;
  if (!rule.micro || *rule.micro >= batch.micro) return batch;
  batch.accumulate = (batch.micro + *rule.micro - 1) / *rule.micro;
  batch.micro = *rule.micro;
  return batch;
}

}  // namespace edl::batch
