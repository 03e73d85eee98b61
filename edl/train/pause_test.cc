#include "edl/train/pause.h"

#include <gtest/gtest.h>

namespace edl::train {
namespace {

// A member that completes a step every 10 ms, and is kept from it by views.
class Life {
 public:
  Life() { steps(3); }

  void steps(int count) {
    for (int i = 0; i < count; ++i) {
      now += 10ms;
      clock.completed(now, 10ms);
    }
  }
  // Answers the fields of the view's second event.
  Json change(model::Cause cause, Duration pause) {
    clock.prepared(now);
    now += pause;
    clock.entered(now, {.cause = cause, .parts_redone = 2, .steps_lost = 1});
    now += 10ms;
    return clock.completed(now, 10ms).value();
  }

  Duration expected(model::Cause cause) const { return clock.expected(cause).value().whole; }

  PauseClock clock;
  Time now{1s};
};

TEST(Pause, is_what_comes_on_top_of_a_step) {
  Life life;
  const Json cost = life.change(model::Cause::kScale, 7ms);
  EXPECT_DOUBLE_EQ(cost["pause_ms"], 7);
  EXPECT_DOUBLE_EQ(cost["agree_ms"], 7);
  EXPECT_DOUBLE_EQ(cost["resume_ms"], 10);
  EXPECT_EQ(cost["parts_redone"], 2);
  EXPECT_EQ(cost["steps_lost"], 1);
}

TEST(Pause, is_expected_from_the_store_until_there_was_one) {
  Life life;
  EXPECT_FALSE(life.clock.expected(model::Cause::kScale));
  EXPECT_TRUE(life.change(model::Cause::kStart, 500ms)["predicted_pause_ms"].is_null());
  EXPECT_FALSE(life.clock.expected(model::Cause::kScale));  // a beginning says nothing of it
  life.clock.store_answered(2ms);
  EXPECT_EQ(life.expected(model::Cause::kScale), Duration(4ms));
  EXPECT_GT(life.expected(model::Cause::kDeath), Duration(4ms));
  EXPECT_EQ(life.clock.expected(model::Cause::kScale)->resume, Duration(10ms));
}

TEST(Pause, is_expected_from_those_before_of_the_same_kind) {
  Life life;
  life.change(model::Cause::kJoin, 6ms);
  const Json second = life.change(model::Cause::kLeave, 9ms);
  EXPECT_DOUBLE_EQ(second["predicted_pause_ms"], 6);
  EXPECT_DOUBLE_EQ(second["predicted_detect_ms"], 0);
  EXPECT_DOUBLE_EQ(second["predicted_agree_ms"], 6);
  EXPECT_DOUBLE_EQ(second["predicted_transfer_ms"], 0);
  EXPECT_DOUBLE_EQ(second["predicted_resume_ms"], 10);
  EXPECT_EQ(life.expected(model::Cause::kScale), Duration(7ms));
  life.change(model::Cause::kDeath, 60ms);
  EXPECT_EQ(life.expected(model::Cause::kScale), Duration(7ms));
  EXPECT_EQ(life.expected(model::Cause::kDeath), Duration(60ms));
}

TEST(Pause, is_never_expected_to_be_below_nothing) {
  Life life;
  life.clock.prepared(life.now);
  life.clock.entered(life.now, {.cause = model::Cause::kScale});
  const Json cost = life.clock.completed(life.now + 4ms, 10ms).value();  // a quick step
  EXPECT_DOUBLE_EQ(cost["pause_ms"], 0);
  EXPECT_EQ(life.expected(model::Cause::kScale), Duration());
}

}  // namespace
}  // namespace edl::train
