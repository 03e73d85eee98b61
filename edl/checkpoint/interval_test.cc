#include "edl/checkpoint/interval.h"

#include <gtest/gtest.h>

namespace edl::checkpoint {
namespace {

using model::Step;
using Kind = IntervalRule::Kind;

constexpr Time kStart{};

Interval measured(Duration stall, Duration write) {
  Interval interval({}, kStart, Step(0));
  interval.begun(kStart, Step(0), stall);
  interval.written(write);
  return interval;
}

TEST(Interval, rules_are_read_and_nonsense_is_refused) {
  EXPECT_EQ(parse_interval_rule("auto").value(), IntervalRule{});
  EXPECT_EQ(parse_interval_rule("off")->kind, Kind::kOff);
  EXPECT_EQ(parse_interval_rule("100steps").value(),
            (IntervalRule{.kind = Kind::kSteps, .steps = 100}));
  EXPECT_EQ(parse_interval_rule("30s").value(), (IntervalRule{.kind = Kind::kTime, .time = 30s}));
  for (const char* word : {"", "steps", "0steps", "-1steps", "1 steps", "30", "0s", "-3s", "often",
                           "99999999999999999999steps", "1000000000001steps"}) {
    EXPECT_EQ(parse_interval_rule(word).error().code, Code::kInvalid) << word;
  }
}

TEST(Interval, is_the_square_root_of_twice_cost_times_mean) {
  // 0.5 s + 2 s / 4 = 1 s; sqrt(2 * 1 s * 3600 s) = 84.85 s.
  const Interval interval = measured(500ms, 2s);
  EXPECT_NEAR(seconds(interval.every(kStart)), 84.85, 0.01);
  EXPECT_FALSE(interval.decide(kStart + 84s, Step(5)).due);
  EXPECT_TRUE(interval.decide(kStart + 85s + 1s, Step(5)).due);
}

TEST(Interval, failures_shorten_it_and_calm_lengthens_it) {
  Interval interval = measured(500ms, 2s);
  const Duration at_first = interval.every(kStart);
  EXPECT_GT(interval.every(kStart + 2h), at_first);
  interval.failed();
  interval.failed();
  interval.failed();
  EXPECT_NEAR(seconds(interval.every(kStart)), seconds(at_first) / 2, 0.01);
  EXPECT_NE(interval.decide(kStart, Step(1)).reason.find("(3 seen)"), std::string::npos);
}

TEST(Interval, costs_at_most_its_share_however_often_it_fails) {
  for (const Duration cost : {Duration(10ms), Duration(3s), Duration(500s)}) {
    Interval interval = measured(cost, 0s);
    for (int i = 0; i < 100'000; ++i) interval.failed();
    EXPECT_LE(seconds(cost) / seconds(interval.every(kStart)), 0.0501);
    EXPECT_GE(interval.every(kStart), 1s);
  }
  EXPECT_LE(measured(1ms, 0s).every(kStart + 100000h), 1h);
}

TEST(Interval, the_same_step_is_never_due_twice) {
  Interval every_step({.kind = Kind::kSteps, .steps = 10}, kStart, Step(20));
  EXPECT_FALSE(every_step.decide(kStart, Step(29)).due);
  EXPECT_TRUE(every_step.decide(kStart, Step(30)).due);
  every_step.begun(kStart, Step(33), 1ms);
  EXPECT_FALSE(every_step.decide(kStart, Step(40)).due);
  EXPECT_TRUE(every_step.decide(kStart, Step(43)).due);
  Interval by_time({.kind = Kind::kTime, .time = 5s}, kStart, Step(20));
  EXPECT_FALSE(by_time.decide(kStart + 9s, Step(20)).due);
  EXPECT_TRUE(by_time.decide(kStart + 9s, Step(21)).due);
  const Interval off({.kind = Kind::kOff}, kStart, Step(0));
  EXPECT_FALSE(off.decide(kStart + 1000h, Step(1000)).due);
}

}  // namespace
}  // namespace edl::checkpoint
