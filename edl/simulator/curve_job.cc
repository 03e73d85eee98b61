#include "edl/simulator/curve_job.h"

#include <algorithm>
#include <limits>

namespace edl::simulator {
namespace {

scheduler::SpeedCurve curve_of(const CurveOptions& options) {
  scheduler::Job job;
  job.throughput = options.speeds;
  job.logical_workers = options.logical_workers;
  return scheduler::SpeedCurve(job);
}

// Beyond what was measured a job is not faster than at its largest size.
std::uint32_t within(const CurveOptions& options, std::uint32_t workers) {
  return std::min(workers, options.max);
}

}  // namespace

CurveJob::CurveJob(const CurveOptions& options)
    : options_(options), curve_(curve_of(options)), left_(options.work) {}

void CurveJob::place(const Placement& placement, double speed) {
  const std::uint32_t workers = workers_in(placement);
  per_s_ =
      speed * curve_.at(within(options_, workers), static_cast<std::uint32_t>(placement.size()));
  tried_ = std::max(tried_, workers);
}

std::optional<double> CurveJob::run(double seconds) {
  if (per_s_ <= 0) return std::nullopt;
  const double needs = left_ / per_s_;
  if (needs <= seconds) {
    left_ = 0;
    return needs;
  }
  left_ -= per_s_ * seconds;
  return std::nullopt;
}

double CurveJob::next_change() const {
  if (per_s_ <= 0) return std::numeric_limits<double>::infinity();
  // Never so little that a clock of seconds would not move.
  return std::max(left_ / per_s_ * (1 + 1e-12), 1e-6);
}

void CurveJob::report(scheduler::Job& job, bool declared) {
  job.min = options_.min;
  job.max = options_.max;
  job.wanted = options_.wanted;
  job.logical_workers = options_.logical_workers;
  job.tried = std::max(tried_, options_.max);  // its curve is known
  if (job.throughput.empty()) job.throughput = options_.speeds;
  if (declared) job.remaining = left_;
}

double CurveJob::alone_seconds(std::uint32_t workers, std::uint32_t node_slots) const {
  workers = std::clamp(workers, options_.min, options_.max);
  return options_.work / curve_.at(workers, (workers + node_slots - 1) / node_slots);
}

}  // namespace edl::simulator
