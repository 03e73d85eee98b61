#include "edl/agent/crew.h"

#include <gtest/gtest.h>

namespace edl::agent {
namespace {

using Ids = std::vector<model::WorkerId>;

constexpr Duration kGrace = 30s;
const Time kStart = Time() + 1h;

CrewOrders run(std::uint64_t generation, Ids workers) {
  return {.generation = generation, .workers = std::move(workers)};
}

CrewOrders stop(std::uint64_t generation, Ids workers) {
  return {.generation = generation, .workers = std::move(workers), .stop = true};
}

TEST(Crew, starts_those_of_a_round_once) {
  Crew crew(kGrace);
  EXPECT_EQ(crew.decide(run(1, {"w1", "w2"}), kStart).start, (Ids{"w1", "w2"}));
  EXPECT_EQ(crew.decide(run(1, {"w1", "w2"}), kStart).start, Ids{});
  crew.ended("w1");
  EXPECT_EQ(crew.decide(run(1, {"w1", "w2"}), kStart).start, Ids{}) << "it is for the next round";
}

TEST(Crew, rounds_of_an_earlier_run_are_not_started_again) {
  Crew crew(kGrace);
  crew.begin_after(4);
  EXPECT_EQ(crew.decide(run(4, {"w7"}), kStart).start, Ids{});
  EXPECT_EQ(crew.decide(run(5, {"w8"}), kStart).start, Ids{"w8"});
}

TEST(Crew, asks_all_to_end_and_kills_after_the_whole_grace) {
  Crew crew(kGrace);
  crew.decide(run(1, {"w1", "w2"}), kStart);
  const CrewActions asked = crew.decide(stop(1, {"w1", "w2"}), kStart + 1s);
  EXPECT_EQ(asked.terminate, (Ids{"w1", "w2"}));
  EXPECT_EQ(asked.kill, Ids{});
  EXPECT_EQ(asked.look_again, kStart + 1s + kGrace);
  EXPECT_TRUE(crew.ended("w1").asked);
  EXPECT_EQ(crew.decide(stop(1, {"w1", "w2"}), kStart + kGrace).kill, Ids{}) << "a second is left";
  const CrewActions late = crew.decide(stop(1, {"w1", "w2"}), kStart + 1s + kGrace);
  EXPECT_EQ(late.kill, Ids{"w2"});
  EXPECT_EQ(late.terminate, Ids{}) << "it was asked once";
  EXPECT_EQ(late.look_again, std::nullopt);
  EXPECT_EQ(crew.decide(stop(1, {"w1", "w2"}), kStart + 1h).kill, Ids{});
  EXPECT_TRUE(crew.ended("w2").killed);
  EXPECT_TRUE(crew.empty());
}

TEST(Crew, nobody_starts_while_one_of_an_older_round_runs) {
  Crew crew(kGrace);
  crew.decide(run(1, {"w1", "w2"}), kStart);
  const CrewActions change = crew.decide(run(2, {"w3"}), kStart + 1s);
  EXPECT_EQ(change.terminate, (Ids{"w1", "w2"}));
  EXPECT_EQ(change.start, Ids{});
  crew.ended("w1");
  EXPECT_EQ(crew.decide(run(2, {"w3"}), kStart + 2s).start, Ids{});
  crew.ended("w2");
  EXPECT_EQ(crew.decide(run(2, {"w3"}), kStart + 3s).start, Ids{"w3"});
}

TEST(Crew, who_is_to_end_before_it_started_is_skipped_once) {
  Crew crew(kGrace);
  const CrewActions actions = crew.decide(stop(1, {"w1"}), kStart);
  EXPECT_EQ(actions.start, Ids{});
  EXPECT_EQ(actions.skip, Ids{"w1"});
  EXPECT_EQ(crew.decide(stop(1, {"w1"}), kStart).skip, Ids{});
  EXPECT_EQ(crew.decide(run(1, {"w1"}), kStart).start, Ids{}) << "it was said to have ended";
}

TEST(Crew, an_end_that_nobody_asked_for_is_known_as_that) {
  Crew crew(kGrace);
  crew.decide(run(1, {"w1"}), kStart);
  const CrewEnd how = crew.ended("w1");
  EXPECT_FALSE(how.asked);
  EXPECT_FALSE(how.killed);
}

TEST(PlainEnd, says_whose_doing_it_was) {
  const auto end = [](os::Exit exit, CrewEnd how = {}, std::uint64_t ooms = 0) {
    return plain_end(exit, how, ooms, kGrace);
  };
  const CrewEnd asked{.asked = true};
  using model::ExitClass;
  EXPECT_EQ(end({}).exit_class, ExitClass::kLeft);
  EXPECT_EQ(end({}).reason, "It finished.");
  EXPECT_EQ(end({.code = 1}).exit_class, ExitClass::kCrashed);
  EXPECT_EQ(end({.signal = 11}).exit_class, ExitClass::kCrashed);
  EXPECT_EQ(end({.signal = 9}).exit_class, ExitClass::kKilled);
  EXPECT_EQ(end({.signal = 9}, {}, 1).exit_class, ExitClass::kOom);
  EXPECT_EQ(end({.signal = 15}).exit_class, ExitClass::kPreempted);
  EXPECT_EQ(end({}, asked).exit_class, ExitClass::kLeft);
  EXPECT_EQ(end({.signal = 15}, asked).exit_class, ExitClass::kLeft);
  EXPECT_EQ(end({.code = 1}, asked).exit_class, ExitClass::kLeft);
  EXPECT_EQ(end({.code = 1}, asked).reason, "It was stopped (exit code 1).");
  EXPECT_EQ(end({.signal = 9}, asked).exit_class, ExitClass::kKilled);
  const PlainEnd late = end({.signal = 9}, {.asked = true, .killed = true});
  EXPECT_EQ(late.exit_class, ExitClass::kKilled);
  EXPECT_EQ(late.reason, "It did not end within 30 s of SIGTERM, and was killed.");
}

}  // namespace
}  // namespace edl::agent
