#include "edl/batch/lone_sample.h"

#include <gtest/gtest.h>

#include "edl/model/batch.h"

namespace edl::batch {
namespace {

EpochShape fixed(std::uint64_t samples, std::uint64_t batch, std::uint32_t logical_workers) {
  return {.samples = samples, .rule = {.logical_workers = logical_workers, .batch = batch}};
}

// By counting the samples of every part and micro batch of every step.
bool counted(const EpochShape& shape) {
  for (std::uint32_t members = shape.members_min; members <= shape.members_max; ++members) {
    const std::uint64_t global = batch_of(shape.rule, members).global;
    for (std::uint64_t at = 0; at < shape.samples; at += global) {
      const std::uint64_t step = std::min(global, shape.samples - at);
      for (std::uint32_t v = 0; v < shape.rule.logical_workers; ++v) {
        std::uint64_t left =
            model::part_size(step, shape.rule.logical_workers, model::LogicalWorker(v));
        while (left > 0) {
          const std::uint64_t seen = std::min(left, shape.rule.micro.value_or(left));
          if (seen == 1) return true;
          left -= seen;
        }
      }
    }
  }
  return false;
}

TEST(LoneSample, is_found_wherever_counting_finds_one) {
  int with = 0;
  int all = 0;
  for (std::uint64_t samples = 1; samples <= 60; ++samples) {
    for (std::uint64_t batch = 2; batch <= 24; ++batch) {
      for (std::uint32_t v = 1; v <= std::min<std::uint64_t>(batch, 6); ++v) {
        for (const std::uint64_t micro : {0, 1, 2, 3, 5}) {
          EpochShape shape = fixed(samples, batch, v);
          if (micro > 0) shape.rule.micro = micro;
          const bool expected = counted(shape);
          EXPECT_EQ(has_lone_sample(shape), expected)
              << samples << " in " << batch << " by " << v << " of " << micro;
          with += expected ? 1 : 0;
          ++all;
        }
      }
    }
  }
  EXPECT_GT(with, all / 4);
  EXPECT_LT(with, all - all / 16);
}

TEST(LoneSample, every_number_of_members_counts_where_the_batch_follows_it) {
  EpochShape shape = fixed(48, 8, 4);
  EXPECT_FALSE(has_lone_sample(shape));
  shape.rule.policy = model::BatchPolicy::kLinear;
  shape.members_max = 2;
  EXPECT_FALSE(has_lone_sample(shape));
  shape.members_max = 5;  // 40 and 8: fine, but two members more
  shape.samples = 49;
  EXPECT_TRUE(has_lone_sample(shape));
  EXPECT_EQ(has_lone_sample(shape), counted(shape));
}

TEST(LoneSample, the_way_out_is_one) {
  EpochShape shape = fixed(1437, 64, 8);  // the last step has 29 samples
  EXPECT_FALSE(has_lone_sample(shape));
  shape.rule.logical_workers = 16;
  ASSERT_TRUE(has_lone_sample(shape));
  const auto logical_workers = logical_workers_without_lone_sample(shape);
  ASSERT_TRUE(logical_workers);
  EXPECT_EQ(*logical_workers, 14u);
  const auto batch = batch_without_lone_sample(shape);
  ASSERT_TRUE(batch);
  shape.rule.batch = *batch;
  EXPECT_FALSE(has_lone_sample(shape));
}

TEST(LoneSample, there_may_be_no_way_out) {
  const EpochShape shape = fixed(1, 1, 1);
  EXPECT_TRUE(has_lone_sample(shape));
  EXPECT_FALSE(batch_without_lone_sample(shape));
  EXPECT_FALSE(logical_workers_without_lone_sample(shape));
}

}  // namespace
}  // namespace edl::batch
