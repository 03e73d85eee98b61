#include "edl/checkpoint/retention.h"

#include <gtest/gtest.h>

#include "edl/base/random.h"

namespace edl::checkpoint {
namespace {

using model::Step;

std::vector<FoundCheckpoint> found(const std::string& marks) {
  // One letter for each step from 1: r recorded and whole, u whole only, h half, b recorded half.
  std::vector<FoundCheckpoint> out;
  for (std::size_t i = 0; i < marks.size(); ++i) {
    const char mark = marks[i];
    if (mark == ' ') continue;
    out.push_back({Step(i + 1), mark == 'r' || mark == 'b', mark == 'r' || mark == 'u'});
  }
  return out;
}

std::string kept(const std::string& marks, std::size_t keep) {
  std::string left = marks;
  for (const Step step : expired(found(marks), keep)) left[step.value() - 1] = '.';
  return left;
}

TEST(Retention, keeps_the_newest_that_count) {
  EXPECT_EQ(kept("rrrrr", 3), "..rrr");
  EXPECT_EQ(kept("rr", 3), "rr");
  EXPECT_EQ(kept("rhrurhr", 3), "..r.r.r");
  EXPECT_EQ(kept("rrr", 0), "..r");
}

TEST(Retention, leaves_alone_what_is_newer_than_the_newest_recorded_one) {
  EXPECT_EQ(kept("rrhu", 1), ".rhu");
  EXPECT_EQ(kept("uhu", 1), "uhu");
}

TEST(Retention, a_damaged_newest_one_stays_and_does_not_count) {
  EXPECT_EQ(kept("rrb", 1), ".rb");
  EXPECT_EQ(kept("bbr", 1), "..r");
}

TEST(Retention, what_training_could_go_on_from_is_never_deleted) {
  Random random(3);
  for (int i = 0; i < 2000; ++i) {
    std::string marks;
    for (std::uint64_t n = random.below(10); n > 0; --n) marks += "ruhb "[random.below(5)];
    const std::string left = kept(marks, random.below(4));
    const std::size_t newest_whole = marks.rfind('r');
    const std::size_t newest_recorded = marks.find_last_of("rb");
    EXPECT_TRUE(newest_whole == std::string::npos || left[newest_whole] == 'r') << marks;
    EXPECT_TRUE(newest_recorded == std::string::npos || left[newest_recorded] != '.') << marks;
  }
}

}  // namespace
}  // namespace edl::checkpoint
