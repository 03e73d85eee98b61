// What one core answers as the leader: views that change, workers that join.
#include "edl/membership/bench_test.h"

namespace edl::membership {
namespace {

// Changes.

TEST(Change, a_death_is_answered_by_a_view_without_the_dead) {
  Bench a = Bench::member("a", {"a", "b", "c"}, "a");
  a.core.on_completed(after(6));
  a.core.on_registered("c", {.exited = true});
  EXPECT_TRUE(a.sent(Kind::kPrepare));
  a.promise("b", 10, 3, 5);
  const auto order = a.sent(Kind::kHandOver);
  ASSERT_TRUE(order);  // b is one behind
  EXPECT_EQ(order->step, Step(6));
  EXPECT_EQ(order->who, "a");
  a.promise("b", 10, 3, 6);
  const auto published = a.take_all<Publish>();
  ASSERT_EQ(published.size(), 1U);
  EXPECT_EQ(published[0].ballot, Ballot(10));
  EXPECT_EQ(published[0].after, Revision(12));
  EXPECT_EQ(published[0].view.first_step, Step(7));
  EXPECT_EQ(published[0].view.cause, model::Cause::kDeath);
  EXPECT_EQ(published[0].view.reason, "c ended");
  EXPECT_EQ(published[0].view.members.size(), 2U);
}

TEST(Change, a_promise_of_another_ballot_or_generation_does_not_count) {
  Bench a = Bench::member("a", {"a", "b", "c"}, "a");
  a.core.on_registered("c", {.exited = true});
  a.promise("b", 9, 3, 5);
  a.promise("b", 10, 2, 5);
  a.promise("x", 10, 3, 5);
  EXPECT_TRUE(a.take_all<Publish>().empty());
  a.promise("b", 10, 3, 5);
  EXPECT_EQ(a.take_all<Publish>().size(), 1U);
}

TEST(Change, all_are_asked_anew_when_one_is_lost_during_the_hand_over) {
  Bench a = Bench::member("a", {"a", "b", "c", "d"}, "a");
  a.core.on_registered("d", {.exited = true});
  a.promise("b", 10, 3, 6);
  a.promise("c", 10, 3, 5);
  EXPECT_EQ(a.take_all<TakeRecord>().size(), 1U);  // from b, which dies
  a.core.on_registered("b", {.exited = true});
  EXPECT_EQ(a.take_all<DropRecord>().size(), 1U);
  a.promise("c", 10, 3, 5);
  EXPECT_TRUE(a.take_all<Publish>().empty());
  a.promise("c", 10, 4, 5);
  EXPECT_EQ(a.take_all<Publish>().size(), 1U);
}

TEST(Change, one_that_only_another_member_does_not_reach_was_not_scaled_in) {
  Bench a = Bench::member("a", {"a", "b", "c"}, "a");
  a.core.on_message("b", {.kind = Kind::kAccuse, .generation = Generation(2), .who = "c"});
  a.promise("b", 10, 3, 5, {"c"});
  a.promise("c", 10, 3, 5);
  a.wait(1s);
  const auto published = a.take_all<Publish>();
  ASSERT_EQ(published.size(), 1U);
  EXPECT_EQ(published[0].view.cause, model::Cause::kDeath);
  EXPECT_EQ(published[0].view.who, "c");
  EXPECT_EQ(published[0].view.reason, "c could not be reached");
}

TEST(Change, fewer_workers_are_announced_before_anyone_is_stopped) {
  Bench a = Bench::member("a", {"a", "b", "c"}, "a");
  a.core.on_wanted({.workers = 2, .by = "ann"});
  const auto announced = a.take_all<Announce>();
  ASSERT_EQ(announced.size(), 1U);
  EXPECT_EQ(announced[0].cause, model::Cause::kScale);
  EXPECT_EQ(announced[0].who, "c");
  EXPECT_EQ(announced[0].reason, "2 workers are wanted by ann");
  EXPECT_FALSE(a.sent(Kind::kPrepare));
  a.core.on_announced(true);
  const auto prepare = a.sent(Kind::kPrepare);
  ASSERT_TRUE(prepare);
  EXPECT_EQ(prepare->step, Step(6));  // at the next boundary
}

TEST(Change, is_given_up_when_it_cannot_be_announced) {
  Bench a = Bench::member("a", {"a", "b", "c"}, "a");
  a.core.on_wanted({.workers = 2, .by = "ann"});
  a.core.on_announced(false);
  EXPECT_FALSE(a.sent(Kind::kPrepare));
  EXPECT_TRUE(a.core.is_training());
}

TEST(Change, a_stop_publishes_a_view_in_which_nobody_trains) {
  Bench a = Bench::member("a", {"a", "b"}, "a");
  a.core.on_wanted({.workers = 2, .stop = true, .by = "ann", .reason = "enough"});
  a.promise("b", 10, 3, 5);
  const auto published = a.take_all<Publish>();
  ASSERT_EQ(published.size(), 1U);
  EXPECT_EQ(published[0].view.halt, "stopped");
  EXPECT_EQ(published[0].view.reason, "asked to stop by ann: enough");
  a.core.on_published(true, Revision(13));
  const auto halts = a.take_all<Halt>();
  ASSERT_EQ(halts.size(), 1U);
  EXPECT_TRUE(halts[0].leads);
  EXPECT_EQ(halts[0].step, Step(5));
  EXPECT_FALSE(a.core.is_training());
}

TEST(Change, the_last_step_ends_the_job) {
  Rules short_job = rules();
  short_job.steps = 6;
  Bench a = Bench::member("a", {"a", "b"}, "a", short_job);
  a.core.on_completed(after(6));
  a.promise("b", 10, 3, 6);
  const auto published = a.take_all<Publish>();
  ASSERT_EQ(published.size(), 1U);
  EXPECT_EQ(published[0].view.halt, "finished");
  EXPECT_EQ(published[0].view.reason, "trained all 6 steps");
}

TEST(Change, too_few_members_wait_for_more) {
  Rules pair = rules();
  pair.min = 2;
  Bench a = Bench::member("a", {"a", "b"}, "a", pair);
  a.core.on_registered("b", {.exited = true});
  const auto published = a.take_all<Publish>();
  ASSERT_EQ(published.size(), 1U);
  EXPECT_EQ(published[0].view.halt, "waiting");
  EXPECT_EQ(published[0].view.reason,
            "b ended; 1 of at least 2 workers are left, waiting for more");
}

TEST(Change, a_member_whose_lease_has_run_out_is_where_it_was) {
  Bench a = Bench::member("a", {"a", "b", "c"}, "a");
  a.core.on_unregistered("b");
  a.core.on_registered("c", {.exited = true});
  a.promise("b", 10, 3, 5);
  const auto published = a.take_all<Publish>();
  ASSERT_EQ(published.size(), 1U);
  ASSERT_EQ(published[0].view.members.size(), 2U);
  EXPECT_EQ(published[0].view.members[1].host, "host");
  EXPECT_EQ(published[0].view.members[1].address, "b:1");
}

TEST(Change, who_could_not_publish_looks_whether_it_still_leads) {
  Bench a = Bench::member("a", {"a", "b", "c"}, "a");
  a.core.on_registered("c", {.exited = true});
  a.promise("b", 10, 3, 5);
  a.take();
  a.core.on_published(false, {});
  EXPECT_EQ(a.take_all<ReadView>().size(), 1U);
  a.core.on_elected(Ballot(10), view_of({"a", "b", "c"}, 2, 6), Revision(12));
  EXPECT_TRUE(a.sent(Kind::kPrepare));
}

TEST(Batch, another_one_leaves_nobody_alone_with_a_sample) {
  Rules adaptive = rules();
  adaptive.policy = model::BatchPolicy::kAdaptive;
  adaptive.batch = 16;
  adaptive.batch_max = 64;
  adaptive.samples_never_alone = 1000;
  Bench a = Bench::member("a", {"a", "b"}, "a", adaptive);
  a.core.on_batch(27, "it trains more");
  const auto announced = a.take_all<Announce>();
  ASSERT_EQ(announced.size(), 1U);
  a.core.on_announced(true);
  a.core.on_completed(after(6));
  a.promise("b", 10, announced[0].generation.value(), 6);
  const auto published = a.take_all<Publish>();
  ASSERT_EQ(published.size(), 1U);
  const model::View& view = published[0].view;
  EXPECT_NE(view.batch.global, 27U);  // 1000 in steps of 27 leave a single one
  for (const std::uint64_t left : {1000 - view.position, std::uint64_t{1000}}) {
    const std::uint64_t rest = left % view.batch.global;
    EXPECT_TRUE(rest == 0 || rest >= 16) << rest << " of " << left << " by " << view.batch.global;
  }
}

// Joins.

TEST(Batch, another_one_that_trains_more_comes_with_a_view_of_the_same_members) {
  Rules adaptive = rules();
  adaptive.policy = model::BatchPolicy::kAdaptive;
  adaptive.batch_max = 64;
  adaptive.lr_rule = model::RateRule::kLinear;
  Bench a = Bench::member("a", {"a", "b"}, "a", adaptive);
  Bench b = Bench::member("b", {"a", "b"}, "a", adaptive);
  b.core.on_batch(32, "not the leader's");
  EXPECT_TRUE(b.take_all<Announce>().empty());
  a.core.on_batch(32, "it trains more");
  const auto announced = a.take_all<Announce>();
  ASSERT_EQ(announced.size(), 1U);
  EXPECT_EQ(announced[0].cause, model::Cause::kBatch);
  a.core.on_announced(true);
  a.core.on_completed(after(6));
  a.promise("b", 10, announced[0].generation.value(), 6);
  const auto published = a.take_all<Publish>();
  ASSERT_EQ(published.size(), 1U);
  const model::View& view = published[0].view;
  EXPECT_EQ(view.cause, model::Cause::kBatch);
  EXPECT_EQ(view.reason, "it trains more");
  EXPECT_EQ(view.batch.global, 32U);
  EXPECT_EQ(view.lr_factor, 4);
  EXPECT_EQ(view.ramp, (model::Ramp{.from = 1, .to = 4, .t0 = view.first_step, .steps = 8}));
}

TEST(Join, nobody_is_let_in_beside_the_first_step_of_a_view_unless_it_takes_long) {
  Bench a = Bench::member("a", {"a", "b"}, "a");
  a.core.on_wanted({.workers = 4, .by = "ann"});
  a.is_asked_by({"c"});
  EXPECT_FALSE(a.sent(Kind::kAdmit));
  a.wait(500ms);
  EXPECT_FALSE(a.sent(Kind::kAdmit));
  Bench completes = a;
  completes.core.on_completed(after(6));
  EXPECT_TRUE(completes.sent(Kind::kAdmit));
  a.wait(600ms);
  EXPECT_TRUE(a.sent(Kind::kAdmit));
}

TEST(Join, those_that_come_together_share_a_view) {
  Bench a = Bench::member("a", {"a", "b"}, "a");
  a.core.on_completed(after(6));
  a.core.on_wanted({.workers = 4, .by = "ann"});
  a.is_asked_by({"c", "d"});
  std::vector<std::string> admitted;
  for (const Send& send : a.take_all<Send>()) {
    if (send.message.kind == Kind::kAdmit) admitted.push_back(send.to);
  }
  EXPECT_EQ(admitted, (std::vector<std::string>{"c", "d"}));
  a.core.on_message("c", {.kind = Kind::kReady, .here = after(5)});
  EXPECT_TRUE(a.take_all<Announce>().empty());  // d is on its way
  a.core.on_message("d", {.kind = Kind::kReady, .here = after(4)});
  EXPECT_EQ(a.take_all<Announce>().size(), 1U);
}

TEST(Join, one_is_not_waited_for_longer_than_the_window) {
  Bench a = Bench::member("a", {"a", "b"}, "a");
  a.core.on_completed(after(6));
  a.core.on_wanted({.workers = 4, .by = "ann"});
  a.is_asked_by({"c", "d"});
  a.core.on_message("c", {.kind = Kind::kReady, .here = after(5)});
  a.wait(rules().join_window / 2);
  EXPECT_TRUE(a.take_all<Announce>().empty());
  a.wait(rules().join_window);
  EXPECT_EQ(a.take_all<Announce>().size(), 1U);
}

// Is asked by c, which is one step behind; announced.
Bench announced_for_c() {
  Bench a = Bench::member("a", {"a", "b"}, "a");
  a.core.on_wanted({.workers = 3, .by = "ann"});
  a.is_asked_by({"c"});
  a.core.on_completed(after(6));
  a.core.on_message("c", {.kind = Kind::kReady, .here = after(5)});
  EXPECT_EQ(a.take_all<Announce>().size(), 1U);
  a.core.on_announced(true);
  return a;
}

TEST(Join, the_others_are_stopped_when_it_has_their_last_step) {
  Bench a = announced_for_c();
  EXPECT_FALSE(a.sent(Kind::kPrepare)) << "they would wait for the record of step 6";
  a.core.on_message("c", {.kind = Kind::kReady, .here = after(6)});
  const auto prepare = a.sent(Kind::kPrepare);
  ASSERT_TRUE(prepare);
  EXPECT_EQ(prepare->step, Step()) << "in the middle of step 7";
  a.promise("b", 10, 3, 6);
  a.promise("c", 10, 3, 6);
  const auto published = a.take_all<Publish>();
  ASSERT_EQ(published.size(), 1U);
  EXPECT_EQ(published[0].view.first_step, Step(7));
  EXPECT_TRUE(published[0].view.rank_of("c"));
}

TEST(Join, a_good_moment_is_waited_for_during_three_steps) {
  Bench a = announced_for_c();
  a.core.on_completed(after(7));
  a.core.on_message("c", {.kind = Kind::kReady, .here = after(6)});
  a.core.on_applying();
  a.core.on_message("c", {.kind = Kind::kReady, .here = after(7)});
  EXPECT_FALSE(a.sent(Kind::kPrepare)) << "the step is being applied: c would be behind again";
  a.core.on_completed(after(8));
  EXPECT_FALSE(a.sent(Kind::kPrepare));
  a.core.on_completed(after(9));
  const auto prepare = a.sent(Kind::kPrepare);
  ASSERT_TRUE(prepare);
  EXPECT_EQ(prepare->step, Step(10)) << "they complete the step that they compute";
}

TEST(Join, late_in_a_step_the_others_are_left_to_complete_it) {
  Bench a = announced_for_c();
  constexpr Duration kStep = 100ms;
  const auto ready_after = [&](Duration time, std::uint64_t step) {
    a.core.set_time(a.now, kSilence, kStep);
    a.core.on_completed(after(step));
    a.now += time;
    a.core.set_time(a.now, kSilence, kStep);
    a.core.on_message("c", {.kind = Kind::kReady, .here = after(step)});
    return a.sent(Kind::kPrepare);
  };
  EXPECT_FALSE(ready_after(60ms, 7)) << "it would have to compute what they have";
  const auto prepare = ready_after(40ms, 8);
  ASSERT_TRUE(prepare);
  EXPECT_EQ(prepare->step, Step()) << "in the middle of step 9";
}

TEST(Join, one_that_is_lost_before_anyone_was_stopped_stops_nobody) {
  Bench a = announced_for_c();
  a.core.on_link("c", false);
  a.core.on_completed(after(7));
  a.core.on_completed(after(8));
  EXPECT_FALSE(a.sent(Kind::kPrepare));
  EXPECT_TRUE(a.take_all<Announce>().empty());
}

// Applies a record whenever the members complete a step, and stays `lag` steps behind them.
void follow_behind(Bench& a, std::uint64_t lag, std::uint64_t from, std::uint64_t to) {
  for (std::uint64_t step = from; step <= to; ++step) {
    a.core.on_completed(after(step));
    a.core.on_message("c", {.kind = Kind::kReady, .here = after(step - lag)});
  }
}

TEST(Join, one_that_gains_nothing_in_ten_records_is_waited_for) {
  Bench a = Bench::member("a", {"a", "b"}, "a");
  a.core.on_wanted({.workers = 3, .by = "ann"});
  a.is_asked_by({"c"});
  a.take();
  follow_behind(a, 20, 50, 58);
  EXPECT_TRUE(a.take_all<Announce>().empty());
  follow_behind(a, 20, 59, 62);
  const auto announced = a.take_all<Announce>();
  ASSERT_EQ(announced.size(), 1U);
  EXPECT_EQ(announced[0].reason,
            "c joined; the others waited for the last 20 steps that it could not keep up with");
  a.core.on_announced(true);
  a.core.on_completed(after(63));
  a.promise("b", 10, 3, 63);
  a.wait(kSilence);  // it is allowed a step for each record
  EXPECT_TRUE(a.take_all<Publish>().empty());
  a.promise("c", 10, 3, 63);
  const auto published = a.take_all<Publish>();
  ASSERT_EQ(published.size(), 1U);
  EXPECT_TRUE(published[0].view.rank_of("c"));
}

TEST(Join, one_that_gains_or_is_very_far_behind_is_not_waited_for) {
  for (const bool gains : {true, false}) {
    Bench a = Bench::member("a", {"a", "b"}, "a");
    a.core.on_wanted({.workers = 3, .by = "ann"});
    a.is_asked_by({"c"});
    a.take();
    for (std::uint64_t i = 0; i < 30; ++i) {
      follow_behind(a, gains ? 40 - i : 100, 200 + i, 200 + i);
    }
    EXPECT_TRUE(a.take_all<Announce>().empty()) << gains;
  }
}

TEST(Join, nobody_is_admitted_above_what_is_wanted) {
  Bench a = Bench::member("a", {"a", "b"}, "a");
  a.is_asked_by({"c"});
  EXPECT_FALSE(a.sent(Kind::kAdmit));
}

}  // namespace
}  // namespace edl::membership
