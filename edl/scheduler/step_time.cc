#include "edl/scheduler/step_time.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "edl/scheduler/minimise.h"

namespace edl::scheduler {
namespace {

constexpr double kLeast = 1e-8;
constexpr double kOverlapMax = 10;
constexpr double kOverlapPenalty = 1e-3;
constexpr double kPerWorkerPenalty = 1e-2;
constexpr double kRounding = 1e-12;  // keeps the root of a sum of squares smooth at 0

// The variables are logarithms of the six times, and the overlap as it is.
enum Variable { kComputeA, kComputeB, kSeveralA, kSeveralB, kOneA, kOneB, kOverlap, kVariables };
using Values = std::array<double, kVariables>;

class Errors {
 public:
  explicit Errors(std::span<const StepMeasurement> measured) : measured_(measured) {}

  double operator()(const std::vector<double>& x, std::vector<double>& slope) const {
    Values v{};
    for (int i = 0; i < kOverlap; ++i) v[i] = std::exp(x[i]);
    v[kOverlap] = x[kOverlap];
    Values by_compute{};
    Values by_step{};
    double compute_squares = 0;
    double step_squares = 0;
    for (const StepMeasurement& one : measured_) {
      add(one, v, by_compute, by_step, compute_squares, step_squares);
    }
    const auto n = static_cast<double>(measured_.size());
    const double compute_error = std::sqrt(compute_squares / n + kRounding);
    const double step_error = std::sqrt(step_squares / n + kRounding);
    for (int i = 0; i < kVariables; ++i) {
      slope[i] = by_compute[i] / (n * compute_error) + by_step[i] / (n * step_error);
      if (i != kOverlap) slope[i] *= v[i];
    }
    const double several = v[kSeveralB] / v[kSeveralA];
    const double one = v[kOneB] / v[kOneA];
    const double penalty = kPerWorkerPenalty * (several * several + one * one);
    slope[kSeveralB] += 2 * kPerWorkerPenalty * several * several;
    slope[kSeveralA] -= 2 * kPerWorkerPenalty * several * several;
    slope[kOneB] += 2 * kPerWorkerPenalty * one * one;
    slope[kOneA] -= 2 * kPerWorkerPenalty * one * one;
    const double overlap = v[kOverlap] - 1;
    slope[kOverlap] += 2 * kOverlapPenalty * overlap;
    return compute_error + step_error + penalty + kOverlapPenalty * overlap * overlap;
  }

 private:
  static void add(const StepMeasurement& one, const Values& v, Values& by_compute, Values& by_step,
                  double& compute_squares, double& step_squares) {
    const double compute = v[kComputeA] + v[kComputeB] * one.local_batch;
    const double extra = std::max(one.workers - 2.0, kLeast);
    const bool several = one.nodes > 1;
    const bool talks = one.workers > 1;
    const int a = several ? kSeveralA : kOneA;
    const int b = several ? kSeveralB : kOneB;
    const double talk = talks ? v[a] + v[b] * extra : kLeast + kLeast * extra;
    const double g = v[kOverlap];
    const double power_c = std::pow(compute, g);
    const double power_t = std::pow(talk, g);
    const double sum = power_c + power_t;
    const double step = std::log(sum) / g;
    const double off_compute = std::log(compute) - std::log(one.compute_s);
    const double off_step = step - std::log(one.step_s);
    compute_squares += off_compute * off_compute;
    step_squares += off_step * off_step;
    const double to_compute = power_c / compute / sum;
    by_compute[kComputeA] += off_compute / compute;
    by_compute[kComputeB] += off_compute / compute * one.local_batch;
    by_step[kComputeA] += off_step * to_compute;
    by_step[kComputeB] += off_step * to_compute * one.local_batch;
    if (talks) {
      const double to_talk = power_t / talk / sum;
      by_step[a] += off_step * to_talk;
      by_step[b] += off_step * to_talk * extra;
    }
    by_step[kOverlap] +=
        off_step *
        ((power_c * std::log(compute) + power_t * std::log(talk)) / (g * sum) - step / g);
  }

  std::span<const StepMeasurement> measured_;
};

struct Seen {
  bool one_batch_only = true;
  bool several_nodes = false;
  bool one_node_pairs = false;
  bool crowds = false;  // more than two workers
  double mean_compute_s = 0;
};

Seen look(std::span<const StepMeasurement> measured) {
  Seen seen;
  for (const StepMeasurement& one : measured) {
    seen.one_batch_only = seen.one_batch_only && one.local_batch == measured[0].local_batch;
    seen.several_nodes = seen.several_nodes || one.nodes > 1;
    seen.one_node_pairs = seen.one_node_pairs || (one.nodes == 1 && one.workers > 1);
    seen.crowds = seen.crowds || one.workers > 2;
    seen.mean_compute_s += one.compute_s / static_cast<double>(measured.size());
  }
  return seen;
}

Box bounds(const Seen& seen) {
  const double low = std::log(kLeast);
  const double high = std::log(1e6);
  Box box{std::vector<double>(kVariables, low), std::vector<double>(kVariables, high)};
  box.low[kOverlap] = 1;
  box.high[kOverlap] = kOverlapMax;
  const auto pin = [&](int variable, double value) {
    box.low[variable] = box.high[variable] = value;
  };
  if (seen.one_batch_only) pin(kComputeA, std::log(seen.mean_compute_s / 2));
  if (!seen.several_nodes) pin(kSeveralA, low);
  if (!seen.one_node_pairs) pin(kOneA, low);
  if (!seen.several_nodes || !seen.crowds) pin(kSeveralB, low);
  if (!seen.one_node_pairs || !seen.crowds) pin(kOneB, low);
  return box;
}

}  // namespace

double StepTime::compute(double local_batch) const {
  return compute_constant + compute_per_sample * local_batch;
}

double StepTime::step(std::uint32_t nodes, std::uint32_t workers, double local_batch,
                      std::uint32_t accumulated) const {
  const double grad = compute(local_batch);
  const double extra = std::max(workers - 2.0, kLeast);
  double talk = kLeast;
  if (nodes > 1) {
    talk = several_nodes_constant + several_nodes_per_worker * extra;
  } else if (workers > 1) {
    talk = one_node_constant + one_node_per_worker * extra;
  }
  // A quotient below one keeps large powers small.
  const double larger = std::max(grad, talk);
  const double quotient = std::min(grad, talk) / larger;
  const double together = larger * std::pow(1 + std::pow(quotient, overlap), 1 / overlap);
  return accumulated * grad + together;
}

StepTime fit_step_time(std::span<const StepMeasurement> measured) {
  const Seen seen = look(measured);
  const Box box = bounds(seen);
  std::vector<double> start(kVariables);
  for (int i = 0; i < kOverlap; ++i) start[i] = std::log(i % 2 == 0 ? 1e-1 : 1e-2);
  start[kOverlap] = 1 + 1e-3;
  const std::vector<double> x = minimise(Errors(measured), start, box);
  StepTime fit{std::exp(x[kComputeA]),
               std::exp(x[kComputeB]),
               std::exp(x[kSeveralA]),
               std::exp(x[kSeveralB]),
               std::exp(x[kOneA]),
               std::exp(x[kOneB]),
               x[kOverlap]};
  if (!seen.several_nodes) {
    fit.several_nodes_constant = std::max(fit.several_nodes_constant, 1.1 * fit.one_node_constant);
    fit.several_nodes_per_worker =
        std::max(fit.several_nodes_per_worker, 1.1 * fit.one_node_per_worker);
  }
  return fit;
}

}  // namespace edl::scheduler
