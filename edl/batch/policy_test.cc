#include "edl/batch/policy.h"

#include <gtest/gtest.h>

namespace edl::batch {
namespace {

using model::BatchPolicy;

BatchRule rule_of(BatchPolicy policy) {
  return {.policy = policy, .logical_workers = 8, .batch = 32, .batch_max = 100};
}

TEST(Policy, the_global_batch_by_members) {
  struct Row {
    BatchPolicy policy;
    std::size_t members;
    std::uint64_t global;
  };
  for (const Row& row : {Row{BatchPolicy::kFixed, 1, 32}, Row{BatchPolicy::kFixed, 8, 32},
                         Row{BatchPolicy::kLinear, 1, 32}, Row{BatchPolicy::kLinear, 8, 256},
                         Row{BatchPolicy::kCapped, 2, 64}, Row{BatchPolicy::kCapped, 3, 96},
                         Row{BatchPolicy::kCapped, 4, 100}, Row{BatchPolicy::kAdaptive, 8, 32}}) {
    EXPECT_EQ(batch_of(rule_of(row.policy), row.members).global, row.global)
        << model::name(row.policy) << " with " << row.members;
  }
}

TEST(Policy, only_adaptive_takes_a_choice_and_only_within_the_bounds) {
  EXPECT_EQ(batch_of(rule_of(BatchPolicy::kFixed), 4, 64).global, 32u);
  EXPECT_EQ(batch_of(rule_of(BatchPolicy::kAdaptive), 4, 64).global, 64u);
  EXPECT_EQ(batch_of(rule_of(BatchPolicy::kAdaptive), 4, 16).global, 32u);
  EXPECT_EQ(batch_of(rule_of(BatchPolicy::kAdaptive), 4, 640).global, 100u);
}

TEST(Policy, every_batch_can_be_split) {
  for (const auto policy :
       {BatchPolicy::kFixed, BatchPolicy::kLinear, BatchPolicy::kCapped, BatchPolicy::kAdaptive}) {
    for (std::size_t members = 1; members <= 8; ++members) {
      for (const std::uint64_t micro : {1, 3, 4, 100}) {
        BatchRule rule = rule_of(policy);
        rule.micro = micro;
        const model::Batch batch = batch_of(rule, members);
        EXPECT_TRUE(model::validate(batch, 8).ok());
        EXPECT_EQ(batch.policy, policy);
        EXPECT_LE(batch.micro, micro);
      }
    }
  }
}

}  // namespace
}  // namespace edl::batch
