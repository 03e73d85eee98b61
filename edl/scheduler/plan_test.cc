#include "edl/scheduler/plan.h"

#include <gtest/gtest.h>

#include "edl/scheduler/division.h"
#include "edl/scheduler/small_cluster_test.h"
#include "edl/scheduler/snapshot_json.h"
#include "edl/scheduler/steady.h"

namespace edl::scheduler {
namespace {

TEST(Plan, starts_with_what_is_free_and_at_least_the_minimum) {
  Snapshot snapshot = small_cluster();
  snapshot.jobs = {job("running", 4, 4), job("wants-32", 1, 32)};
  snapshot.jobs[0].current = {{0, 4}};
  const Plan made = plan(snapshot, ours());
  EXPECT_EQ(made.allocations[0].workers, (Shares{{0, 4}}));
  EXPECT_EQ(made.allocations[1].workers, (Shares{{1, 4}}));
}

TEST(Plan, a_gang_gets_its_minimum_or_nothing) {
  Snapshot snapshot = small_cluster();
  snapshot.jobs = {job("running", 4, 4), job("gang", 6, 8)};
  snapshot.jobs[0].current = {{0, 4}};
  EXPECT_TRUE(plan(snapshot, ours()).allocations[1].workers.empty());
}

TEST(Plan, a_higher_priority_pushes_a_lower_one_out) {
  Snapshot snapshot = small_cluster();
  snapshot.jobs = {job("low", 6, 8), job("high", 6, 8)};
  snapshot.jobs[0].current = {{0, 4}, {1, 4}};
  snapshot.jobs[1].priority = 1;
  const Plan made = plan(snapshot, ours());
  EXPECT_TRUE(made.allocations[0].workers.empty());
  EXPECT_TRUE(made.allocations[0].reason.starts_with("stops")) << made.allocations[0].reason;
  EXPECT_GE(workers_of(made.allocations[1].workers), 6u);
}

TEST(Plan, whoever_waited_too_long_gets_its_turn) {
  Snapshot snapshot = small_cluster();
  snapshot.jobs = {job("running", 6, 8), job("waiting", 6, 8)};
  snapshot.jobs[0].current = {{0, 4}, {1, 4}};
  snapshot.jobs[1].since = snapshot.now - kPatienceSecondsMax + 1;
  EXPECT_TRUE(plan(snapshot, ours()).allocations[1].workers.empty());
  snapshot.jobs[1].since = snapshot.now - kPatienceSecondsMax;
  EXPECT_GE(workers_of(plan(snapshot, ours()).allocations[1].workers), 6u);
}

// Whether a job that needs so long with its minimum, and has waited so long, pushes out one that
// has so many seconds left.
bool pushes_out(double needs_s, double waited_s, double left_s) {
  Snapshot snapshot = small_cluster();
  snapshot.jobs = {job("running", 6, 8), job("waiting", 6, 8)};
  for (Job& one : snapshot.jobs) one.throughput = {{6, 2, 1}, {8, 2, 1.3}};
  snapshot.jobs[0].current = {{0, 4}, {1, 4}};
  snapshot.jobs[0].remaining = left_s;
  snapshot.jobs[1].remaining = needs_s;
  snapshot.jobs[1].since = snapshot.now - waited_s;
  return !plan(snapshot, ours()).allocations[1].workers.empty();
}

TEST(Plan, a_short_job_waits_less_long_for_its_turn) {
  EXPECT_FALSE(pushes_out(5000, 499, 1e6));
  EXPECT_TRUE(pushes_out(5000, 500, 1e6));
  EXPECT_FALSE(pushes_out(1, kPatienceSecondsMin - 1, 1e6));
}

TEST(Plan, before_the_longest_patience_only_a_longer_job_makes_room) {
  EXPECT_FALSE(pushes_out(5000, kPatienceSecondsMax - 1, 4999));
  EXPECT_TRUE(pushes_out(5000, kPatienceSecondsMax - 1, 5001));
  EXPECT_TRUE(pushes_out(5000, kPatienceSecondsMax, 4999));
}

TEST(Plan, the_one_with_most_left_makes_room_for_who_starves) {
  Snapshot snapshot = small_cluster();
  snapshot.jobs = {job("long", 4, 4), job("short", 4, 4), job("waiting", 4, 4)};
  snapshot.jobs[0].current = {{0, 4}};
  snapshot.jobs[1].current = {{1, 4}};
  snapshot.jobs[0].remaining = 100000;
  snapshot.jobs[1].remaining = 1000;
  snapshot.jobs[0].since = snapshot.now - 10;
  snapshot.jobs[2].since = snapshot.now - kPatienceSecondsMax;
  const Plan made = plan(snapshot, ours());
  EXPECT_TRUE(made.allocations[0].workers.empty());
  EXPECT_EQ(made.allocations[1].workers, snapshot.jobs[1].current);
  EXPECT_EQ(workers_of(made.allocations[2].workers), 4u);
}

// Two jobs that tell nothing run, the first one for 5000 s. Which makes room for one that waits?
std::size_t makes_room(double first_slot_hours, double second_slot_hours, double waited_s,
                       double second_runs_s = 4000) {
  Snapshot snapshot = small_cluster();
  snapshot.now = 100000;
  snapshot.jobs = {job("first", 4, 4), job("second", 4, 4), job("waits", 4, 4)};
  snapshot.jobs[0].current = {{0, 4}};
  snapshot.jobs[1].current = {{1, 4}};
  snapshot.jobs[0].attained_s = first_slot_hours * 3600;
  snapshot.jobs[1].attained_s = second_slot_hours * 3600;
  snapshot.jobs[0].since = snapshot.now - 5000;
  snapshot.jobs[1].since = snapshot.now - second_runs_s;
  snapshot.jobs[2].since = snapshot.now - waited_s;
  const Plan made = plan(snapshot, ours());
  std::size_t j = 0;
  while (!made.allocations[j].workers.empty()) ++j;
  return j;
}

TEST(Plan, of_jobs_that_tell_nothing_a_long_one_soon_makes_room_for_others) {
  EXPECT_EQ(makes_room(1, 17, kPatienceSecondsUnknown - 1), 2u);
  EXPECT_EQ(makes_room(1, 17, kPatienceSecondsUnknown), 1u);
  EXPECT_EQ(makes_room(1, 15, kPatienceSecondsUnknown), 2u);
}

TEST(Plan, of_long_jobs_that_tell_nothing_the_one_with_most_service_goes_on) {
  EXPECT_EQ(makes_room(1, 2, kPatienceSecondsMax), 0u);
  EXPECT_EQ(makes_room(1, 17, kPatienceSecondsMax), 1u);
  EXPECT_EQ(makes_room(40, 17, kPatienceSecondsMax), 1u);
}

TEST(Plan, a_long_job_that_tells_nothing_makes_room_when_its_turn_has_ended) {
  EXPECT_EQ(makes_room(40, 17, kPatienceSecondsMax, 599), 0u);
  EXPECT_EQ(makes_room(40, 17, kPatienceSecondsMax, 600), 1u);
}

TEST(Plan, who_does_not_say_since_when_it_waits_pushes_nobody_out) {
  const auto snapshot =
      parse_snapshot(R"({"now":1e6,"nodes":[{"node":"a","slots":1}],"jobs":[)"
                     R"({"job":"runs","min":1,"max":1,"current":[{"node":"a","count":1}]},)"
                     R"({"job":"waits","min":1,"max":1,"submitted":0}]})");
  ASSERT_TRUE(snapshot.ok()) << snapshot.error().message;
  EXPECT_TRUE(plan(*snapshot, ours()).allocations[1].workers.empty());
}

TEST(Plan, a_job_that_would_miss_its_deadline_goes_first) {
  Snapshot snapshot = small_cluster();
  snapshot.jobs = {job("short", 8, 8), job("pressed", 8, 8)};
  snapshot.jobs[0].remaining = 8 * 10;
  snapshot.jobs[1].remaining = 8 * 1000;
  for (Job& one : snapshot.jobs) {
    one.throughput = {{8, 2, 8}};
    one.tried = 8;
  }
  EXPECT_FALSE(plan(snapshot, ours()).allocations[0].workers.empty());
  snapshot.jobs[1].deadline = snapshot.now + 1500;
  EXPECT_FALSE(plan(snapshot, ours()).allocations[1].workers.empty());
  snapshot.jobs[1].deadline = snapshot.now + 2500;
  EXPECT_FALSE(plan(snapshot, ours()).allocations[0].workers.empty());
}

TEST(Plan, a_job_that_would_miss_its_deadline_has_the_shortest_patience) {
  Job pressed = job("pressed", 6, 8);
  pressed.remaining = 6 * 5000;
  Snapshot snapshot = small_cluster();
  EXPECT_EQ(patience_s(snapshot, pressed), 500);
  pressed.deadline = snapshot.now + 9999;
  EXPECT_EQ(patience_s(snapshot, pressed), kPatienceSecondsMin);
}

TEST(Plan, frozen_jobs_and_those_near_their_end_are_left_alone) {
  Snapshot snapshot = small_cluster();
  snapshot.jobs = {job("frozen", 1, 8), job("ending", 1, 8)};
  snapshot.jobs[0].current = {{0, 1}};
  snapshot.jobs[0].frozen_until = snapshot.now + 1;
  snapshot.jobs[1].current = {{1, 2}};
  snapshot.jobs[1].near_end = true;
  const Plan made = plan(snapshot, ours());
  EXPECT_EQ(made.allocations[0].workers, snapshot.jobs[0].current);
  EXPECT_EQ(made.allocations[1].workers, snapshot.jobs[1].current);
  EXPECT_NE(made.allocations[0].reason.find("a moment ago"), std::string::npos);
  EXPECT_NE(made.allocations[1].reason.find("near its end"), std::string::npos);
}

TEST(Plan, a_change_that_costs_more_than_it_gains_is_not_made) {
  Snapshot snapshot = small_cluster();
  snapshot.jobs = {job("short", 1, 8)};
  snapshot.jobs[0].current = {{0, 4}};
  snapshot.jobs[0].throughput = {{4, 1, 4}, {8, 2, 8}};
  snapshot.jobs[0].tried = 8;
  snapshot.jobs[0].change_cost_s = 30;
  snapshot.jobs[0].remaining = 4 * 50;  // 25 s gained
  EXPECT_EQ(workers_of(plan(snapshot, ours()).allocations[0].workers), 4u);
  snapshot.jobs[0].remaining = 4 * 5000;
  EXPECT_EQ(workers_of(plan(snapshot, ours()).allocations[0].workers), 8u);
}

TEST(Plan, nobody_waits_for_one_whose_change_does_not_pay) {
  Snapshot snapshot = small_cluster();
  snapshot.jobs = {job("long", 1, 4), job("short", 1, 4), job("new", 1, 8)};
  snapshot.jobs[0].current = {{0, 4}};
  snapshot.jobs[1].current = {{1, 4}};
  for (Job& one : snapshot.jobs) {
    one.throughput = {{1, 1, 1}, {2, 1, 1.9}, {4, 1, 3.6}};
    one.change_cost_s = 30;
    one.tried = 4;
    one.remaining = 100;
  }
  const Plan made = plan(snapshot, ours());
  for (const Allocation& one : made.allocations) EXPECT_FALSE(one.workers.empty()) << one.reason;
}

TEST(Plan, who_scales_badly_gives_to_who_scales_well) {
  Snapshot snapshot = small_cluster();
  snapshot.jobs = {job("flat", 1, 8), job("steep", 1, 8)};
  for (Job& one : snapshot.jobs) one.remaining = 100000;
  snapshot.jobs[0].current = {{0, 4}};
  snapshot.jobs[1].current = {{1, 4}};
  snapshot.jobs[0].throughput = {{1, 1, 1}, {2, 1, 1.1}, {4, 1, 1.2}, {8, 2, 1.25}};
  snapshot.jobs[1].throughput = {{1, 1, 1}, {2, 1, 2}, {4, 1, 4}, {8, 2, 7.8}};
  for (Job& one : snapshot.jobs) one.tried = 8;
  const Plan made = plan(snapshot, ours());
  EXPECT_LT(workers_of(made.allocations[0].workers), 4u);
  EXPECT_GT(workers_of(made.allocations[1].workers), 4u);
}

// One node, half of it each.
Snapshot one_node(std::uint32_t slots) {
  Snapshot snapshot = small_cluster();
  snapshot.now = 10000;
  snapshot.nodes = {{.name = "a", .slots = slots}};
  snapshot.jobs = {job("one", 1, slots), job("other", 1, slots)};
  for (Job& one : snapshot.jobs) {
    one.current = {{0, slots / 2}};
    one.tried = slots;
  }
  return snapshot;
}

TEST(Plan, on_one_node_too_who_scales_badly_gives) {
  Snapshot snapshot = one_node(8);
  snapshot.jobs[0].throughput = {{1, 1, 10}, {2, 1, 10.5}, {4, 1, 10.8}, {8, 1, 11}};
  snapshot.jobs[1].throughput = {{1, 1, 10}, {2, 1, 20}, {4, 1, 40}, {8, 1, 80}};
  EXPECT_GT(workers_of(plan(snapshot, ours()).allocations[1].workers), 4u);
  for (Job& one : snapshot.jobs) one.throughput = {{4, 1, 40}, {8, 1, 70}};
  snapshot.jobs[0].utilisation = 0.2;
  EXPECT_GT(workers_of(plan(snapshot, ours()).allocations[1].workers), 4u);
}

TEST(Plan, no_slot_of_a_node_stays_idle_between_sizes) {
  for (const std::uint32_t slots : {7U, 11U, 15U, 16U}) {
    Snapshot snapshot = one_node(slots);
    for (Job& one : snapshot.jobs) one.throughput = {{1, 1, 10}, {slots, 1, 6.0 * slots}};
    if (slots == 16) {
      snapshot.tenants = {{.name = "small", .quota = 5}};
      snapshot.jobs[0].tenant = 0;
      snapshot.jobs[0].current = {{0, 4}};
    }
    const Plan made = plan(snapshot, ours());
    EXPECT_EQ(workers_of(made.allocations[0].workers) + workers_of(made.allocations[1].workers),
              slots);
  }
}

// A quota cuts one short of all sizes that leave no crumbs.
TEST(Plan, what_a_quota_leaves_over_goes_to_others) {
  Snapshot snapshot = small_cluster();
  for (const char* name : {"c", "d", "e", "f"}) {
    snapshot.nodes.push_back({.name = name, .slots = 7});
  }
  snapshot.tenants = {{.name = "small", .quota = 5}};
  snapshot.jobs = {job("cut", 1, 36), job("other", 1, 36)};
  for (Job& one : snapshot.jobs) one.tried = 36;
  snapshot.jobs[0].tenant = 0;
  const Plan made = plan(snapshot, ours());
  EXPECT_EQ(workers_of(made.allocations[0].workers), 5u);
  EXPECT_EQ(workers_of(made.allocations[1].workers), 31u);
}

TEST(Plan, of_two_equal_jobs_the_one_that_uses_its_workers_gets_more) {
  Snapshot snapshot = small_cluster();
  snapshot.jobs = {job("idle", 1, 8), job("busy", 1, 8)};
  for (Job& one : snapshot.jobs) {
    one.remaining = 100000;
    one.throughput = {{1, 1, 1}, {2, 1, 1.9}, {4, 1, 3.6}, {8, 2, 6.4}};
    one.tried = 8;
  }
  snapshot.jobs[0].utilisation = 0.3;
  const Plan made = plan(snapshot, ours());
  EXPECT_LT(workers_of(made.allocations[0].workers), workers_of(made.allocations[1].workers));
}

TEST(Plan, only_useful_sizes_are_chosen) {
  Snapshot snapshot = small_cluster();
  snapshot.jobs = {job("eight", 1, 7)};
  snapshot.jobs[0].logical_workers = 8;
  EXPECT_EQ(workers_of(plan(snapshot, ours()).allocations[0].workers), 4u);
}

// With a price of 1.25 times what one worker would need, sizes below an efficiency of 0.8 are too
// dear; what was paid already counts.
TEST(Plan, no_worker_beyond_the_price_of_a_job) {
  Snapshot snapshot = small_cluster();
  snapshot.jobs = {job("dear", 1, 8)};
  snapshot.jobs[0].throughput = {{1, 1, 1}, {2, 1, 1.8}, {4, 1, 3.2}, {8, 2, 4.8}};
  snapshot.jobs[0].tried = 8;
  snapshot.jobs[0].remaining = 10000;
  const auto size = [&] { return workers_of(plan(snapshot, ours()).allocations[0].workers); };
  EXPECT_EQ(size(), 8u);
  snapshot.jobs[0].price_max = 12500;
  EXPECT_EQ(size(), 4u);
  snapshot.jobs[0].attained_s = 1000;
  EXPECT_EQ(size(), 2u);
  snapshot.jobs[0].price_max = 1;  // it is not stopped for its price
  EXPECT_EQ(size(), 1u);
}

// Seven more slots would be best, and six are left: three of them are still better than to leave
// all to a job that gains less.
TEST(Division, in_place_of_a_step_that_does_not_fit_a_smaller_one_is_taken) {
  Snapshot snapshot = small_cluster();
  snapshot.jobs = {job("steep", 1, 8), job("flat", 1, 8)};
  const std::vector<Bid> bids = {{1, {{1, 0}, {4, 10}, {8, 50}}}, {1, {{1, 0}, {5, 4}}}};
  EXPECT_EQ(divide(snapshot, bids), (Sizes{4, 1}));
}

// Two jobs that tell no length, and how much more the first one gets.
int first_gets_more(double submitted, double attained_s, double other_submitted = 50000,
                    double other_attained_s = 60000) {
  Snapshot snapshot = small_cluster();
  snapshot.now = 100000;
  snapshot.jobs = {job("one", 1, 8), job("other", 1, 8)};
  for (Job& one : snapshot.jobs) {
    one.throughput = {{1, 1, 1}, {2, 1, 1.9}, {4, 1, 3.6}, {8, 2, 6.4}};
    one.tried = 8;
    one.submitted = other_submitted;
    one.attained_s = other_attained_s;
  }
  snapshot.jobs[0].submitted = submitted;
  snapshot.jobs[0].attained_s = attained_s;
  const Plan made = plan(snapshot, ours());
  return static_cast<int>(workers_of(made.allocations[0].workers)) -
         static_cast<int>(workers_of(made.allocations[1].workers));
}

TEST(Plan, long_jobs_that_tell_nothing_end_one_after_the_other) {
  EXPECT_GT(first_gets_more(50000, 900000), 0) << "it is nearer to its level";
  EXPECT_GT(first_gets_more(50000, 232000), 0) << "a fifth nearer is enough";
  EXPECT_LT(first_gets_more(50000, 1000000), 0) << "it has turned out to be longer than that";
  EXPECT_GT(first_gets_more(99000, 50000), 0) << "it may be short";
}

TEST(Plan, of_jobs_that_tell_nothing_yet_all_are_alike) {
  EXPECT_EQ(first_gets_more(99900, 50, 99500, 200), 0) << "both are young";
  EXPECT_GT(first_gets_more(99900, 50, 99000, 200), 0) << "the other one is not";
}

// Which of two jobs that wait for one slot starts.
std::size_t starts_first(double submitted, double other_submitted, double other_attained_s) {
  Snapshot snapshot = small_cluster();
  snapshot.now = 100000;
  snapshot.nodes = {{.name = "a", .slots = 1}};
  snapshot.jobs = {job("one", 1, 1), job("other", 1, 1)};
  for (Job& one : snapshot.jobs) one.tried = 1;
  snapshot.jobs[0].submitted = submitted;
  snapshot.jobs[1].submitted = other_submitted;
  snapshot.jobs[1].attained_s = other_attained_s;
  for (Job& one : snapshot.jobs) one.since = snapshot.now - 10;
  return plan(snapshot, ours()).allocations[0].workers.empty() ? 1 : 0;
}

TEST(Plan, of_jobs_that_had_nothing_yet_the_first_one_starts) {
  EXPECT_EQ(starts_first(95000, 99000, 0), 0u);
  EXPECT_EQ(starts_first(95000, 90000, 0), 1u);
  EXPECT_EQ(starts_first(95000, 90000, 10), 0u) << "the other one had its turn and is long";
}

}  // namespace
}  // namespace edl::scheduler
