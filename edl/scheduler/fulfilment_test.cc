#include "edl/scheduler/fulfilment.h"

#include <gtest/gtest.h>

namespace edl::scheduler {
namespace {

constexpr std::int64_t kPlenty = 1 << 20;

// One node with what is not used.
ClusterLoad cluster(std::int64_t cpu, std::int64_t cpu_used, std::int64_t gpus = 0,
                    std::int64_t gpus_used = 0) {
  return {.total = {cpu, kPlenty, gpus},
          .used = {cpu_used, 0, gpus_used},
          .idle = {{cpu - cpu_used, kPlenty}}};
}

ElasticJob job(std::uint32_t min, std::uint32_t max, std::uint32_t current, std::int64_t gpus = 0) {
  return {"job", min, max, current, {1000, 1, gpus}};
}

struct Row {
  const char* what;
  ClusterLoad load;
  ElasticJob job;
  std::int64_t difference;
  int up;
  int down;
};

TEST(Fulfilment, single_steps_as_in_the_table_of_their_origin) {
  ClusterLoad no_memory = cluster(3000, 100);
  no_memory.used.memory = kPlenty;
  no_memory.idle[0].memory = 0;
  ElasticJob light = job(1, 3, 1, 1);
  light.request.cpu_milli = 1000;
  const Row rows[] = {
      {"room for one more", cluster(3000, 100), job(1, 3, 1), 0, 1, 0},
      {"no CPU left", cluster(1000, 1000), job(1, 3, 1), 0, 0, 0},
      {"GPUs are free", cluster(2000, 0, 10, 0), light, 0, 1, 0},
      {"no GPU left", cluster(2000, 0, 10, 10), light, 0, 0, 0},
      {"far above its maximum", cluster(1000, 1000), job(1, 3, 6), 0, 0, -1},
      {"above it by two", cluster(1000, 1000), job(1, 3, 6), -1, 0, -1},
      {"above it by one", cluster(1000, 1000), job(1, 3, 6), -2, 0, -1},
      {"at its maximum", cluster(1000, 1000), job(1, 3, 6), -3, 0, 0},
      {"overloaded", cluster(3000, 5000), job(1, 3, 3), 0, 0, -1},
      {"overloaded, one gone", cluster(3000, 5000), job(1, 3, 3), -1, 0, -1},
      {"overloaded, at its minimum", cluster(3000, 5000), job(1, 3, 3), -2, 0, 0},
      {"no memory", no_memory, job(1, 3, 1), 0, 0, 0},
  };
  for (const Row& row : rows) {
    ClusterLoad load = row.load;
    EXPECT_EQ(step_up(row.job, row.difference, load, 1.0), row.up) << row.what;
    load = row.load;
    EXPECT_EQ(step_down(row.job, row.difference, load, 1.0), row.down) << row.what;
  }
}

TEST(Fulfilment, dry_runs_as_in_the_table_of_their_origin) {
  struct All {
    ClusterLoad load;
    ElasticJob job;
    double load_max;
    std::int64_t wanted;
  };
  ElasticJob gpu = job(1, 3, 1, 1);
  gpu.request.cpu_milli = 10;
  const All rows[] = {
      {cluster(4000, 1000), job(1, 3, 1), 1.0, 2},
      {cluster(3000, 1000), job(1, 3, 1), 0.8, 1},
      {cluster(3000, 3000), job(1, 3, 3), 0.8, -1},
      {cluster(2000, 990, 10, 9), job(1, 3, 1, 1), 1.0, 1},
      {cluster(2000, 990, 10, 9), gpu, 1.0, 1},
  };
  for (const All& row : rows) {
    EXPECT_EQ(fulfil({row.job}, row.load, row.load_max), std::vector{row.wanted})
        << row.load.total.cpu_milli << " at " << row.load_max;
  }
}

std::vector<std::string> names_in_order(const std::vector<ElasticJob>& jobs) {
  std::vector<std::string> names;
  for (const std::size_t j : by_fulfilment(jobs, std::vector<std::int64_t>(jobs.size(), 0))) {
    names.push_back(jobs[j].name);
  }
  return names;
}

TEST(Fulfilment, least_fulfilled_first_and_rigid_jobs_not_at_all) {
  EXPECT_EQ(names_in_order({{"a", 1, 2, 2}, {"b", 1, 20, 2}, {"c", 1, 10, 2}, {"d", 1, 1, 2}}),
            (std::vector<std::string>{"b", "c", "a"}));
}

TEST(Fulfilment, ties_go_to_the_smaller_request) {
  EXPECT_EQ(names_in_order({{"a", 1, 2, 1, {1, 1, 1}},
                            {"b", 1, 2, 1, {1, 1, 0}},
                            {"c", 1, 2, 1, {10, 1, 0}},
                            {"d", 1, 2, 1, {1, 2, 0}}}),
            (std::vector<std::string>{"b", "d", "c", "a"}));
}

// Nine of ten GPUs at a limit of 0.97: the tenth would be above it, and taking it back below.
TEST(Fulfilment, a_job_at_the_limit_does_not_flip) {
  ElasticJob at_limit = job(1, 10, 9, 1);
  at_limit.request.cpu_milli = 100;
  const ClusterLoad load = cluster(100000, 900, 10, 9);
  EXPECT_EQ(fulfil({at_limit}, load, 0.97), std::vector<std::int64_t>{0});
}

// Decision after decision, each from what the one before left: it comes to rest at once.
TEST(Fulfilment, jobs_at_the_limit_come_to_rest) {
  std::vector<ElasticJob> jobs = {job(1, 10, 9, 1), job(1, 21, 1)};
  std::vector<std::int64_t> change;
  for (int decision = 0; decision < 10; ++decision) {
    ClusterLoad load = cluster(100000, 0, 10, 0);
    for (std::size_t j = 0; j < jobs.size(); ++j) {
      if (!change.empty()) jobs[j].current += static_cast<std::uint32_t>(change[j]);
      load.used.cpu_milli += 1000 * jobs[j].current;
      load.used.gpus += jobs[j].request.gpus * jobs[j].current;
    }
    load.idle[0].cpu_milli -= load.used.cpu_milli;
    change = fulfil(jobs, load, 0.97);
    const std::int64_t more = decision == 0 ? 20 : 0;
    EXPECT_EQ(change, (std::vector<std::int64_t>{0, more})) << decision;
  }
  EXPECT_EQ(jobs[0].current, 9u);
  EXPECT_EQ(jobs[1].current, 21u);
}

TEST(Fulfilment, a_job_at_the_limit_does_not_starve_another) {
  ElasticJob at_limit = job(1, 10, 9, 1);
  at_limit.request.cpu_milli = 1000;
  ElasticJob plain = job(1, 21, 1);
  const ClusterLoad load = cluster(100000, 10000, 10, 9);
  EXPECT_EQ(fulfil({at_limit, plain}, load, 0.97), (std::vector<std::int64_t>{0, 20}));
}

}  // namespace
}  // namespace edl::scheduler
