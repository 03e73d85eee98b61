#include "edl/batch/goodput.h"

#include <gtest/gtest.h>

namespace edl::batch {
namespace {

constexpr BatchBounds kBounds{.least = 64, .most = 4096, .logical_workers = 8};

TEST(Goodput, efficiency_falls_with_the_batch_and_less_with_more_noise) {
  EXPECT_DOUBLE_EQ(efficiency(1000, 64, 64), 1);
  EXPECT_DOUBLE_EQ(efficiency(936, 64, 1064), 0.5);
  EXPECT_GT(efficiency(9000, 64, 1064), efficiency(900, 64, 1064));
}

TEST(Goodput, the_batch_where_efficiency_falls_below_a_limit) {
  EXPECT_EQ(batch_at_efficiency(936, 64, 0.5), 1064u);
  EXPECT_EQ(batch_at_efficiency(936, 64, 0.8), 314u);
  EXPECT_LT(efficiency(936, 64, 315), 0.8);
  EXPECT_GE(efficiency(936, 64, 314), 0.8);
  EXPECT_EQ(batch_at_efficiency(0, 64, 0.8), 80u);
}

TEST(Goodput, steps_that_cost_much_besides_samples_want_large_batches) {
  const auto choice = better_batch({0.1, 0.0001}, 2000, kBounds, 64);
  ASSERT_TRUE(choice);
  EXPECT_GT(choice->global, 512u);
  EXPECT_EQ(choice->global % 8, 0u);
  EXPECT_GE(choice->gain, kGainMin);
  EXPECT_NE(choice->reason.find("the noise scale is 2000 samples"), std::string::npos)
      << choice->reason;
}

TEST(Goodput, steps_that_cost_only_their_samples_want_the_smallest) {
  EXPECT_FALSE(better_batch({0, 0.001}, 2000, kBounds, 64));
  const auto back = better_batch({0, 0.001}, 100, kBounds, 1024);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->global, 64u);
}

TEST(Goodput, nothing_changes_for_a_small_gain) {
  const StepTime time{0.01, 0.0001};
  const auto best = better_batch(time, 1000, kBounds, 64);
  ASSERT_TRUE(best);
  EXPECT_FALSE(better_batch(time, 1000, kBounds, best->global));
  EXPECT_FALSE(better_batch(time, 1000, kBounds, best->global * 9 / 10));
}

TEST(Goodput, never_leaves_the_bounds) {
  const auto choice = better_batch({10, 0.0001}, 1e9, kBounds, 64);
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->global, kBounds.most);
}

TEST(Goodput, times_that_cannot_be_change_nothing) {
  EXPECT_FALSE(better_batch({0.1, 0}, 1000, kBounds, 64));
  EXPECT_FALSE(better_batch({-1, 0.1}, 1000, kBounds, 64));
}

}  // namespace
}  // namespace edl::batch
