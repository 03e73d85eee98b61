#include "edl/batch/lone_sample.h"

#include <gtest/gtest.h>

#include <set>

#include "edl/model/batch.h"

namespace edl::batch {
namespace {

EpochShape fixed(std::uint64_t samples, std::uint64_t batch, std::uint32_t logical_workers) {
  return {.samples = samples, .rule = {.logical_workers = logical_workers, .batch = batch}};
}

bool counted_in_step(std::uint64_t step, const BatchRule& rule) {
  for (std::uint32_t v = 0; v < rule.logical_workers; ++v) {
    std::uint64_t left = model::part_size(step, rule.logical_workers, model::LogicalWorker(v));
    while (left > 0) {
      const std::uint64_t seen = std::min(left, rule.micro.value_or(left));
      if (seen == 1) return true;
      left -= seen;
    }
  }
  return false;
}

// By counting the samples of every part and micro batch of every step, from every position that
// steps with any numbers of members lead to.
bool counted(const EpochShape& shape) {
  std::set<std::uint64_t> positions{0};
  while (!positions.empty()) {
    const std::uint64_t at = *positions.begin();
    positions.erase(positions.begin());
    for (std::uint32_t members = shape.members_min; members <= shape.members_max; ++members) {
      const std::uint64_t global = batch_of(shape.rule, members).global;
      const std::uint64_t step = std::min(global, shape.samples - at);
      if (counted_in_step(step, shape.rule)) return true;
      if (at + step < shape.samples) positions.insert(at + step);
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

// 1189 in steps of 64 leave 37, in steps of 96 also 37, in steps of both perhaps 5.
TEST(LoneSample, members_that_come_and_go_within_an_epoch_count) {
  EpochShape shape = fixed(1189, 32, 4);
  shape.rule.policy = model::BatchPolicy::kLinear;
  shape.members_min = shape.members_max = 2;
  EXPECT_FALSE(has_lone_sample(shape));
  shape.members_min = shape.members_max = 3;
  EXPECT_FALSE(has_lone_sample(shape));
  shape.members_min = 2;
  EXPECT_TRUE(has_lone_sample(shape));
  EXPECT_TRUE(counted(shape));
}

TEST(LoneSample, no_order_of_steps_gives_one_where_none_is_found) {
  int without = 0;
  int more = 0;  // found where there is none: some rests need more samples than there are
  int all = 0;
  for (const auto policy : {model::BatchPolicy::kLinear, model::BatchPolicy::kCapped}) {
    for (std::uint64_t samples = 40; samples <= 120; ++samples) {
      for (std::uint64_t batch = 4; batch <= 16; batch += 2) {
        for (const std::uint64_t most : {24, 30, 64}) {
          EpochShape shape = fixed(samples, batch, 2);
          shape.rule.policy = policy;
          shape.rule.batch_max = most;
          shape.members_max = 3;
          const bool found = has_lone_sample(shape);
          const bool expected = counted(shape);
          EXPECT_TRUE(found || !expected) << samples << " in " << batch << " up to " << most;
          without += found ? 0 : 1;
          more += found && !expected ? 1 : 0;
          ++all;
        }
      }
    }
  }
  EXPECT_GT(without, all / 10);
  EXPECT_LT(more, all / 10);
}

TEST(LoneSample, a_batch_that_is_chosen_on_the_way_leaves_none) {
  const BatchRule rule{
      .policy = model::BatchPolicy::kAdaptive, .logical_workers = 4, .batch = 32, .batch_max = 512};
  int others = 0;
  for (std::uint64_t position = 0; position < 1200; position += 32) {
    for (std::uint64_t wanted = 32; wanted <= 512; wanted += 4) {
      const auto batch = batch_from_here(rule, 1200, position, wanted);
      ASSERT_TRUE(batch) << wanted << " at " << position;
      others += *batch == wanted ? 0 : 1;
      for (const std::uint64_t left : {1200 - position, std::uint64_t{1200}}) {
        EXPECT_FALSE(counted_in_step(left % *batch, rule)) << *batch << " at " << position;
      }
    }
  }
  EXPECT_GT(others, 100);
  EXPECT_FALSE(batch_from_here(
      {.policy = model::BatchPolicy::kAdaptive, .logical_workers = 4, .batch = 4, .batch_max = 5},
      1200, 0, 4));
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
