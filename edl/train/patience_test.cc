#include "edl/train/patience.h"

#include <gtest/gtest.h>

namespace edl::train {
namespace {

Doing part(std::uint64_t step, std::uint32_t v) {
  return {model::Step(step), model::LogicalWorker(v)};
}

// After how many seconds at this work it is too long; nothing when it is not within `most`.
std::optional<int> seconds_until_blamed(Patience& patience, const Doing& work, int most) {
  for (int second = 0; second <= most; ++second) {
    if (patience.second(work)) return second;
  }
  return std::nullopt;
}

TEST(Patience, ends_when_the_same_work_takes_as_long_as_was_said) {
  Patience patience = Patience::make("5s").value();
  EXPECT_EQ(seconds_until_blamed(patience, part(1, 0), 4), std::nullopt);
  EXPECT_EQ(seconds_until_blamed(patience, part(1, 1), 9), 5);
}

TEST(Patience, what_moves_on_is_never_blamed) {
  Patience patience = Patience::make("2s").value();
  for (std::uint64_t step = 1; step < 1000; ++step) {
    EXPECT_FALSE(patience.second(part(step, 0)));
    EXPECT_FALSE(patience.second(part(step, 0)));
    EXPECT_FALSE(patience.second(Doing{model::Step(step), std::nullopt}));
  }
}

TEST(Patience, to_have_nothing_to_do_is_no_work) {
  Patience patience = Patience::make("2s").value();
  for (int second = 0; second < 100; ++second) EXPECT_FALSE(patience.second(std::nullopt));
}

TEST(Patience, learns_how_long_parts_take) {
  Patience patience;
  EXPECT_EQ(seconds_until_blamed(patience, part(1, 0), 1000), std::nullopt);
  EXPECT_EQ(seconds_until_blamed(patience, part(2, 0), 100000), 20 * 1000);
  Patience first;
  EXPECT_EQ(seconds_until_blamed(first, part(1, 0), 100000), 3600);
  Patience later;
  EXPECT_FALSE(later.second(part(1, 0)));
  EXPECT_EQ(seconds_until_blamed(later, part(2, 0), 100000), 600);
}

TEST(Patience, is_shorter_when_the_worker_is_to_end) {
  for (const char* rule : {"auto", "off", "1h"}) {
    Patience patience = Patience::make(rule).value();
    EXPECT_EQ(seconds_until_blamed(patience, part(1, 0), 100), std::nullopt);
    patience.hurry(5s);  // it has this time from now on, whatever was before
    EXPECT_TRUE(patience.is_hurried());
    for (int second = 1; second < 5; ++second) EXPECT_FALSE(patience.second(part(1, 0)));
    patience.hurry(5s);
    EXPECT_TRUE(patience.second(part(1, 0)));
  }
  Patience patience;
  EXPECT_EQ(seconds_until_blamed(patience, part(1, 0), 50), std::nullopt);
  EXPECT_FALSE(patience.second(part(2, 0)));
  patience.hurry(5s);
  EXPECT_EQ(seconds_until_blamed(patience, part(2, 1), 1000), 100);
}

TEST(Patience, can_be_without_end_and_knows_no_other_words) {
  Patience patience = Patience::make("off").value();
  EXPECT_EQ(seconds_until_blamed(patience, part(1, 0), 10000), std::nullopt);
  EXPECT_FALSE(Patience::make("soon").ok());
}

}  // namespace
}  // namespace edl::train
