// How long one plan takes by the number of jobs and slots, from an empty cluster (cold) and once
// jobs run (warm), and where most that run are frozen and others come before them; and a week of a
// cluster of 10,000 slots.
//   scheduler [--json=FILE] [--svg=FILE]        the picture of docs/reference/scheduler.md
#include <algorithm>
#include <fstream>
#include <optional>

#include "bench/table.h"
#include "edl/base/random.h"
#include "edl/base/text.h"
#include "edl/os/posix/system.h"
#include "edl/scheduler/policy.h"
#include "edl/simulator/formats.h"
#include "edl/simulator/generator.h"
#include "edl/simulator/plot.h"
#include "edl/simulator/scaling.h"
#include "edl/simulator/summary.h"

namespace edl {
namespace {

constexpr std::uint32_t kNodeSlots = 8;

scheduler::Snapshot cluster(std::uint32_t slots, std::uint32_t jobs) {
  scheduler::Snapshot out;
  out.now = 100000;
  for (std::uint32_t n = 0; n < slots / kNodeSlots; ++n) {
    out.nodes.push_back({.name = text("n", n), .slots = kNodeSlots});
  }
  Random random(slots + jobs);
  for (std::uint32_t j = 0; j < jobs; ++j) {
    scheduler::Job job{.name = text("j", j), .max = 64};
    job.submitted = static_cast<double>(random.below(100000));
    job.since = job.submitted;
    job.remaining = static_cast<double>(60 + random.below(100000));
    job.change_cost_s = 5;
    job.tried = 64;
    const double serial = static_cast<double>(random.between(5, 80)) / 1000;
    for (std::uint32_t k = 1; k <= 64; k *= 2) {
      job.throughput.push_back({k, k > kNodeSlots ? 2U : 1U, simulator::speed_up(serial, k)});
    }
    out.jobs.push_back(std::move(job));
  }
  return out;
}

struct Times {
  double cold_ms = 0;
  double warm_ms = 0;
};

Times plan_times(std::uint32_t slots, std::uint32_t jobs) {
  scheduler::Snapshot snapshot = cluster(slots, jobs);
  const scheduler::Policy& ours = **scheduler::find_policy("ours");
  Times times;
  scheduler::Plan plan;
  times.cold_ms = 1000 * bench::seconds_of([&] { plan = scheduler::plan(snapshot, ours); });
  for (std::size_t j = 0; j < snapshot.jobs.size(); ++j) {
    snapshot.jobs[j].current = plan.allocations[j].workers;
  }
  snapshot.jobs.erase(snapshot.jobs.begin(), snapshot.jobs.begin() + jobs / 100);
  snapshot.now += 60;
  times.warm_ms = 1000 * bench::seconds_of([&] { plan = scheduler::plan(snapshot, ours); });
  return times;
}

// Half of the jobs run, on half of the slots and mostly frozen, and of the others many have a
// higher priority: the rules look for room for each of these.
double frozen_ms(std::uint32_t slots, std::uint32_t jobs) {
  scheduler::Snapshot snapshot = cluster(slots, jobs);
  Random random(slots);
  const std::uint32_t nodes = slots / kNodeSlots;
  const std::uint32_t running = std::min(jobs / 2, nodes);
  for (std::uint32_t j = 0; j < jobs; ++j) {
    scheduler::Job& job = snapshot.jobs[j];
    if (j < running) {
      job.current = {{j, kNodeSlots}};
      if (!random.once_in(10)) job.frozen_until = snapshot.now + 60;
    } else {
      job.priority = random.once_in(2) ? 1 : 0;
    }
  }
  scheduler::Plan plan;
  const scheduler::Policy& ours = **scheduler::find_policy("ours");
  return 1000 * bench::seconds_of([&] { plan = scheduler::plan(snapshot, ours); });
}

// A week of arrivals; how much of the cluster they use is in the row.
void week(bench::Table& table) {
  constexpr std::uint64_t kJobs = 60000;
  const std::string words =
      simulator::generate_trace({.seed = 1, .jobs = kJobs, .mean_gap_s = 7 * 86400.0 / kJobs});
  const auto sink = silent_log_sink();
  const auto system = os::posix_system({.log_sink = sink.get()});
  const simulator::Trace trace =
      simulator::kSyntheticFormat.read(system->disk(), words, "").value();
  simulator::SimulationOptions options{.change_seconds = 5, .declared = true};
  for (std::uint32_t n = 0; n < 1250; ++n) {
    options.nodes.push_back({.name = text("n", n), .slots = kNodeSlots});
  }
  std::optional<simulator::Outcome> outcome;
  const double seconds = bench::seconds_of([&] {
    outcome = simulator::simulate(trace, **scheduler::find_policy("ours"), options).value();
  });
  const auto summary = simulator::summarise(*outcome, "ours", "week");
  table.row({{"what", "week of 10000 slots"},
             {"slots", 10000},
             {"jobs", kJobs},
             {"seconds", seconds},
             {"utilisation", summary.utilisation}});
}

void fill(bench::Table& table, const std::optional<std::string>& svg) {
  std::vector<simulator::Curve> curves{
      {"jobs = slots, cold", {}}, {"jobs = slots, warm", {}}, {"jobs = slots / 10, warm", {}}};
  for (const std::uint32_t slots : {1000U, 3200U, 10000U, 32000U, 100000U}) {
    for (const std::uint32_t part : {1U, 10U}) {
      const Times times = plan_times(slots, slots / part);
      table.row({{"what", "plan"},
                 {"slots", slots},
                 {"jobs", slots / part},
                 {"cold_ms", times.cold_ms},
                 {"warm_ms", times.warm_ms},
                 {"frozen_ms", frozen_ms(slots, slots / part)}});
      if (part == 1) curves[0].points.emplace_back(slots, times.cold_ms);
      curves[part == 1 ? 1 : 2].points.emplace_back(slots, times.warm_ms);
    }
  }
  week(table);
  if (svg) {
    std::ofstream(*svg) << simulator::line_plot({.title = "Time of one plan",
                                                 .x = "slots",
                                                 .y = "ms",
                                                 .logarithmic_x = true,
                                                 .logarithmic_y = true},
                                                curves);
  }
}

}  // namespace
}  // namespace edl

int main(int argc, char** argv) {
  const std::optional<std::string> svg = edl::bench::take_svg(argc, argv);
  return edl::bench::run(
      argc, argv,
      {"what", "slots", "jobs", "cold_ms", "warm_ms", "frozen_ms", "seconds", "utilisation"},
      [&](edl::bench::Table& table) { edl::fill(table, svg); });
}
