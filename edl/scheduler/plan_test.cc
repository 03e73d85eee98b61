#include "edl/scheduler/plan.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <map>

#include "edl/scheduler/generated_test.h"
#include "edl/scheduler/policy.h"
#include "edl/scheduler/snapshot_json.h"
#include "edl/scheduler/steady.h"

namespace edl::scheduler {
namespace {

// What is wrong with a plan, by the rules that hold for every policy; empty when nothing is.
std::string broken_rule(const Snapshot& snapshot, const Plan& plan) {
  if (plan.allocations.size() != snapshot.jobs.size()) return "not every job has its allocation";
  std::vector<std::uint64_t> used(snapshot.nodes.size());
  std::map<std::uint32_t, std::uint64_t> by_tenant;
  for (std::size_t j = 0; j < snapshot.jobs.size(); ++j) {
    const Job& job = snapshot.jobs[j];
    const Allocation& one = plan.allocations[j];
    const std::uint32_t workers = workers_of(one.workers);
    if (one.reason.empty()) return job.name + " has no reason";
    if (workers != 0 && (workers < job.min || workers > job.max))
      return job.name + " has a wrong size";
    for (const Share& share : one.workers) {
      if (share.count == 0) return job.name + " has an empty share";
      if (!job.kind.empty() && job.kind != snapshot.nodes[share.node].kind) return "wrong kind";
      used[share.node] += std::uint64_t{share.count} * job.slots_per_worker;
    }
    if (job.tenant) by_tenant[*job.tenant] += std::uint64_t{workers} * job.slots_per_worker;
  }
  for (std::size_t n = 0; n < used.size(); ++n) {
    if (used[n] > snapshot.nodes[n].slots) return snapshot.nodes[n].name + " is too full";
  }
  for (const auto& [tenant, slots] : by_tenant) {
    if (slots > snapshot.tenants[tenant].quota) return "a quota is exceeded";
  }
  return "";
}

// The rules of steadiness, for plans that follow them.
std::string broken_steadiness(const Snapshot& snapshot, const Plan& plan) {
  std::int64_t highest_new = std::numeric_limits<std::int64_t>::min();
  for (std::size_t j = 0; j < snapshot.jobs.size(); ++j) {
    const bool has = workers_of(plan.allocations[j].workers) > 0;
    if (has && !is_running(snapshot.jobs[j])) {
      highest_new = std::max(highest_new, rank_of(snapshot, snapshot.jobs[j]));
    }
  }
  for (std::size_t j = 0; j < snapshot.jobs.size(); ++j) {
    const Job& job = snapshot.jobs[j];
    if (!is_running(job)) continue;
    if (workers_of(plan.allocations[j].workers) == 0 && highest_new <= job.priority) {
      return job.name + " was pushed out by nobody above it";
    }
  }
  return "";
}

// A snapshot whose jobs run where a plan put them, as a cluster has it.
Snapshot settled(Snapshot snapshot, std::uint64_t seed) {
  const auto names = policies();
  const Plan plan = scheduler::plan(snapshot, *names[seed % names.size()]);
  for (std::size_t j = 0; j < snapshot.jobs.size(); ++j) {
    if ((seed >> 8) % 3 != 0 || j % 2 == 0) snapshot.jobs[j].current = plan.allocations[j].workers;
  }
  return snapshot;
}

struct Met {
  std::uint64_t full = 0;
  std::uint64_t quota_hit = 0;
  std::uint64_t gang_refused = 0;
  std::uint64_t frozen = 0;
  std::uint64_t near_end = 0;
  std::uint64_t running = 0;
  std::uint64_t waiting = 0;

  void count(const Snapshot& snapshot, const Plan& plan) {
    std::uint64_t used = 0;
    std::map<std::uint32_t, std::uint64_t> by_tenant;
    for (std::size_t j = 0; j < snapshot.jobs.size(); ++j) {
      const Job& job = snapshot.jobs[j];
      const std::uint64_t slots =
          std::uint64_t{workers_of(plan.allocations[j].workers)} * job.slots_per_worker;
      used += slots;
      if (job.tenant) by_tenant[*job.tenant] += slots;
    }
    bool quota = false;
    bool gang = false;
    bool ice = false;
    bool end = false;
    bool runs = false;
    bool waits = false;
    const std::uint64_t left = slots_of(snapshot) - used;
    for (std::size_t j = 0; j < snapshot.jobs.size(); ++j) {
      const Job& job = snapshot.jobs[j];
      const std::uint64_t has = workers_of(plan.allocations[j].workers);
      if (job.tenant && snapshot.tenants[*job.tenant].quota != kNoQuota && has < job.max) {
        quota = quota || by_tenant[*job.tenant] + job.slots_per_worker * (has == 0 ? job.min : 1) >
                             snapshot.tenants[*job.tenant].quota;
      }
      gang = gang || (has == 0 && job.min > 1 && left < job.min * job.slots_per_worker && left > 0);
      ice = ice || (is_running(job) && snapshot.now < job.frozen_until);
      end = end || (is_running(job) && job.near_end);
      runs = runs || is_running(job);
      waits = waits || has == 0;
    }
    full += left == 0 ? 1 : 0;
    quota_hit += quota ? 1 : 0;
    gang_refused += gang ? 1 : 0;
    frozen += ice ? 1 : 0;
    near_end += end ? 1 : 0;
    running += runs ? 1 : 0;
    waiting += waits ? 1 : 0;
  }
};

TEST(Plan, rules_hold_over_ten_thousand_snapshots) {
  constexpr std::uint64_t kSnapshots = 10000;
  Met met;
  for (std::uint64_t seed = 1; seed <= kSnapshots; ++seed) {
    const Snapshot snapshot = settled(SnapshotMaker(seed).make(), mix64(seed));
    for (const Policy* policy : policies()) {
      const Plan made = plan(snapshot, *policy);
      ASSERT_EQ(broken_rule(snapshot, made), "") << policy->name << ", seed " << seed;
      if (policy->has_rules) {
        ASSERT_EQ(broken_steadiness(snapshot, made), "") << policy->name << ", seed " << seed;
        met.count(snapshot, made);
        const Plan again = plan(snapshot, *policy);
        ASSERT_TRUE(made.allocations == again.allocations) << seed;
      }
    }
    const Policy* other = policies()[seed % policies().size()];
    const Plan ruled = plan(snapshot, *other, {.rules = true});
    ASSERT_EQ(broken_rule(snapshot, ruled), "") << other->name << " with rules, seed " << seed;
    ASSERT_EQ(broken_steadiness(snapshot, ruled), "")
        << other->name << " with rules, seed " << seed;
  }
  const auto share = [](std::uint64_t count) {
    return 100.0 * static_cast<double>(count) / kSnapshots;
  };
  std::printf(
      "snapshots: full %.1f %%, quota hit %.1f %%, gang refused %.1f %%, freeze active "
      "%.1f %%, near end %.1f %%, running %.1f %%, waiting %.1f %%\n",
      share(met.full), share(met.quota_hit), share(met.gang_refused), share(met.frozen),
      share(met.near_end), share(met.running), share(met.waiting));
  for (const std::uint64_t count : {met.full, met.quota_hit, met.gang_refused, met.frozen}) {
    EXPECT_GE(share(count), 10);
  }
}

TEST(Plan, a_snapshot_that_went_through_json_gets_the_same_plan) {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    const Snapshot snapshot = settled(SnapshotMaker(seed).make(), mix64(seed));
    const auto read = parse_snapshot(json_line(snapshot_json(snapshot)));
    ASSERT_TRUE(read.ok()) << read.error().message;
    for (const Policy* policy : policies()) {
      ASSERT_EQ(plan_json(snapshot, plan(snapshot, *policy)),
                plan_json(*read, plan(*read, *policy)))
          << policy->name << ", seed " << seed;
    }
  }
}

// Two nodes of four slots.
Snapshot small_cluster() {
  Snapshot snapshot;
  snapshot.now = 1000;
  snapshot.nodes = {{.name = "a", .slots = 4}, {.name = "b", .slots = 4}};
  return snapshot;
}

Job job(const char* name, std::uint32_t min, std::uint32_t max) {
  Job out;
  out.name = name;
  out.min = min;
  out.max = max;
  return out;
}

const Policy& ours() { return **find_policy("ours"); }

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
  EXPECT_TRUE(made.allocations[0].workers.empty()) << made.allocations[0].reason;
  EXPECT_GE(workers_of(made.allocations[1].workers), 6u);
}

TEST(Plan, whoever_waited_too_long_gets_its_turn) {
  Snapshot snapshot = small_cluster();
  snapshot.jobs = {job("running", 6, 8), job("waiting", 6, 8)};
  snapshot.jobs[0].current = {{0, 4}, {1, 4}};
  snapshot.jobs[1].since = snapshot.now - kPatienceSeconds + 1;
  EXPECT_TRUE(plan(snapshot, ours()).allocations[1].workers.empty());
  snapshot.jobs[1].since = snapshot.now - kPatienceSeconds;
  EXPECT_GE(workers_of(plan(snapshot, ours()).allocations[1].workers), 6u);
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

TEST(Plan, a_small_job_is_not_spread_over_nodes) {
  Snapshot snapshot = small_cluster();
  snapshot.nodes.push_back({.name = "c", .slots = 4});
  snapshot.jobs = {job("one", 2, 2), job("two", 2, 2), job("four", 4, 4)};
  snapshot.jobs[0].current = {{0, 2}};
  snapshot.jobs[1].current = {{1, 2}};
  const Plan made = plan(snapshot, ours());
  EXPECT_EQ(made.allocations[2].workers, (Shares{{2, 4}}));
}

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
      {R"({"nodes":[],"jobs":[{"job":"x","min":1,"max":1,"current":[{"node":"q","count":1}]}]})",
       "node q"},
      {R"({"nodes":[],"jobs":[{"job":"x","min":1,"max":1},{"job":"x","min":1,"max":1}]})",
       "job x is there twice"},
      {R"([1])", "snapshot"},
  };
  for (const auto& [words, problem] : rows) {
    const auto read = parse_snapshot(words);
    ASSERT_FALSE(read.ok()) << words;
    EXPECT_NE(read.error().message.find(problem), std::string::npos) << read.error().message;
  }
}

}  // namespace
}  // namespace edl::scheduler
