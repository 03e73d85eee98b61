#include "edl/simulator/alone.h"

#include <algorithm>
#include <cmath>

#include "edl/base/json_object.h"
#include "edl/base/random.h"
#include "edl/base/text.h"
#include "edl/scheduler/speed.h"

namespace edl::simulator {
namespace {

constexpr double kStepsMax = 1e8;
constexpr std::uint64_t kLuck = 1 << 20;

class Alone {
 public:
  Alone(const scheduler::Job& job, const AloneOptions& options)
      : options_(options), curve_(job), scaler_(options.rules), random_(options.seed) {
    left_ = std::max<std::uint64_t>(1, std::llround(*job.remaining));
    const std::uint32_t wanted = options.start > 0 ? options.start : job.wanted;
    workers_ = std::clamp(wanted, options.rules.min, options.rules.max);
  }

  AloneOutcome run() {
    while (left_ > 0) {
      const std::uint64_t steps = std::min(left_, options_.rules.every_steps);
      for (std::uint64_t step = 0; step < steps; ++step) measure();
      left_ -= steps;
      out_.steps += static_cast<double>(steps);
      const scheduler::ScaleDecision next = scaler_.decide(workers_, left_);
      if (next.workers != workers_ || left_ == 0) {
        out_.decisions.push_back({out_.seconds, workers_, next.workers, next.reason});
      }
      if (next.workers != workers_ && left_ > 0) change_to(next.workers);
    }
    out_.learned = scaler_.learned();
    return std::move(out_);
  }

 private:
  void measure() {
    const std::uint32_t nodes = (workers_ + options_.node_slots - 1) / options_.node_slots;
    const double luck = static_cast<double>(random_.below(kLuck)) / kLuck * 2 - 1;
    const double seconds = (1 + options_.noise * luck) / curve_.at(workers_, nodes);
    scaler_.measured(workers_, seconds);
    pass(seconds);
  }
  void change_to(std::uint32_t workers) {
    workers_ = workers;
    pass(options_.change_seconds);
  }
  void pass(double seconds) {
    out_.seconds += seconds;
    out_.worker_seconds += seconds * workers_;
  }

  const AloneOptions& options_;
  scheduler::SpeedCurve curve_;
  scheduler::Autoscaler scaler_;
  Random random_;
  std::uint64_t left_ = 0;
  std::uint32_t workers_ = 1;
  AloneOutcome out_;
};

}  // namespace

Result<AloneOutcome> run_alone(const TraceJob& job, const AloneOptions& options) {
  scheduler::Job facts{.name = job.name, .wanted = job.wanted};
  job.make({.node_slots = options.node_slots})->report(facts, true);
  if (!facts.remaining || !(*facts.remaining <= kStepsMax)) {
    return Error{Code::kInvalid, text("job ", job.name, " has more than ", kStepsMax, " steps")};
  }
  AloneOptions with_limits = options;
  with_limits.rules.min = facts.min;
  with_limits.rules.max = std::max(facts.min, std::min(facts.max, options.workers_max));
  with_limits.rules.logical_workers = facts.logical_workers;
  if (facts.wanted == 0) facts.wanted = job.wanted;
  return Alone(facts, with_limits).run();
}

std::vector<Json> alone_rows(const AloneOutcome& outcome) {
  std::vector<Json> rows;
  for (const AloneDecision& one : outcome.decisions) {
    rows.push_back(json_object(
        {{"at_s", one.at}, {"from", one.from}, {"to", one.to}, {"reason", one.reason}}));
  }
  for (const auto& [workers, one] : outcome.learned) {
    rows.push_back(json_object({{"workers", workers}, {"mean", one.mean}, {"count", one.count}}));
  }
  rows.push_back(json_object({{"steps", outcome.steps},
                              {"seconds", outcome.seconds},
                              {"worker_seconds", outcome.worker_seconds}}));
  return rows;
}

}  // namespace edl::simulator
