#include "edl/simulator/simulation.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "edl/base/random.h"
#include "edl/os/no_disk_test.h"
#include "edl/scheduler/steady.h"
#include "edl/simulator/capacity.h"
#include "edl/simulator/experiments.h"
#include "edl/simulator/formats.h"
#include "edl/simulator/generator.h"
#include "edl/simulator/scaling.h"
#include "edl/simulator/summary.h"

namespace edl::simulator {
namespace {

const Format& synthetic() {
  for (const Format& format : formats()) {
    if (format.knows("job,submit_s,wanted,min,max")) return format;
  }
  EDL_CHECK(false);
}

Trace generated(std::uint64_t seed, std::uint64_t jobs, bool bursty = false) {
  os::NoDisk disk;
  const std::string words =
      generate_trace({.seed = seed, .jobs = jobs, .mean_gap_s = 120, .bursty = bursty});
  return synthetic().read(disk, words, "").value();
}

SimulationOptions cluster(std::uint32_t nodes, double interval) {
  SimulationOptions options{.interval = interval, .change_seconds = 5};
  for (std::uint32_t n = 0; n < nodes; ++n) {
    options.nodes.push_back({.name = std::to_string(n), .slots = 4});
  }
  return options;
}

Outcome run(const Trace& trace, const char* policy, const SimulationOptions& options) {
  return simulate(trace, **scheduler::find_policy(policy), options).value();
}

TEST(Simulation, every_policy_ends_every_job_and_chance_comes_from_the_seed) {
  const Trace trace = generated(7, 80, true);
  for (const scheduler::Policy* policy : scheduler::policies()) {
    for (const double interval : {60.0, 0.0}) {
      SimulationOptions options = cluster(8, interval);
      options.noise = 0.1;
      options.capacity =
          capacity_changes(options.nodes, {.mean_between_failures_s = 40000, .foreign_share = 0.3});
      const auto outcome = simulate(trace, *policy, options);
      ASSERT_TRUE(outcome.ok()) << policy->name << ": " << outcome.error().message;
      const auto again = simulate(trace, *policy, options);
      for (std::size_t j = 0; j < trace.jobs.size(); ++j) {
        const JobOutcome& job = outcome->jobs[j];
        ASSERT_GE(job.started, job.submitted) << policy->name << " " << job.name;
        ASSERT_GT(job.finished, job.started) << policy->name << " " << job.name;
        ASSERT_EQ(job.finished, again->jobs[j].finished) << policy->name << " " << job.name;
      }
      EXPECT_LE(outcome->used_slot_seconds, outcome->slot_seconds * 1.0001) << policy->name;
    }
  }
}

TEST(Simulation, nobody_waits_while_the_minimums_fit) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Trace trace =
        generated(seed, 32, seed % 2 == 0);  // on 32 slots, each with a minimum of 1
    for (const bool declared : {false, true}) {
      SimulationOptions options = cluster(8, 0);
      options.declared = declared;
      options.change_seconds = 30;
      const Summary summary = summarise(run(trace, "ours", options), "ours", "");
      EXPECT_EQ(summary.max_wait_s, 0) << seed;
      EXPECT_EQ(summary.avg_queue, 0) << seed;
    }
  }
}

// Gangs of one to six whose minimums fill 32 slots to the last one, in every order of coming.
TEST(Simulation, no_gang_waits_while_the_minimums_fit) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Random random(seed);
    Trace trace;
    double now = 0;
    for (std::uint32_t left = 32; left > 0;) {
      const auto min = std::min(left, static_cast<std::uint32_t>(random.between(1, 6)));
      left -= min;
      now += static_cast<double>(random.below(300));
      const double seconds = static_cast<double>(random.between(600, 60000));
      trace.jobs.push_back({.name = std::to_string(left), .submitted = now, .wanted = min});
      trace.jobs.back().make = [seconds, min](const ModelOptions&) {
        return timed_job({.seconds = seconds, .wanted = min, .min = min, .max = 4 * min});
      };
    }
    SimulationOptions options = cluster(8, 0);
    options.declared = seed % 2 == 0;
    const Summary summary = summarise(run(trace, "ours", options), "ours", "");
    EXPECT_EQ(summary.max_wait_s, 0) << seed;
    EXPECT_EQ(summary.avg_queue, 0) << seed;
  }
}

// The longest time that a job of the run was without workers, up to its end.
double longest_wait(const Outcome& outcome) {
  double longest = 0;
  for (const JobOutcome& job : outcome.jobs) {
    double since = job.submitted;
    std::uint32_t workers = 0;
    for (const auto& [at, size] : job.sizes) {
      if (workers == 0) longest = std::max(longest, at - since);
      if (size == 0 && workers > 0) since = at;
      workers = size;
    }
  }
  return longest;
}

TEST(Simulation, nobody_waits_longer_than_its_patience_in_an_overloaded_week) {
  Trace trace;
  constexpr std::size_t kJobs = 24;
  for (std::size_t j = 0; j < kJobs; ++j) {
    trace.jobs.push_back({.name = std::to_string(j), .submitted = 1000.0 * (j % 6), .wanted = 1});
    const double seconds = 20000 + 8000.0 * static_cast<double>(j);
    trace.jobs.back().make = [seconds](const ModelOptions&) {
      return timed_job({.seconds = seconds, .wanted = 1, .min = 1, .max = 4});
    };
  }
  std::stable_sort(trace.jobs.begin(), trace.jobs.end(),
                   [](const TraceJob& a, const TraceJob& b) { return a.submitted < b.submitted; });
  for (const bool declared : {false, true}) {
    SimulationOptions options = cluster(2, 60);
    options.declared = declared;
    options.keep_timeline = true;
    const Outcome outcome = run(trace, "ours", options);
    EXPECT_GT(outcome.ended, 7 * 43200.0);
    // Those that starve at the same moment have their turns in as many decisions as they are.
    const double turns = options.interval * static_cast<double>(1 + kJobs);
    EXPECT_LE(longest_wait(outcome), scheduler::kPatienceSecondsMax + turns);
    EXPECT_GT(longest_wait(outcome), scheduler::kPatienceSecondsMin);
  }
}

TEST(Simulation, slower_nodes_failures_preemptions_and_a_service_cost_time) {
  const Trace trace = generated(5, 40);
  const SimulationOptions calm = cluster(8, 60);
  const double best = summarise(run(trace, "ours", calm), "", "").avg_jct_s;
  SimulationOptions slow = calm;
  for (scheduler::Node& node : slow.nodes) node.speed = 0.5;
  EXPECT_GT(summarise(run(trace, "ours", slow), "", "").avg_jct_s, 1.3 * best);
  const CapacityOptions troubles[] = {{.mean_between_failures_s = 20000},
                                      {.mean_between_preemptions_s = 20000},
                                      {.foreign_share = 0.8}};
  for (const CapacityOptions& trouble : troubles) {
    SimulationOptions options = calm;
    options.capacity = capacity_changes(options.nodes, trouble);
    ASSERT_FALSE(options.capacity.empty());
    EXPECT_GT(summarise(run(trace, "ours", options), "", "").avg_jct_s, best);
  }
}

TEST(Simulation, a_job_alone_takes_as_long_as_its_speed_says) {
  Trace trace;
  trace.jobs.push_back({.name = "one", .submitted = 10, .wanted = 4});
  trace.jobs[0].make = [](const ModelOptions&) {
    return timed_job({.seconds = 100, .wanted = 4, .min = 4, .max = 4});
  };
  const Outcome outcome = run(trace, "fifo", cluster(1, 0));
  EXPECT_DOUBLE_EQ(outcome.jobs[0].started, 10);
  EXPECT_NEAR(outcome.jobs[0].finished, 10 + 5 + 100, 1e-6);
  EXPECT_NEAR(outcome.jobs[0].fair_ratio, 1.05, 1e-6);
}

TEST(Simulation, ours_ends_jobs_sooner_than_equal_shares_and_queues) {
  const Trace trace = generated(11, 150, true);
  SimulationOptions options = cluster(8, 60);
  options.declared = true;
  const double ours = summarise(run(trace, "ours", options), "", "").avg_jct_s;
  for (const char* other : {"fifo", "tiresias", "edl", "wfs", "optimus"}) {
    EXPECT_LT(ours, summarise(run(trace, other, options), "", "").avg_jct_s) << other;
  }
}

TEST(Simulation, a_job_that_can_never_run_is_told) {
  Trace trace;
  trace.jobs.push_back({.name = "huge", .wanted = 64});
  trace.jobs[0].make = [](const ModelOptions&) {
    return timed_job({.seconds = 100, .wanted = 64, .min = 64, .max = 64});
  };
  const auto outcome = simulate(trace, **scheduler::find_policy("ours"), cluster(2, 60));
  ASSERT_FALSE(outcome.ok());
  EXPECT_NE(outcome.error().message.find("huge"), std::string::npos) << outcome.error().message;
}

TEST(Experiments, elastic_jobs_wait_less_and_use_more) {
  const auto pending = pending_experiment();
  ASSERT_TRUE(pending.ok());
  EXPECT_LT(pending->runs[1].summary.avg_wait_s, 0.2 * pending->runs[0].summary.avg_wait_s);
  const auto harvest = harvest_experiment();
  ASSERT_TRUE(harvest.ok()) << harvest.error().message;
  EXPECT_LT(harvest->rows[0]["cluster_utilisation"].get<double>(), 0.7);
  EXPECT_GE(harvest->rows[1]["cluster_utilisation"].get<double>(), 0.83);
}

TEST(Summary, percentiles_are_linear_between_values) {
  EXPECT_DOUBLE_EQ(percentile({1, 2, 3, 4}, 0.5), 2.5);
  EXPECT_DOUBLE_EQ(percentile({1, 2, 3, 4}, 1), 4);
  EXPECT_DOUBLE_EQ(percentile({}, 0.5), 0);
}

}  // namespace
}  // namespace edl::simulator
