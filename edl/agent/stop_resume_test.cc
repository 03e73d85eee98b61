#include "edl/agent/stop_resume.h"

#include <gtest/gtest.h>

namespace edl::agent {
namespace {

using Act = RoundDecision::Act;
using State = SeatFacts::State;
using model::Cause;
using model::ExitClass;

constexpr Duration kLostAfter = 40s;
const Time kStart = Time() + 1h;

SeatFacts running(const std::string& id) {
  return {.id = id, .host = "h", .state = State::kRunning};
}

SeatFacts ended(const std::string& id, model::Exit exit, std::uint64_t order = 1) {
  return {.id = id,
          .host = "h",
          .state = State::kEnded,
          .exit = exit,
          .reason = "It ended.",
          .log = id + ".log",
          .order = order};
}

SeatFacts stopped(const std::string& id) {
  SeatFacts seat = ended(id, {0, 0, ExitClass::kLeft});
  seat.asked = true;
  return seat;
}

SeatFacts finished(const std::string& id) { return ended(id, {0, 0, ExitClass::kLeft}); }
SeatFacts killed(const std::string& id, std::uint64_t order = 1) {
  return ended(id, {0, 9, ExitClass::kKilled}, order);
}
SeatFacts crashed(const std::string& id, std::uint64_t order = 1) {
  return ended(id, {1, 0, ExitClass::kCrashed}, order);
}

RoundFacts facts(std::uint64_t generation, std::vector<SeatFacts> seats, std::uint32_t wanted) {
  return {.wanted = {.workers = wanted, .by = "edl scale", .reason = "More."},
          .generation = generation,
          .seats = std::move(seats)};
}

// A job whose first round has started.
struct Started : testing::Test {
  Started() { rounds.decide(facts(0, {}, 2), kStart); }

  RoundDecision decide(const RoundFacts& now, Duration after = 0s) {
    return rounds.decide(now, kStart + after);
  }

  StopResume rounds{kLostAfter};
};

TEST(StopResume, the_first_round_starts_at_once) {
  StopResume rounds(kLostAfter);
  const RoundDecision decision = rounds.decide(facts(0, {}, 2), kStart);
  EXPECT_EQ(decision.act, Act::kStart);
  EXPECT_EQ(decision.cause, Cause::kStart);
}

TEST(StopResume, a_job_that_goes_on_starts_again_whatever_its_last_round_was) {
  StopResume rounds(kLostAfter);
  const RoundDecision decision =
      rounds.decide(facts(4, {finished("w1"), crashed("w2")}, 2), kStart);
  EXPECT_EQ(decision.act, Act::kStart);
  EXPECT_EQ(decision.cause, Cause::kResume);
}

TEST(StopResume, a_job_that_goes_on_first_stops_who_still_runs) {
  StopResume rounds(kLostAfter);
  RoundFacts now = facts(4, {running("w1")}, 1);
  EXPECT_EQ(rounds.decide(now, kStart).act, Act::kAnnounce);
  now.announced = 5;
  EXPECT_EQ(rounds.decide(now, kStart).act, Act::kWait);
  now.seats = {stopped("w1")};
  const RoundDecision next = rounds.decide(now, kStart);
  EXPECT_EQ(next.act, Act::kStart);
  EXPECT_EQ(next.cause, Cause::kResume);
}

TEST_F(Started, as_many_as_are_wanted_go_on) {
  EXPECT_EQ(decide(facts(1, {running("w1"), running("w2")}, 2)).act, Act::kWait);
}

TEST_F(Started, another_size_stops_all_and_starts_when_all_have_ended) {
  RoundFacts now = facts(1, {running("w1"), running("w2")}, 3);
  const RoundDecision change = decide(now);
  EXPECT_EQ(change.act, Act::kAnnounce);
  EXPECT_EQ(change.cause, Cause::kScale);
  EXPECT_EQ(change.who, "edl scale");
  EXPECT_EQ(change.reason, "More.");
  now.announced = 2;
  EXPECT_EQ(decide(now).act, Act::kWait) << "it was announced";
  now.seats = {stopped("w1"), running("w2")};
  EXPECT_EQ(decide(now).act, Act::kWait) << "one still runs";
  now.seats = {stopped("w1"), stopped("w2")};
  const RoundDecision next = decide(now);
  EXPECT_EQ(next.act, Act::kStart);
  EXPECT_EQ(next.cause, Cause::kScale);
}

TEST_F(Started, a_worker_that_has_not_begun_is_waited_for) {
  RoundFacts now = facts(1, {stopped("w1"), {.id = "w2"}}, 3);
  now.announced = 2;
  EXPECT_EQ(decide(now).act, Act::kWait);
}

TEST_F(Started, a_death_stops_the_others) {
  RoundFacts now = facts(1, {killed("w1"), running("w2")}, 2);
  const RoundDecision change = decide(now);
  EXPECT_EQ(change.act, Act::kAnnounce);
  EXPECT_EQ(change.cause, Cause::kDeath);
  EXPECT_EQ(change.who, "w1");
  now.announced = 2;
  now.seats[1] = stopped("w2");
  EXPECT_EQ(decide(now).act, Act::kStart) << "killed ones cost nothing and wait for nothing";
}

TEST_F(Started, a_preemption_is_called_one) {
  RoundFacts now = facts(1, {ended("w1", {0, 15, ExitClass::kPreempted}), running("w2")}, 2);
  EXPECT_EQ(decide(now).cause, Cause::kPreempt);
}

TEST_F(Started, the_death_of_all_at_once_needs_no_stop) {
  const RoundDecision next = decide(facts(1, {killed("w1"), killed("w2", 2)}, 2));
  EXPECT_EQ(next.act, Act::kStart);
  EXPECT_EQ(next.cause, Cause::kDeath);
}

TEST_F(Started, has_finished_when_all_ended_by_themselves_with_0) {
  EXPECT_EQ(decide(facts(1, {finished("w1"), running("w2")}, 2)).act, Act::kWait);
  const RoundDecision end = decide(facts(1, {finished("w1"), finished("w2")}, 2));
  EXPECT_EQ(end.act, Act::kEnd);
  EXPECT_EQ(end.state, "finished");
}

TEST_F(Started, who_was_asked_to_end_has_not_finished) {
  RoundFacts now = facts(1, {finished("w1"), stopped("w2")}, 2);
  now.announced = 2;
  EXPECT_EQ(decide(now).act, Act::kStart);
}

TEST_F(Started, is_not_resized_once_one_has_finished) {
  EXPECT_EQ(decide(facts(1, {finished("w1"), running("w2")}, 4)).act, Act::kWait);
}

TEST_F(Started, a_stop_ends_the_job_when_all_have_ended) {
  RoundFacts now = facts(1, {running("w1"), running("w2")}, 2);
  now.wanted.stop = true;
  EXPECT_EQ(decide(now).act, Act::kWait) << "agents see it themselves";
  now.seats = {stopped("w1"), stopped("w2")};
  const RoundDecision end = decide(now);
  EXPECT_EQ(end.act, Act::kEnd);
  EXPECT_EQ(end.state, "stopped");
}

TEST_F(Started, a_crash_delays_the_next_round) {
  const RoundFacts now = facts(1, {crashed("w1"), stopped("w2")}, 2);
  const RoundDecision held = decide(now);
  EXPECT_EQ(held.act, Act::kWait);
  EXPECT_EQ(held.look_again, kStart + 200ms);
  EXPECT_EQ(decide(now, 100ms).act, Act::kWait);
  EXPECT_EQ(decide(now, 200ms).act, Act::kStart);
}

TEST_F(Started, crashes_in_round_after_round_end_the_job_with_the_log_of_the_last) {
  for (std::uint64_t round = 1; round <= 5; ++round) {
    const auto after = std::chrono::seconds(10 * round);
    const RoundFacts now = facts(round, {crashed("w" + std::to_string(round))}, 1);
    decide(now, after);
    EXPECT_EQ(decide(now, after + 9s).act, Act::kStart) << round;
  }
  const RoundDecision end = decide(facts(6, {crashed("w6")}, 1), 60s);
  EXPECT_EQ(end.act, Act::kEnd);
  EXPECT_EQ(end.state, "failed");
  EXPECT_EQ(end.failure->worker, "w6");
  EXPECT_EQ(end.failure->log, "w6.log");
}

TEST_F(Started, a_round_costs_at_most_one_crash) {
  for (std::uint64_t round = 1; round <= 5; ++round) {
    const auto after = std::chrono::seconds(10 * round);
    std::vector<SeatFacts> seats;
    for (std::uint64_t i = 1; i <= 4; ++i) seats.push_back(crashed("w" + std::to_string(i), i));
    decide(facts(round, seats, 4), after);
    EXPECT_EQ(decide(facts(round, seats, 4), after + 9s).act, Act::kStart) << round;
  }
}

TEST_F(Started, who_fails_because_another_was_killed_costs_nothing) {
  for (std::uint64_t round = 1; round <= 20; ++round) {
    const RoundFacts now = facts(round, {crashed("w1", 1), killed("w2", 2)}, 2);
    EXPECT_EQ(decide(now).act, Act::kStart) << round;
  }
}

TEST_F(Started, one_that_its_agent_took_away_is_a_change) {
  const RoundDecision change = decide(facts(1, {running("w1"), stopped("w2")}, 2));
  EXPECT_EQ(change.act, Act::kAnnounce);
  EXPECT_EQ(change.cause, Cause::kLeave);
}

TEST_F(Started, a_guest_that_comes_or_goes_says_so) {
  RoundFacts now = facts(1, {running("w1")}, 2);
  now.wanted.by = "edl join";
  EXPECT_EQ(decide(now).cause, Cause::kJoin);
  now = facts(1, {running("w1"), running("w2")}, 1);
  now.wanted.by = "edl join";
  EXPECT_EQ(decide(now).cause, Cause::kLeave);
}

TEST_F(Started, a_lost_agents_workers_are_given_time_to_end) {
  SeatFacts lost = running("w2");
  lost.state = State::kLost;
  RoundFacts now = facts(1, {running("w1"), lost}, 2);
  const RoundDecision change = decide(now);
  EXPECT_EQ(change.act, Act::kAnnounce);
  EXPECT_EQ(change.cause, Cause::kDeath);
  EXPECT_EQ(change.look_again, kStart + kLostAfter);
  now.announced = 2;
  now.seats[0] = stopped("w1");
  EXPECT_EQ(decide(now, kLostAfter - 1s).act, Act::kWait) << "it may still train";
  EXPECT_EQ(decide(now, kLostAfter).act, Act::kStart);
}

TEST_F(Started, a_lost_agent_that_comes_back_is_counted_anew) {
  SeatFacts lost = running("w1");
  lost.state = State::kLost;
  decide(facts(1, {lost}, 1));
  decide(facts(1, {running("w1")}, 1), 20s);
  EXPECT_EQ(decide(facts(1, {lost}, 1), 50s).act, Act::kAnnounce);
  RoundFacts now = facts(1, {lost}, 1);
  now.announced = 2;
  EXPECT_EQ(decide(now, 80s).act, Act::kWait);
  EXPECT_EQ(decide(now, 90s).act, Act::kStart);
}

}  // namespace
}  // namespace edl::agent
