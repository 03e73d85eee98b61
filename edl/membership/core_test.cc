// What one core answers as a member: promises and elections. Orders of events are searched in
// tests/world.
#include "edl/membership/bench_test.h"

namespace edl::membership {
namespace {

// Promises.

TEST(Promise, ends_training_and_tells_the_last_step) {
  Bench b = Bench::member("b", {"a", "b", "c"}, "a");
  ASSERT_TRUE(b.core.is_training());
  b.prepare("a", 10, 2);
  EXPECT_FALSE(b.core.is_training());
  const auto promise = b.sent(Kind::kPromise);
  ASSERT_TRUE(promise);
  EXPECT_EQ(promise->here, after(5));
  EXPECT_EQ(promise->generation, Generation(2));
}

TEST(Promise, waits_until_the_step_is_applied) {
  Bench b = Bench::member("b", {"a", "b", "c"}, "a");
  b.core.on_applying();
  b.prepare("a", 10, 2);
  EXPECT_FALSE(b.sent(Kind::kPromise));
  b.core.on_completed(after(6));
  const auto promise = b.sent(Kind::kPromise);
  ASSERT_TRUE(promise);
  EXPECT_EQ(promise->here, after(6));
}

TEST(Promise, of_a_planned_change_waits_for_the_step) {
  Bench b = Bench::member("b", {"a", "b", "c"}, "a");
  b.prepare("a", 10, 2, 6);
  EXPECT_TRUE(b.core.is_training());
  EXPECT_FALSE(b.sent(Kind::kPromise));
  b.core.on_completed(after(6));
  EXPECT_TRUE(b.sent(Kind::kPromise));
}

TEST(Promise, is_not_given_to_a_lower_ballot) {
  Bench b = Bench::member("b", {"a", "b", "c"}, "a");
  b.prepare("c", 20, 3);
  ASSERT_TRUE(b.sent(Kind::kPromise));
  b.prepare("a", 10, 2);
  b.hand_over("a", 10, 2, {6, "c"});
  EXPECT_EQ(b.take(), "");
}

TEST(Promise, a_view_of_an_older_generation_is_not_entered_after_it) {
  Bench b = Bench::member("b", {"a", "b", "c"}, "a");
  b.prepare("c", 20, 4);
  b.take();
  b.core.on_view(view_of({"a", "b"}, 3, 6), Revision(15));
  EXPECT_FALSE(b.core.is_training());
  EXPECT_TRUE(b.take_all<EnterView>().empty());
}

TEST(Promise, a_record_on_its_way_is_dropped_when_another_round_asks) {
  Bench b = Bench::member("b", {"a", "b", "c"}, "a");
  b.prepare("a", 10, 2);
  b.hand_over("a", 10, 2, {6, "a"});
  EXPECT_EQ(b.take_all<TakeRecord>().size(), 1U);
  b.hand_over("a", 10, 2, {6, "a"});  // said again
  EXPECT_TRUE(b.take_all<DropRecord>().empty());
  b.prepare("c", 20, 3);
  b.take();
  ASSERT_FALSE(b.last.empty());
  EXPECT_TRUE(std::holds_alternative<DropRecord>(b.last.front()));
}

TEST(Promise, a_joiner_that_gave_one_keeps_its_state_without_its_giver) {
  Bench d = Bench::joiner("d", {"a", "b"});
  EXPECT_EQ(d.take_all<GetState>().size(), 1U);
  d.core.on_state(after(5));
  d.hand_over("a", 10, 2, {5, "a"});
  EXPECT_TRUE(d.sent(Kind::kPromise));
  d.core.on_no_state("lost b");
  EXPECT_TRUE(d.take_all<DropState>().empty());
  Bench other = d;
  d.core.on_view(view_of({"a", "b", "d"}, 2, 6), Revision(12));
  EXPECT_EQ(d.take_all<EnterView>().size(), 1U);
  other.core.on_view(view_of({"a", "b"}, 2, 6), Revision(12));
  EXPECT_EQ(other.take_all<DropState>().size(), 1U);
}

// It would enter a view with another state than the view counts on.
TEST(Promise, a_joiner_that_gave_one_takes_no_more_until_a_view_is_without_it) {
  Bench d = Bench::joiner("d", {"a", "b"});
  d.core.on_state(after(5));
  EXPECT_FALSE(d.core.holds_still());
  d.hand_over("a", 10, 2, {5, "a"});
  EXPECT_TRUE(d.core.holds_still());
  d.take();
  d.core.on_view(view_of({"a", "b"}, 2, 6), Revision(12));
  EXPECT_FALSE(d.core.holds_still());
  EXPECT_TRUE(d.core.has_state());
  EXPECT_EQ(d.take_all<DropRecord>().size(), 1U);
}

// A leader may give up generation 2 and be lost during 3; the next view is 2 again.
TEST(Promise, one_to_a_leader_that_is_lost_with_all_members_binds_nobody) {
  Bench d = Bench::joiner("d", {"a", "b"});
  d.core.on_state(after(5));
  d.hand_over("a", 10, 3, {5, "a"});
  ASSERT_EQ(d.core.promised(), Generation(3));
  d.take();
  d.core.on_registered("a", {.exited = true});
  d.core.on_registered("b", {.exited = true});
  d.wait(1s);
  EXPECT_EQ(d.take_all<GetState>().size(), 1U);
  d.core.on_state(after(4));
  d.core.on_view(view_of({"d"}, 2, 5), Revision(12));
  EXPECT_EQ(d.take_all<EnterView>().size(), 1U);
}

TEST(Promise, a_step_applied_after_the_state_was_dropped_is_no_hand_over) {
  Bench c = Bench::member("c", {"a", "b", "c"}, "a");
  c.core.on_applying();
  c.core.on_view(view_of({"a", "b"}, 2, 6), Revision(12));
  EXPECT_EQ(c.take_all<DropState>().size(), 1U);
  c.core.on_completed(after(6));
  c.wait(1min);
  c.core.on_message("a", {.kind = Kind::kAdmit, .ballot = Ballot(10), .ids = {"a"}});
  EXPECT_EQ(c.take_all<GetState>().size(), 1U);
  c.core.on_state(after(9));
  EXPECT_EQ(c.core.here(), after(9));
  EXPECT_TRUE(c.core.has_state());
}

// Elections.

TEST(Election, the_next_in_rank_follows_a_leader_that_ended) {
  Bench b = Bench::member("b", {"a", "b", "c"}, "a");
  b.core.on_registered("a", {.exited = true});
  const auto takes = b.take_all<TakeLead>();
  ASSERT_EQ(takes.size(), 1U);
  EXPECT_EQ(takes[0].who, "b");
  EXPECT_EQ(takes[0].after, Ballot(10));
  EXPECT_EQ(takes[0].reason, "the leader a has ended");
  Bench c = Bench::member("c", {"a", "b", "c"}, "a");
  c.core.on_registered("a", {.exited = true});
  EXPECT_TRUE(c.take_all<TakeLead>().empty());  // it gives b its turn
  c.wait(100ms);
  EXPECT_EQ(c.take_all<TakeLead>().size(), 1U);
}

TEST(Election, a_leader_whose_lease_is_gone_is_replaced) {
  Bench b = Bench::member("b", {"a", "b", "c"}, "a");
  b.core.on_unregistered("a");
  const auto takes = b.take_all<TakeLead>();
  ASSERT_EQ(takes.size(), 1U);
  EXPECT_EQ(takes[0].reason, "the lease of the leader a is gone");
  EXPECT_TRUE(b.core.is_training());  // nobody is evicted by that
}

TEST(Election, half_of_the_others_are_enough_to_replace_a_leader) {
  Bench b = Bench::member("b", {"a", "b", "c", "d"}, "a");
  b.core.on_complaint(Ballot(10), "c");
  EXPECT_TRUE(b.take_all<TakeLead>().empty());
  b.core.on_complaint(Ballot(9), "d");  // about another leader
  EXPECT_TRUE(b.take_all<TakeLead>().empty());
  b.core.on_complaint(Ballot(10), "d");
  EXPECT_EQ(b.take_all<TakeLead>().size(), 1U);
}

TEST(Election, of_two_members_the_lower_rank_stays_when_the_leader_answers) {
  Bench b = Bench::member("b", {"a", "b"}, "a");
  b.core.on_link("a", false);
  EXPECT_EQ(b.take_all<Complain>().size(), 1U);
  b.core.on_complaint(Ballot(10), "b");
  b.core.on_complaint(Ballot(10), "a");
  b.wait(10 * kSilence);
  EXPECT_TRUE(b.take_all<TakeLead>().empty());

  Bench a = Bench::member("a", {"a", "b"}, "b");
  a.core.on_link("b", false);
  a.core.on_complaint(Ballot(10), "a");
  EXPECT_TRUE(a.take_all<TakeLead>().empty());
  a.core.on_complaint(Ballot(10), "b");
  EXPECT_EQ(a.take_all<TakeLead>().size(), 1U);
}

TEST(Election, of_two_members_a_leader_that_does_not_answer_is_replaced) {
  Bench b = Bench::member("b", {"a", "b"}, "a");
  b.core.on_link("a", false);
  b.core.on_complaint(Ballot(10), "b");
  b.take();
  b.wait(kSilence / 2);
  EXPECT_TRUE(b.take_all<TakeLead>().empty());
  b.wait(kSilence);
  EXPECT_EQ(b.take_all<TakeLead>().size(), 1U);
}

TEST(Election, the_accused_answers) {
  Bench a = Bench::member("a", {"a", "b"}, "a");
  a.core.on_complaint(Ballot(10), "b");
  EXPECT_EQ(a.take_all<Complain>().size(), 1U);
}

TEST(Election, a_leader_that_leaves_gives_the_lead_to_the_lowest_rank_that_stays) {
  Bench a = Bench::member("a", {"a", "b", "c"}, "a");
  a.core.on_message("b", {.kind = Kind::kLeave, .text = "preempt"});
  a.take();
  a.core.on_leave(model::Cause::kPreempt);
  const auto takes = a.take_all<TakeLead>();
  ASSERT_EQ(takes.size(), 1U);
  EXPECT_EQ(takes[0].who, "c");
  EXPECT_EQ(takes[0].reason, "a leaves");
}

}  // namespace
}  // namespace edl::membership
