#include "edl/scheduler/goodput.h"

#include <algorithm>
#include <cmath>

namespace edl::scheduler {
namespace {

constexpr int kCandidates = 50;
constexpr double kSlack = 1e-8;  // what rounding may add before a ceiling

double ceiling(double value) { return std::ceil(value - kSlack); }

}  // namespace

double gain_of(const Gradient& gradient, double batch, double initial) {
  const double scale = batch / initial;
  const double below = gradient.variance / scale + gradient.square;
  return below > 0 ? (gradient.variance + gradient.square) / below : 1;
}

BatchSplit best_batch(const StepTime& time, const Gradient& gradient, const BatchLimits& limits,
                      std::uint32_t nodes, std::uint32_t workers) {
  const double least =
      std::max<double>(limits.initial, static_cast<double>(limits.local_least) * workers);
  const double ratio = std::log(limits.most / least) / (kCandidates - 1);
  BatchSplit best;
  double before = 0;
  for (int i = 0; i < kCandidates; ++i) {
    const double batch = i + 1 == kCandidates ? limits.most : least * std::exp(ratio * i);
    const double share = batch / workers;
    double accumulated = std::max(ceiling(share / limits.local_most) - 1, 0.0);
    // One micro batch alone says nothing about the noise of its gradient.
    if (workers == 1 && share > limits.initial + kSlack) accumulated = std::max(accumulated, 1.0);
    const double local = ceiling(share / (accumulated + 1));
    const double id = local * 65536 + accumulated;
    if (local < limits.local_least || local > limits.local_most || id == before) continue;
    before = id;
    const double all = workers * local * (accumulated + 1);
    const double step = time.step(nodes, workers, local, static_cast<std::uint32_t>(accumulated));
    const double goodput = gain_of(gradient, all, limits.initial) / step;
    if (goodput > best.goodput) {
      best = {static_cast<std::uint32_t>(local), static_cast<std::uint32_t>(accumulated), goodput};
    }
  }
  return best;
}

BatchSplit split_batch(std::uint32_t batch, const BatchLimits& limits, std::uint32_t workers) {
  const double share = ceiling(static_cast<double>(batch) / workers);
  double accumulated = ceiling(share / limits.local_most) - 1;
  if (workers == 1 && batch > limits.initial) accumulated = std::max(1.0, accumulated);
  const double local = ceiling(share / (accumulated + 1));
  return {static_cast<std::uint32_t>(local), static_cast<std::uint32_t>(accumulated), 0};
}

}  // namespace edl::scheduler
