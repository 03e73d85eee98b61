// How long a change of a running job keeps its workers from training: a worker that joins, one that
// leaves, and `kill -9` of a follower and of the leader. The times of consecutive completed steps
// are what is measured; what the job says of itself stands beside it.
#include <stdlib.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <optional>

#include "bench/pauses/job.h"
#include "bench/table.h"
#include "edl/base/text.h"

namespace edl::bench {
namespace {

constexpr int kRepeats = 7;
constexpr int kWorkers = 2;  // and one that comes and goes
constexpr std::size_t kStepsBetween = 30;
constexpr std::size_t kStepsJudged = 60;  // for the median of a step

struct Size {
  std::string name;
  std::uint64_t ballast_bytes = 0;
  std::uint64_t work = 1;
};

// What one change cost, in milliseconds.
struct Cost {
  double step = 0;   // a median one before it
  double pause = 0;  // between the last step before and the first one after, less `step`
  double after = 0;  // from the kill to the first step after it
  double told = 0;   // the job's own pause_ms
};

double wall_seconds() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

double median_step_ms(const std::vector<SeenStep>& steps, std::size_t end) {
  std::vector<double> gaps;
  for (std::size_t i = end - std::min(end - 1, kStepsJudged); i < end; ++i) {
    gaps.push_back(1000 * (steps[i].at - steps[i - 1].at));
  }
  return median(gaps);
}

// Until a view with so many members has trained a while.
Result<void> settle(Job& job, std::size_t members) {
  std::uint64_t generation = 0;
  std::size_t from = 0;
  return job.wait([&] {
    if (job.generation() != generation) {
      generation = job.generation();
      from = job.steps().size();
    }
    const bool trains = !job.steps().empty() && job.steps().back().generation == generation;
    return trains && job.members().size() == members && job.steps().size() >= from + kStepsBetween;
  });
}

// The cost of the first view after `before` that has trained a step.
Result<Cost> cost_of(Job& job, std::uint64_t before, double since) {
  std::size_t first = job.steps().size();
  EDL_TRY(job.wait([&] {
    const auto& steps = job.steps();
    while (first < steps.size() && steps[first].generation <= before) ++first;
    return first < steps.size() && job.told_pause_ms(steps[first].generation) >= 0;
  }));
  const auto& steps = job.steps();
  Cost cost{.step = median_step_ms(steps, first)};
  cost.pause = std::max(0.0, 1000 * (steps[first].at - steps[first - 1].at) - cost.step);
  cost.after = 1000 * (steps[first].at - since);
  cost.told = job.told_pause_ms(steps[first].generation);
  return cost;
}

Result<Cost> scale_cost(Job& job, int workers) {
  const std::uint64_t before = job.generation();
  const double since = wall_seconds();
  EDL_TRY(job.scale(workers));
  EDL_TRY(const Cost cost, cost_of(job, before, since));
  EDL_TRY(settle(job, static_cast<std::size_t>(workers)));
  return cost;
}

// The killed worker is replaced; that is waited for.
Result<Cost> kill_cost(Job& job, bool kills_leader) {
  EDL_TRY(const std::string leader, job.leader());
  const auto& members = job.members();
  const auto follower =
      std::find_if(members.rbegin(), members.rend(), [&](const auto& id) { return id != leader; });
  const std::size_t count = members.size();
  const std::uint64_t before = job.generation();
  const pid_t victim = job.pid_of(kills_leader ? leader : *follower);
  const double since = wall_seconds();
  ::kill(victim, SIGKILL);
  EDL_TRY(const Cost cost, cost_of(job, before, since));
  EDL_TRY(settle(job, count));
  return cost;
}

struct Change {
  std::string name;
  std::vector<Cost> costs{};
};

double rounded(double value) {
  return static_cast<double>(static_cast<std::int64_t>(value * 100)) / 100;
}

// The targets are those of medians; a kill has a second one that no repeat may pass.
void tell(Table& table, const Size& size, const Change& change) {
  constexpr double kKillMs = 100;
  constexpr double kKillMaxMs = 1000;
  constexpr double kJoinMs = 20;
  const auto all = [&](double Cost::*field) {
    std::vector<double> values;
    for (const Cost& cost : change.costs) values.push_back(cost.*field);
    return values;
  };
  const auto middle = [&](double Cost::*field) { return median(all(field)); };
  const auto greatest = [&](double Cost::*field) { return std::ranges::max(all(field)); };
  const double step = middle(&Cost::step);
  const bool is_kill = change.name.starts_with("kill");
  const double target = is_kill ? kKillMs + step : change.name == "join" ? kJoinMs + step : step;
  const double measured = middle(is_kill ? &Cost::after : &Cost::pause);
  const bool is_met = measured <= target && (!is_kill || greatest(&Cost::after) <= kKillMaxMs);
  table.row({{"change", change.name},
             {"state", size.name},
             {"repeats", change.costs.size()},
             {"step_ms", rounded(step)},
             {"pause_ms", rounded(middle(&Cost::pause))},
             {"pause_max_ms", rounded(greatest(&Cost::pause))},
             {"pause_steps", rounded(middle(&Cost::pause) / step)},
             {"after_ms", is_kill ? Json(rounded(middle(&Cost::after))) : Json()},
             {"after_max_ms", is_kill ? Json(rounded(greatest(&Cost::after))) : Json()},
             {"told_ms", rounded(middle(&Cost::told))},
             {"target_ms", rounded(target)},
             {"met", is_met}});
}

Result<void> measure(Job& job, std::vector<Change>& changes) {
  EDL_TRY(settle(job, kWorkers));
  for (int i = 0; i < kRepeats; ++i) {
    EDL_TRY(changes[0].costs.emplace_back(), scale_cost(job, kWorkers + 1));
    EDL_TRY(changes[1].costs.emplace_back(), kill_cost(job, false));
    EDL_TRY(changes[2].costs.emplace_back(), kill_cost(job, true));
    EDL_TRY(changes[3].costs.emplace_back(), scale_cost(job, kWorkers));
  }
  return {};
}

void fill(Table& table) {
  const auto self = std::filesystem::read_symlink("/proc/self/exe");
  const std::string edl = self.parent_path().parent_path() / "bin" / "edl";
  char name[] = "/tmp/edl-pauses-XXXXXX";
  const std::string folder = ::mkdtemp(name);
  const std::vector<Size> sizes{
      {"5 KB", 0, 100}, {"10 MB", 10'000'000, 20}, {"100 MB", 100'000'000, 1}};
  for (const Size& size : sizes) {
    std::vector<Change> changes{{"join"}, {"kill_follower"}, {"kill_leader"}, {"leave"}};
    Job job({.edl = edl,
             .folder = text(folder, "/", size.ballast_bytes),
             .workers = kWorkers,
             .ballast_bytes = size.ballast_bytes,
             .work = size.work});
    const auto done = measure(job, changes);
    if (!done.ok()) {
      std::fprintf(stderr, "pauses at %s: %s\n", size.name.c_str(), done.error().message.c_str());
    }
    for (Change& change : changes) {
      std::erase_if(change.costs, [](const Cost& cost) { return cost.step == 0; });
      if (!change.costs.empty()) tell(table, size, change);
    }
    if (!done.ok()) return;
  }
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace edl::bench

int main(int argc, char** argv) {
  return edl::bench::run(argc, argv,
                         {"change", "state", "repeats", "step_ms", "pause_ms", "pause_max_ms",
                          "pause_steps", "after_ms", "after_max_ms", "told_ms", "target_ms", "met"},
                         edl::bench::fill);
}
