// Members of different speed: who is relieved, who is tried again, who gets a successor.
#include "edl/membership/balance.h"

#include "edl/membership/bench_test.h"

namespace edl::membership {
namespace {

std::size_t load(const model::View& view, const std::string& id) {
  return view.members[view.rank_of(id)->value()].logical.size();
}

// Members of one view, with the speeds that a test gives them, looked at every 250 ms.
class Scale {
 public:
  explicit Scale(const Ids& ids) : view(view_of(ids, 1, 1)) {}

  std::optional<Balance::Verdict> look_for(Duration duration) {
    std::optional<Balance::Verdict> verdict;
    for (const Time end = now + duration; now < end && !verdict; now += 250ms) {
      for (const auto& [id, speed] : speeds) {
        if (load(view, id) > 0) balance.tell(id, speed, now);
      }
      verdict = balance.look(view, Duration::zero(), now);
    }
    return verdict;
  }
  void carry(const std::vector<std::size_t>& loads) {
    const model::View before = view;
    view.generation = view.generation.next();
    std::uint32_t v = 0;
    for (std::size_t i = 0; i < loads.size(); ++i) {
      view.members[i].logical.clear();
      for (std::size_t k = 0; k < loads[i]; ++k) {
        view.members[i].logical.emplace_back(v++);
      }
    }
    balance.on_view(view, before, now);
  }

  Balance balance;
  model::View view;
  Time now{1s};
  std::map<std::string, double> speeds;
};

TEST(Balance, nobody_moves_among_members_that_are_about_equal) {
  Scale scale({"a", "b", "c"});
  scale.speeds = {{"a", 100}, {"b", 85}, {"c", 120}};
  EXPECT_FALSE(scale.look_for(60s));
  EXPECT_FALSE(scale.balance.slow_since_long(scale.view, 1s, scale.now));
}

TEST(Balance, who_is_four_times_slower_is_relieved_after_two_seconds) {
  Scale scale({"a", "b", "c", "d"});
  scale.speeds = {{"a", 100}, {"b", 25}, {"c", 100}, {"d", 100}};
  EXPECT_FALSE(scale.look_for(2s));
  const auto verdict = scale.look_for(1s);
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->cause, model::Cause::kStraggler);
  EXPECT_EQ(verdict->who, "b");
  EXPECT_EQ(verdict->reason, "b is 4 times slower than most; it carries less from now on");
}

TEST(Balance, of_two_members_the_slower_one_is_relieved) {
  Scale scale({"a", "b"});
  scale.speeds = {{"a", 10}, {"b", 100}};
  const auto verdict = scale.look_for(3s);
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->who, "a");
}

TEST(Balance, one_slow_moment_moves_nothing) {
  Scale scale({"a", "b", "c"});
  scale.speeds = {{"a", 100}, {"b", 10}, {"c", 100}};
  EXPECT_FALSE(scale.look_for(1s));
  scale.speeds["b"] = 100;
  EXPECT_FALSE(scale.look_for(10s));
}

TEST(Balance, who_carries_nothing_is_tried_again_less_and_less_often) {
  Scale scale({"a", "b", "c"});
  scale.speeds = {{"a", 100}, {"b", 10}, {"c", 100}};
  ASSERT_TRUE(scale.look_for(3s));
  std::vector<Duration> pauses;
  for (int round = 0; round < 4; ++round) {
    scale.carry({4, 0, 4});
    const Time relieved = scale.now;
    const auto again = scale.look_for(600s);
    ASSERT_TRUE(again) << round;
    EXPECT_EQ(again->cause, model::Cause::kRebalance);
    EXPECT_EQ(again->reason, "b was slow and carried nothing; it is tried again");
    pauses.push_back(scale.now - relieved);
    scale.carry({3, 2, 3});
    const auto slow = scale.look_for(10s);
    ASSERT_TRUE(slow) << round;
    EXPECT_EQ(slow->cause, model::Cause::kStraggler);
  }
  EXPECT_GE(pauses[0], Balance::kPauseFirst);
  for (std::size_t i = 1; i < pauses.size(); ++i) EXPECT_GT(pauses[i], pauses[i - 1] * 3 / 2);
}

TEST(Balance, who_stays_slow_is_known_even_when_it_carries_nothing) {
  Scale scale({"a", "b", "c"});
  scale.speeds = {{"a", 100}, {"b", 10}, {"c", 100}};
  ASSERT_TRUE(scale.look_for(3s));
  scale.carry({4, 0, 4});
  EXPECT_FALSE(scale.balance.slow_since_long(scale.view, 10s, scale.now));
  scale.look_for(8s);
  EXPECT_EQ(scale.balance.slow_since_long(scale.view, 10s, scale.now), "b");
}

TEST(Balance, who_is_only_a_little_better_stays_slow) {
  Scale scale({"a", "b", "c"});
  scale.speeds = {{"a", 100}, {"b", 40}, {"c", 100}};
  scale.look_for(1s);
  scale.speeds["b"] = 70;
  scale.look_for(20s);
  EXPECT_EQ(scale.balance.slow_since_long(scale.view, 1s, scale.now), "b");
}

TEST(Balance, successors_that_are_no_better_become_rare) {
  Scale scale({"a", "b", "c"});
  Duration waited{};
  for (int round = 0; round < 4; ++round) {
    scale.speeds = {{"a", 100}, {scale.view.members[1].id, 40}, {"c", 100}};
    const Time began = scale.now;
    while (!scale.balance.slow_since_long(scale.view, 4s, scale.now)) scale.look_for(250ms);
    EXPECT_GE(scale.now - began, waited * 3 / 2);
    waited = scale.now - began;
    const model::View before = scale.view;
    scale.view.cause = model::Cause::kStraggler;
    scale.view.who = before.members[1].id;
    scale.view.members[1].id = text("b", round);
    scale.balance.on_view(scale.view, before, scale.now);
  }
}

TEST(Balance, who_is_fast_again_is_not_slow_any_more) {
  Scale scale({"a", "b", "c"});
  scale.speeds = {{"a", 100}, {"b", 10}, {"c", 100}};
  ASSERT_TRUE(scale.look_for(3s));
  scale.carry({4, 0, 4});
  ASSERT_TRUE(scale.look_for(60s));
  scale.carry({3, 2, 3});
  scale.speeds["b"] = 95;
  EXPECT_FALSE(scale.look_for(10s));
  EXPECT_FALSE(scale.balance.slow_since_long(scale.view, 1s, scale.now));
}

// As the leader uses it.

Bench with_speeds(const std::map<std::string, double>& speeds, Rules rules_of_job = rules()) {
  Bench a = Bench::member("a", {"a", "b", "c"}, "a", rules_of_job);
  for (int i = 0; i < 12; ++i) {
    for (const auto& [id, speed] : speeds) {
      if (id == "a") a.core.on_worked(speed);
      if (id != "a") a.core.on_message(id, {.kind = Kind::kBeat, .speed = speed});
    }
    a.wait(250ms);
  }
  return a;
}

TEST(Balance, a_leader_moves_logical_workers_away_from_a_slow_member) {
  Bench a = with_speeds({{"a", 100}, {"b", 25}, {"c", 100}});
  const auto announced = a.take_all<Announce>();
  ASSERT_EQ(announced.size(), 1U);
  EXPECT_EQ(announced[0].cause, model::Cause::kStraggler);
  a.core.on_announced(true);
  a.core.on_completed(after(6));
  a.promise("b", 10, 3, 6);
  a.promise("c", 10, 3, 6);
  const auto published = a.take_all<Publish>();
  ASSERT_EQ(published.size(), 1U);
  EXPECT_EQ(published[0].view.cause, model::Cause::kStraggler);
  EXPECT_EQ(published[0].view.who, "b");
  EXPECT_LE(load(published[0].view, "b"), 1U);
  EXPECT_EQ(load(published[0].view, "a"), 4U);
  EXPECT_EQ(published[0].view.batch, rules().batch_of(3));  // what is trained does not change
}

TEST(Balance, a_new_leader_knows_speeds_from_the_promises) {
  Bench a = Bench::member("a", {"a", "b", "c", "d"}, "a");
  a.core.on_worked(100);
  a.core.on_registered("d", {.exited = true});
  for (const char* id : {"b", "c"}) {
    a.core.on_message(id, {.kind = Kind::kPromise,
                           .ballot = Ballot(10),
                           .generation = Generation(3),
                           .here = after(5),
                           .speed = id == std::string("b") ? 20.0 : 100.0});
  }
  const auto published = a.take_all<Publish>();
  ASSERT_EQ(published.size(), 1U);
  EXPECT_LT(load(published[0].view, "b"), 2U);
}

TEST(Balance, who_stays_slow_goes_when_its_successor_has_come) {
  Rules soon = rules();
  soon.replace_after = 1s;
  Bench a = with_speeds({{"a", 100}, {"b", 25}, {"c", 100}}, soon);
  std::optional<Replace> asked;
  for (const Action& action : a.core.take_actions()) {
    if (const auto* replace = std::get_if<Replace>(&action)) asked = *replace;
  }
  ASSERT_TRUE(asked);
  EXPECT_EQ(asked->who, "b");
  a.core.on_registered("d", {});
  a.core.on_link("d", true);
  a.core.on_completed(after(6));
  a.core.on_announced(false);  // of the relief; now one comes for good
  a.core.on_message("d", {.kind = Kind::kJoin});
  EXPECT_TRUE(a.sent(Kind::kAdmit));
  a.core.on_message("d", {.kind = Kind::kReady, .here = after(6)});
  a.wait(1s);
  a.core.on_announced(true);
  a.core.on_completed(after(7));
  a.promise("b", 10, a.core.promised().value(), 7);
  a.promise("c", 10, a.core.promised().value(), 7);
  a.promise("d", 10, a.core.promised().value(), 7);
  const auto published = a.take_all<Publish>();
  ASSERT_EQ(published.size(), 1U);
  const model::View& view = published[0].view;
  EXPECT_EQ(view.cause, model::Cause::kStraggler);
  EXPECT_EQ(view.who, "b");
  EXPECT_EQ(view.reason, "b stayed slow; d took its place");
  EXPECT_FALSE(view.rank_of("b"));
  EXPECT_TRUE(view.rank_of("d"));

  Bench b = Bench::member("b", {"a", "b", "c"}, "a");
  b.core.on_view(view, Revision(13));
  EXPECT_EQ(b.take_all<Exit>().size(), 1U);
}

TEST(Balance, who_stays_slow_stays_while_nobody_takes_its_place) {
  Rules soon = rules();
  soon.replace_after = 1s;
  Bench a = with_speeds({{"a", 100}, {"b", 25}, {"c", 100}}, soon);
  EXPECT_FALSE(a.take_all<Replace>().empty());
  a.core.on_registered("c", {.exited = true});
  a.promise("b", 10, 3, 5);
  const auto published = a.take_all<Publish>();
  ASSERT_EQ(published.size(), 1U);
  EXPECT_TRUE(published[0].view.rank_of("b"));
}

TEST(Balance, a_slow_leader_gives_the_lead_away) {
  Rules soon = rules();
  soon.replace_after = 1s;
  Bench a = with_speeds({{"a", 10}, {"b", 100}, {"c", 100}}, soon);
  const auto taken = a.take_all<TakeLead>();
  ASSERT_FALSE(taken.empty());
  EXPECT_EQ(taken[0].who, "b");
}

}  // namespace
}  // namespace edl::membership
