#include "edl/scheduler/settle.h"

#include <gtest/gtest.h>

#include "edl/scheduler/small_cluster_test.h"

namespace edl::scheduler {
namespace {

TEST(Plan, a_small_job_is_not_spread_over_nodes) {
  Snapshot snapshot = small_cluster();
  snapshot.nodes.push_back({.name = "c", .slots = 4});
  snapshot.jobs = {job("one", 2, 2), job("two", 2, 2), job("four", 4, 4)};
  snapshot.jobs[0].current = {{0, 2}};
  snapshot.jobs[1].current = {{1, 2}};
  const Plan made = plan(snapshot, ours());
  EXPECT_EQ(made.allocations[2].workers, (Shares{{2, 4}}));
}

// To pack the one of six, the one of one worker is moved off its node, to where the other one was.
TEST(Plan, nobody_loses_its_place_to_one_that_was_moved_for_it) {
  Snapshot snapshot = small_cluster();
  snapshot.nodes = {
      {.name = "a", .slots = 2}, {.name = "b", .slots = 3}, {.name = "c", .slots = 3}};
  snapshot.jobs = {job("spread", 1, 3), job("small", 1, 1), job("gang", 6, 6)};
  snapshot.jobs[0].current = {{0, 2}, {1, 1}};
  snapshot.jobs[1].current = {{2, 1}};
  for (const char* name : {"ours", "edl", "wfs"}) {
    const Plan made = plan(snapshot, **find_policy(name));
    for (const Allocation& one : made.allocations) EXPECT_FALSE(one.workers.empty()) << name;
  }
}

TEST(Plan, a_spread_job_stays_in_one_domain) {
  Snapshot snapshot = small_cluster();
  snapshot.nodes = {{.name = "a", .slots = 4, .domain = "left"},
                    {.name = "b", .slots = 4, .domain = "right"},
                    {.name = "c", .slots = 4, .domain = "left"},
                    {.name = "d", .slots = 4, .domain = "right"},
                    {.name = "e", .slots = 4, .domain = "right"}};
  snapshot.jobs = {job("twelve", 12, 12)};
  EXPECT_EQ(plan(snapshot, ours()).allocations[0].workers, (Shares{{1, 4}, {3, 4}, {4, 4}}));
  snapshot.jobs = {job("grows", 4, 8)};
  snapshot.jobs[0].current = {{2, 4}};
  snapshot.jobs[0].tried = 8;
  EXPECT_EQ(plan(snapshot, ours()).allocations[0].workers, (Shares{{2, 4}, {0, 4}}));
}

TEST(Plan, fewer_nodes_are_better_than_fewer_domains) {
  Snapshot snapshot = small_cluster();
  snapshot.nodes = {{.name = "a", .slots = 4, .domain = "left"},
                    {.name = "b", .slots = 2, .domain = "left"},
                    {.name = "c", .slots = 2, .domain = "left"},
                    {.name = "d", .slots = 4, .domain = "right"}};
  snapshot.jobs = {job("eight", 8, 8)};
  EXPECT_EQ(plan(snapshot, ours()).allocations[0].workers.size(), 2u);
}

}  // namespace
}  // namespace edl::scheduler
