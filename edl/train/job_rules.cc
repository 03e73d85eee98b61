#include "edl/train/job_rules.h"

namespace edl::train {

membership::Rules rules_of(const model::JobSpec& spec, std::uint32_t logical_workers,
                           const model::WorkerRange& range) {
  return {.logical_workers = logical_workers,
          .min = range.min,
          .max = range.max,
          .policy = spec.batch_policy,
          .batch = spec.batch,
          .batch_max = spec.batch_max,
          .micro = spec.micro_batch,
          .lr_rule = spec.lr_rule,
          .warmup_samples = spec.warmup_samples,
          .steps = spec.steps,
          .epochs = spec.epochs};
}

}  // namespace edl::train
