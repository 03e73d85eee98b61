#include "edl/scheduler/steady.h"

#include <gtest/gtest.h>

#include "edl/scheduler/small_cluster_test.h"

namespace edl::scheduler {
namespace {

// One that has eight slots and may not be changed, and one of higher rank that needs one of them.
Snapshot one_holds_all(bool frozen) {
  Snapshot snapshot = small_cluster();
  snapshot.nodes = {{.name = "a", .slots = 8}};
  snapshot.jobs = {job("holds", 1, 8), job("high", 1, 1), job("equal", 1, 1)};
  snapshot.jobs[0].current = {{0, 8}};
  snapshot.jobs[0].near_end = !frozen;
  if (frozen) snapshot.jobs[0].frozen_until = snapshot.now + 1;
  snapshot.jobs[1].priority = 1;
  return snapshot;
}

TEST(Steady, who_may_not_be_changed_gives_no_more_than_a_higher_rank_needs) {
  for (const bool frozen : {false, true}) {
    const Snapshot snapshot = one_holds_all(frozen);
    const Plan made = plan(snapshot, ours());
    EXPECT_EQ(workers_of(made.allocations[0].workers), 7u) << made.allocations[0].reason;
    EXPECT_EQ(workers_of(made.allocations[1].workers), 1u) << made.allocations[1].reason;
    EXPECT_EQ(workers_of(made.allocations[2].workers), 0u) << made.allocations[2].reason;
  }
}

TEST(Steady, nobody_is_stopped_whose_minimum_is_left) {
  Snapshot snapshot = small_cluster();
  snapshot.jobs = {job("low", 1, 8), job("lower", 1, 8), job("high", 4, 4)};
  snapshot.jobs[0].current = {{0, 4}};
  snapshot.jobs[1].current = {{1, 4}};
  snapshot.jobs[1].priority = -1;
  for (std::size_t j : {0, 1}) snapshot.jobs[j].near_end = true;
  snapshot.jobs[2].priority = 1;
  const Plan made = plan(snapshot, ours());
  for (const Allocation& one : made.allocations) EXPECT_FALSE(one.workers.empty()) << one.reason;
}

// Enough is free on two nodes together, on none alone.
TEST(Steady, who_starves_gets_room_on_one_node) {
  Snapshot snapshot = small_cluster();
  snapshot.now = 100000;
  snapshot.nodes = {{.name = "a", .slots = 8}, {.name = "b", .slots = 8}};
  snapshot.jobs = {job("left", 5, 5), job("right", 5, 5), job("big", 1, 1)};
  snapshot.jobs[0].current = {{0, 5}};
  snapshot.jobs[1].current = {{1, 5}};
  snapshot.jobs[2].slots_per_worker = 6;
  snapshot.jobs[2].since = snapshot.now - kPatienceSecondsMax + 1;
  const auto big = [&] { return workers_of(plan(snapshot, ours()).allocations[2].workers); };
  EXPECT_EQ(big(), 0u);
  snapshot.jobs[2].since -= 1;
  EXPECT_EQ(big(), 1u);
  snapshot.jobs[2].since = snapshot.now;
  snapshot.jobs[2].priority = 1;
  EXPECT_EQ(big(), 1u);
}

TEST(Steady, who_starves_gets_nodes_of_its_kind) {
  Snapshot snapshot = small_cluster();
  snapshot.nodes[0].kind = "fast";
  snapshot.jobs = {job("anywhere", 4, 4), job("fast", 2, 2)};
  snapshot.jobs[0].current = {{0, 4}};
  snapshot.jobs[1].kind = "fast";
  snapshot.jobs[1].priority = 1;
  const Plan made = plan(snapshot, ours());
  EXPECT_EQ(made.allocations[0].workers, (Shares{{1, 4}}));
  EXPECT_EQ(made.allocations[1].workers, (Shares{{0, 2}}));
}

// The gang would come first, but the one that is near its end leaves it no room.
TEST(Steady, idle_slots_go_to_who_can_run_on_them) {
  Snapshot snapshot = small_cluster();
  snapshot.jobs = {job("ending", 1, 8), job("gang", 4, 4), job("small", 1, 1)};
  snapshot.jobs[0].current = {{0, 4}, {1, 3}};
  snapshot.jobs[0].near_end = true;
  snapshot.jobs[2].remaining = 1e9;
  snapshot.jobs[2].tried = 1;
  const Plan made = plan(snapshot, ours());
  EXPECT_EQ(made.allocations[0].workers, snapshot.jobs[0].current);
  EXPECT_TRUE(made.allocations[1].workers.empty());
  EXPECT_EQ(made.allocations[2].workers, (Shares{{1, 1}})) << made.allocations[2].reason;
}

// Of other policies it is not known for what they leave slots free.
TEST(Steady, who_waits_by_another_policy_waits_with_the_rules_until_it_starves) {
  Snapshot snapshot = small_cluster();
  snapshot.now = 100000;
  snapshot.jobs = {job("runs", 6, 6), job("ahead", 4, 4), job("behind", 2, 2)};
  snapshot.jobs[0].current = {{0, 4}, {1, 2}};
  snapshot.jobs[1].since = snapshot.now;
  const auto behind = [&] {
    return workers_of(
        plan(snapshot, **find_policy("fifo"), {.rules = true}).allocations[2].workers);
  };
  snapshot.jobs[2].since = snapshot.now - kPatienceSecondsMax + 1;
  EXPECT_EQ(behind(), 0u);
  snapshot.jobs[2].since -= 1;
  EXPECT_EQ(behind(), 2u);
}

// Four on one node would be faster than three, but there are only four on two nodes.
TEST(Steady, nobody_grows_to_be_slower) {
  Snapshot snapshot = small_cluster();
  snapshot.now = 10000;
  snapshot.nodes = {{.name = "small", .slots = 1}, {.name = "large", .slots = 4}};
  snapshot.jobs = {job("grows", 1, 4), job("other", 1, 1)};
  snapshot.jobs[0].current = {{1, 3}};
  snapshot.jobs[1].current = {{1, 1}};
  snapshot.jobs[0].throughput = {{1, 1, 30}, {2, 1, 58}, {3, 1, 84}, {4, 1, 108}, {4, 2, 54}};
  snapshot.jobs[0].tried = 4;
  snapshot.jobs[0].change_cost_s = 30;
  for (int round = 0; round < 10; ++round, snapshot.now += 60) {
    const Plan made = plan(snapshot, ours());
    for (std::size_t j : {0, 1}) {
      EXPECT_EQ(made.allocations[j].workers, snapshot.jobs[j].current) << round;
    }
  }
}

TEST(Steady, without_the_rules_nobody_starves_by_them) {
  Snapshot snapshot = small_cluster();
  snapshot.now = 100000;
  snapshot.jobs = {job("runs", 8, 8), job("waits", 8, 8)};
  snapshot.jobs[0].current = {{0, 4}, {1, 4}};
  snapshot.jobs[0].since = snapshot.now - 1;
  for (const char* name : {"edl", "wfs"}) {
    const Policy& policy = **find_policy(name);
    EXPECT_TRUE(plan(snapshot, policy).allocations[1].workers.empty()) << name;
    const Plan ruled = plan(snapshot, policy, {.rules = true});
    EXPECT_EQ(workers_of(ruled.allocations[1].workers), 8u) << name;
  }
}

}  // namespace
}  // namespace edl::scheduler
