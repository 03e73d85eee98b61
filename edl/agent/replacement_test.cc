#include "edl/agent/replacement.h"

#include <gtest/gtest.h>

namespace edl::agent {
namespace {

using model::ExitClass;

constexpr Time kStart{1h};

WorkerEnd end(const std::string& id, ExitClass exit_class) {
  return {.id = id, .exit_class = exit_class, .reason = "It ended.", .log = id + ".log"};
}

WorkerEnd failed_in(const std::string& id, std::uint64_t step, std::uint32_t v,
                    const std::string& message) {
  WorkerEnd crash = end(id, ExitClass::kCrashed);
  crash.part = FailedPart{model::Step(step), model::LogicalWorker(v), message};
  return crash;
}

TEST(Replacement, fills_up_to_wanted_and_never_beyond) {
  Replacement replacement;
  EXPECT_EQ(replacement.decide(4, 0, kStart).start, 4u);
  EXPECT_EQ(replacement.decide(4, 3, kStart).start, 1u);
  EXPECT_EQ(replacement.decide(4, 4, kStart).start, 0u);
  EXPECT_EQ(replacement.decide(2, 4, kStart).start, 0u);
}

TEST(Replacement, killed_preempted_and_left_are_replaced_at_once_without_end) {
  Replacement replacement;
  for (int i = 0; i < 100; ++i) {
    for (const auto why : {ExitClass::kKilled, ExitClass::kPreempted, ExitClass::kLeft}) {
      replacement.ended(end("w1", why), kStart);
      EXPECT_EQ(replacement.decide(3, 2, kStart).start, 1u);
    }
  }
  EXPECT_FALSE(replacement.failure().has_value());
}

TEST(Replacement, a_crash_holds_its_own_place_back_for_a_delay_that_doubles) {
  Replacement replacement;
  Time now = kStart;
  for (const Duration delay : {200ms, 400ms, 800ms, 1600ms, 3200ms}) {
    replacement.ended(end("w1", ExitClass::kCrashed), now);
    const auto held = replacement.decide(2, 1, now);
    EXPECT_EQ(held.start, 0u);
    EXPECT_EQ(held.look_again, now + delay);
    EXPECT_EQ(replacement.decide(2, 1, now + delay - 1ns).start, 0u);
    EXPECT_EQ(replacement.decide(2, 0, now).start, 1u) << "another place is not held";
    now += delay;
    EXPECT_EQ(replacement.decide(2, 1, now).start, 1u);
  }
}

TEST(Replacement, the_sixth_crash_within_ten_minutes_ends_the_job) {
  Replacement replacement;
  for (int i = 1; i <= 5; ++i) {
    replacement.ended(end("w1", i % 2 == 0 ? ExitClass::kOom : ExitClass::kCrashed), kStart);
  }
  EXPECT_FALSE(replacement.failure().has_value());
  replacement.ended(end("w6", ExitClass::kCrashed), kStart + 10min - 1ns);
  ASSERT_TRUE(replacement.failure().has_value());
  EXPECT_EQ(replacement.failure()->worker, "w6");
  EXPECT_EQ(replacement.failure()->log, "w6.log");
  EXPECT_EQ(replacement.decide(2, 0, kStart + 1h).start, 0u);
}

TEST(Replacement, crashes_older_than_ten_minutes_are_forgotten) {
  Replacement replacement;
  for (int i = 0; i < 50; ++i) {
    replacement.ended(end("w1", ExitClass::kCrashed), kStart + i * 2min + i * 1s);
  }
  EXPECT_FALSE(replacement.failure().has_value());
}

TEST(Replacement, the_same_part_failing_on_two_workers_ends_the_job_with_both_messages) {
  Replacement replacement;
  replacement.ended(failed_in("w1", 7, 3, "division by zero"), kStart);
  replacement.ended(failed_in("w2", 7, 2, "something else"), kStart);
  replacement.ended(failed_in("w2", 8, 3, "something else"), kStart);
  EXPECT_FALSE(replacement.failure().has_value());
  replacement.ended(failed_in("w3", 7, 3, "zero divides"), kStart);
  ASSERT_TRUE(replacement.failure().has_value());
  EXPECT_EQ(replacement.failure()->reason,
            "logical worker 3 of step 7 failed on w1 (division by zero) and again on w3 (zero "
            "divides), so the program would fail there for ever.");
  EXPECT_EQ(replacement.failure()->worker, "w3");
}

TEST(Replacement, an_update_that_fails_uses_the_budget_and_is_told) {
  Replacement replacement;
  WorkerEnd failed = failed_in("w1", 7, 3, "the hook waits");
  failed.part->v.reset();
  for (const char* id : {"w1", "w2", "w3", "w4", "w5", "w6"}) {
    EXPECT_FALSE(replacement.failure().has_value());
    failed.id = id;
    replacement.ended(failed, kStart);
  }
  ASSERT_TRUE(replacement.failure().has_value());
  EXPECT_NE(replacement.failure()->reason.find("w6 (the hook waits)"), std::string::npos);
}

TEST(Replacement, a_part_on_a_killed_worker_is_no_poison) {
  Replacement replacement;
  WorkerEnd killed = failed_in("w1", 7, 3, "?");
  killed.exit_class = ExitClass::kKilled;
  replacement.ended(killed, kStart);
  replacement.ended(failed_in("w2", 7, 3, "?"), kStart);
  EXPECT_FALSE(replacement.failure().has_value());
}

}  // namespace
}  // namespace edl::agent
