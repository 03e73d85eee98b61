#include "edl/train/state_watch.h"

#include <gtest/gtest.h>

namespace edl::train {
namespace {

using model::Step;

// The mark after these steps, if there is one; `odd` is a step whose block differs.
std::optional<membership::StateMark> mark_of(std::uint64_t from, std::uint64_t to,
                                             std::uint64_t odd = 0) {
  StateWatch watch;
  for (std::uint64_t step = from; step <= to; ++step) {
    watch.add(Step(step), step == odd ? 7 : step * 1000);
  }
  return watch.take();
}

constexpr std::uint64_t kWindow = StateWatch::kWindow;

TEST(StateWatch, the_same_blocks_give_the_same_mark) {
  const auto mark = mark_of(kWindow + 1, 2 * kWindow);
  ASSERT_TRUE(mark);
  EXPECT_EQ(mark->step, Step(2 * kWindow));
  EXPECT_EQ(mark_of(1, 2 * kWindow + 5), mark) << "whoever was there before and behind";
  for (const std::uint64_t odd : {kWindow + 1, kWindow + 7, 2 * kWindow}) {
    EXPECT_NE(mark_of(kWindow + 1, 2 * kWindow, odd), mark) << odd;
  }
}

TEST(StateWatch, who_was_not_there_all_the_time_says_nothing) {
  EXPECT_FALSE(mark_of(kWindow + 2, 2 * kWindow));
  EXPECT_FALSE(mark_of(kWindow + 1, 2 * kWindow - 1));
  StateWatch watch;
  for (std::uint64_t step = 1; step <= kWindow; ++step) {
    if (step != 9) watch.add(Step(step), step);
  }
  EXPECT_FALSE(watch.take());
}

TEST(StateWatch, a_mark_is_taken_once) {
  StateWatch watch;
  for (std::uint64_t step = 1; step <= kWindow; ++step) watch.add(Step(step), step);
  EXPECT_TRUE(watch.take());
  EXPECT_FALSE(watch.take());
}

}  // namespace
}  // namespace edl::train
