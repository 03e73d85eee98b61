#include "edl/agent/exit_class.h"

#include <gtest/gtest.h>

namespace edl::agent {
namespace {

using model::ExitClass;

TEST(ExitClass, an_own_code_or_a_signal_of_its_own_is_a_crash) {
  EXPECT_EQ(classify({.exit = {.code = 3}}), ExitClass::kCrashed);
  EXPECT_EQ(classify({.exit = {.signal = 11}}), ExitClass::kCrashed);
  EXPECT_EQ(classify({.exit = {.signal = 2}}), ExitClass::kCrashed);
  EXPECT_EQ(classify({.exit = {.signal = 6}, .leaving = true}), ExitClass::kCrashed);
  EXPECT_EQ(classify({.exit = {.code = 1}, .leaving = true}), ExitClass::kCrashed);
}

TEST(ExitClass, sigkill_is_killed_unless_memory_ran_out) {
  EXPECT_EQ(classify({.exit = {.signal = 9}}), ExitClass::kKilled);
  EXPECT_EQ(classify({.exit = {.signal = 9}, .oom_kills = 1}), ExitClass::kOom);
  EXPECT_EQ(classify({.exit = {.code = 1}, .oom_kills = 1}), ExitClass::kCrashed);
}

TEST(ExitClass, exit_0_is_left_or_preempted_only_when_it_was_leaving) {
  EXPECT_EQ(classify({.leaving = true}), ExitClass::kLeft);
  EXPECT_EQ(classify({.leaving = true, .preempted = true}), ExitClass::kPreempted);
  EXPECT_EQ(classify({}), ExitClass::kCrashed);
}

TEST(ExitClass, a_polite_signal_that_was_not_handled_is_a_preemption) {
  EXPECT_EQ(classify({.exit = {.signal = 15}}), ExitClass::kPreempted);
}

TEST(ExitClass, every_end_has_a_sentence) {
  EXPECT_EQ(end_reason({.code = 3}, ExitClass::kCrashed), "It crashed: exit code 3.");
  for (const auto exit_class :
       {ExitClass::kLeft, ExitClass::kKilled, ExitClass::kPreempted, ExitClass::kOom}) {
    EXPECT_TRUE(end_reason({}, exit_class).ends_with('.'));
  }
}

}  // namespace
}  // namespace edl::agent
