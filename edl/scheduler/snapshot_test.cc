#include "edl/scheduler/snapshot.h"

#include <gtest/gtest.h>

#include "edl/scheduler/small_cluster_test.h"
#include "edl/scheduler/snapshot_json.h"

namespace edl::scheduler {
namespace {

TEST(Snapshot, useful_sizes_of_eight_logical_workers) {
  const std::vector<std::uint32_t> expected{1, 2, 3, 4, 4, 4, 4, 8, 8};
  for (std::uint32_t k = 1; k <= 9; ++k) EXPECT_EQ(useful_size(8, k), expected[k - 1]) << k;
  EXPECT_EQ(useful_size(0, 7), 7u);
}

TEST(Snapshot, what_is_wrong_is_named) {
  const std::pair<const char*, const char*> rows[] = {
      {R"({"nodes":[{"node":"a","slots":1}],"jobs":[{"job":"x","min":2,"max":1}]})",
       "job x has min 2"},
      {R"({"nodes":[{"node":"a"}],"jobs":[]})", "slots"},
      {R"({"nodes":[{"node":"a","slots":1},{"node":"a","slots":1}],"jobs":[]})",
       "node a is there twice"},
      {R"({"nodes":[{"node":"a","slots":1.5}],"jobs":[]})", "slots"},
      {R"({"nodes":[],"jobs":[{"job":"x","min":1,"max":1},{"job":"x","min":1,"max":1}]})",
       "job x is there twice"},
      {R"({"nodes":[{"node":"a","slots":1e9}],"jobs":[]})", "slots"},
      {R"({"nodes":[{"node":"a","slots":-1}],"jobs":[]})", "slots"},
      {R"({"now":"soon","nodes":[],"jobs":[]})", "now"},
      {R"({"nodes":[],"jobs":[{"job":"x","min":1,"max":1,"remaining":-1}]})", "job x"},
      {R"({"nodes":[],"jobs":[{"job":"x","min":1,"max":1,"change_cost_s":1e300}]})", "job x"},
      {R"([1])", "snapshot"},
  };
  for (const auto& [words, problem] : rows) {
    const auto read = parse_snapshot(words);
    ASSERT_FALSE(read.ok()) << words;
    EXPECT_NE(read.error().message.find(problem), std::string::npos) << read.error().message;
  }
}

TEST(Snapshot, whole_numbers_may_have_a_point) {
  const auto read = parse_snapshot(
      R"({"nodes":[{"node":"a","slots":4.0}],"jobs":[{"job":"x","min":1.0,"max":2e0}]})");
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->nodes[0].slots, 4u);
  EXPECT_EQ(read->jobs[0].max, 2u);
}

TEST(Snapshot, workers_on_a_node_that_is_gone_are_lost) {
  const auto read = parse_snapshot(
      R"({"nodes":[{"node":"a","slots":4}],"jobs":[{"job":"x","min":1,"max":2,)"
      R"("current":[{"node":"q","count":2},{"node":"a","count":1}]},{"job":"y","min":3,"max":3,)"
      R"("current":[{"node":"q","count":3}]}]})");
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->jobs[0].current, (Shares{{0, 1}}));
  const Plan made = plan(*read, ours());
  EXPECT_EQ(workers_of(made.allocations[1].workers), 3u);
  const std::string& reason = made.allocations[0].reason;
  EXPECT_NE(reason.find("lost 2 workers on a node that is gone"), std::string::npos) << reason;
}

}  // namespace
}  // namespace edl::scheduler
