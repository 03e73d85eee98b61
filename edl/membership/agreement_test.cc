#include "edl/membership/agreement.h"

#include <gtest/gtest.h>

namespace edl::membership {
namespace {

StateMark mark(std::uint64_t step, std::uint64_t digest) { return {model::Step(step), digest}; }

TEST(Agreement, another_state_is_told_once) {
  Agreement agreement;
  EXPECT_TRUE(agreement.tell_own("w1", mark(64, 1)).empty());
  EXPECT_EQ(agreement.own(), mark(64, 1));
  EXPECT_FALSE(agreement.tell("w2", mark(64, 1)));
  const auto told = agreement.tell("w3", mark(64, 2));
  ASSERT_TRUE(told);
  EXPECT_EQ(told->find("the state of w3 is not that of w1 after step 64: "), 0U) << *told;
  EXPECT_FALSE(agreement.tell("w3", mark(64, 2)));
  agreement.keep({{.id = "w3", .address = {}, .host = {}, .logical = {}}}, {});  // it left
  EXPECT_TRUE(agreement.tell("w3", mark(64, 2)));
}

TEST(Agreement, who_is_ahead_is_compared_later) {
  Agreement agreement;
  EXPECT_FALSE(agreement.tell("w2", mark(128, 5)));
  EXPECT_FALSE(agreement.tell("w3", mark(192, 5)));
  EXPECT_TRUE(agreement.tell_own("w1", mark(64, 1)).empty());
  EXPECT_EQ(agreement.tell_own("w1", mark(128, 6)).size(), 1U);
  EXPECT_TRUE(agreement.tell_own("w1", mark(192, 5)).empty());
}

TEST(Agreement, steps_that_were_not_looked_at_here_say_nothing) {
  Agreement agreement;
  agreement.tell_own("w1", mark(64, 1));
  agreement.tell_own("w1", mark(192, 3));
  EXPECT_FALSE(agreement.tell("w2", mark(128, 7)));
  EXPECT_FALSE(agreement.tell("w2", mark(256, 7)));
  EXPECT_TRUE(agreement.tell_own("w1", mark(320, 8)).empty());  // 256 is behind us
}

TEST(Agreement, a_state_that_is_loaded_begins_anew) {
  Agreement agreement;
  agreement.tell_own("w1", mark(64, 1));
  agreement.tell_own("w1", mark(128, 2));
  agreement.tell_own("w1", mark(64, 9));
  EXPECT_TRUE(agreement.tell("w2", mark(64, 1)));
  EXPECT_FALSE(agreement.tell("w3", mark(128, 3)));
}

}  // namespace
}  // namespace edl::membership
