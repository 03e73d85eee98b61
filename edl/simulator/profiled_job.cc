#include "edl/simulator/profiled_job.h"

#include <algorithm>
#include <cmath>

#include "edl/base/check.h"

namespace edl::simulator {
namespace {

constexpr std::uint32_t kEverySizeTo = 16;  // told; above it only whole nodes
constexpr std::uint32_t kLookAhead = 4;     // times the largest size tried

Placement packed(std::uint32_t workers, std::uint32_t node_slots) {
  Placement placement;
  while (workers > 0) {
    placement.push_back(std::min(workers, node_slots));
    workers -= placement.back();
  }
  return placement;
}

}  // namespace

ProfiledJob::ProfiledJob(const Application& application, const ProfiledOptions& options)
    : application_(application), options_(options) {}

ProfiledJob::Rate ProfiledJob::rate() const {
  const std::uint32_t batch = workers_in(placement_) * split_.local * (split_.accumulated + 1);
  Rate rate;
  rate.seconds = application_.step_seconds(placement_, split_.local);
  rate.seconds.step /= speed_;
  rate.seconds.sync /= speed_;
  rate.gradient = application_.gradient(batch, epoch_);
  const double compute = rate.seconds.step - rate.seconds.sync;
  rate.goodput = scheduler::gain_of(rate.gradient, batch, application_.batch.initial) /
                 (rate.seconds.step + compute * split_.accumulated);
  return rate;
}

void ProfiledJob::choose_batch() {
  const std::uint32_t workers = workers_in(placement_);
  const scheduler::BatchLimits& limits = application_.batch;
  if (options_.batch == 0 && !measured_.empty()) {
    split_ = scheduler::best_batch(time_, gradient_, limits,
                                   static_cast<std::uint32_t>(placement_.size()), workers);
  } else {
    const std::uint32_t first = std::max(limits.initial, limits.local_least * workers);
    split_ = scheduler::split_batch(options_.batch == 0 ? first : options_.batch, limits, workers);
  }
  const std::uint32_t parts = workers * (split_.accumulated + 1);
  split_.local = std::max(std::min(split_.local, limits.most / parts), 1U);
}

void ProfiledJob::place(const Placement& placement, double speed) {
  placement_ = placement;
  speed_ = speed;
  if (!placement_.empty()) choose_batch();
}

void ProfiledJob::learn(const Rate& rate) {
  if (gradient_.square != rate.gradient.square || gradient_.variance != rate.gradient.variance) {
    gradient_ = rate.gradient;
    told_is_old_ = true;
  }
  const auto nodes = static_cast<std::uint32_t>(placement_.size());
  const std::uint32_t workers = workers_in(placement_);
  if (!known_.emplace(std::tuple(nodes, workers, split_.local), true).second) return;
  tried_ = std::max(tried_, workers);
  measured_.push_back({nodes, workers, static_cast<double>(split_.local),
                       rate.seconds.step - rate.seconds.sync, rate.seconds.step});
  if (options_.batch == 0) time_ = scheduler::fit_step_time(measured_);
  told_is_old_ = true;
}

std::optional<double> ProfiledJob::run(double seconds) {
  if (placement_.empty()) return std::nullopt;
  double left = seconds;
  while (left > 0) {
    EDL_CHECK(epoch_ < application_.epochs);
    const Rate now = rate();
    learn(now);
    const double next = application_.progress_after(epoch_ + 1);
    if (progress_ + now.goodput * left < next) {
      progress_ += now.goodput * left;
      left = 0;
    } else {
      double took = (next - progress_) / now.goodput;
      if (options_.whole_seconds) took = std::nearbyint(took);
      left -= std::min(took, left);
      progress_ = next;
      ++epoch_;
      if (epoch_ == application_.epochs) return seconds - left;
    }
    choose_batch();
  }
  return std::nullopt;
}

double ProfiledJob::next_change() const {
  if (placement_.empty()) return std::numeric_limits<double>::infinity();
  const double next = application_.progress_after(epoch_ + 1);
  // A little later than the end, so that rounding never leaves a rest behind.
  return std::max((next - progress_) / rate().goodput * (1 + 1e-12), 1e-6);
}

void ProfiledJob::report(scheduler::Job& job, bool declared) {
  job.min = 1;
  job.tried = tried_;
  if (options_.batch != 0 && application_.kept_batch == 0) {
    tell_kept_batch(job, declared);
    return;
  }
  const std::uint32_t by_batch = application_.batch.most / application_.batch.local_least;
  job.max = std::max(std::min(application_.workers_max, by_batch), 1U);
  if (options_.batch != 0) {
    tell_kept_batch(job, declared);
    return;
  }
  if (declared) job.remaining = application_.progress_after(application_.epochs) - progress_;
  if (measured_.empty()) return;
  if (told_is_old_) tell_best_batches(job);
  job.throughput = told_;
}

void ProfiledJob::tell_best_batches(scheduler::Job& job) {
  told_.clear();
  const std::uint32_t most = std::min(job.max, std::max(kLookAhead * tried_, options_.node_slots));
  for (std::uint32_t workers = 1; workers <= most; ++workers) {
    if (workers > kEverySizeTo && workers % options_.node_slots != 0 && workers != most) continue;
    for (const std::uint32_t nodes : {1U, 2U}) {
      if (nodes > workers || (nodes == 1 && workers > options_.node_slots)) continue;
      const auto best = scheduler::best_batch(time_, gradient_, application_.batch, nodes, workers);
      told_.push_back({workers, nodes, best.goodput});
    }
  }
  told_is_old_ = false;
}

double ProfiledJob::kept_step_seconds(std::uint32_t workers) const {
  scheduler::BatchSplit split = scheduler::split_batch(options_.batch, application_.batch, workers);
  if (workers == 1 && split.accumulated == 0) {
    split.accumulated = 1;
    split.local = (split.local + 1) / 2;
  }
  const std::uint32_t parts = workers * (split.accumulated + 1);
  split.local = std::max(std::min(split.local, application_.batch.most / parts), 1U);
  const StepSeconds seconds =
      application_.step_seconds(packed(workers, options_.node_slots), split.local);
  return seconds.step + (seconds.step - seconds.sync) * split.accumulated;
}

void ProfiledJob::tell_kept_batch(scheduler::Job& job, bool declared) const {
  job.max = std::max(
      std::min(application_.workers_max, options_.batch / application_.batch.local_least), 1U);
  job.max = std::min(job.max, 64U);
  if (job.throughput.empty()) {
    for (std::uint32_t workers = 1; workers <= job.max; ++workers) {
      const std::uint32_t nodes = (workers + options_.node_slots - 1) / options_.node_slots;
      job.throughput.push_back({workers, nodes, 1 / kept_step_seconds(workers)});
    }
  }
  if (!declared) return;
  const std::uint32_t last = application_.epochs - 1;
  job.remaining = epoch_ >= last ? 1
                                 : application_.iterations(options_.batch, last) -
                                       application_.iterations(options_.batch, epoch_);
}

double ProfiledJob::alone_seconds(std::uint32_t workers, std::uint32_t node_slots) const {
  ProfiledJob copy(application_, {options_.batch, false, node_slots});
  copy.place(packed(std::min(workers, application_.workers_max), node_slots), 1);
  constexpr double kLongest = 1e9;
  return copy.run(kLongest).value_or(kLongest);
}

}  // namespace edl::simulator
