#include "edl/batch/goodput.h"

#include <algorithm>
#include <cmath>

#include "edl/base/text.h"

namespace edl::batch {
namespace {

// Sizes to look at lie a quarter of a doubling apart.
constexpr double kStride = 1.1892071150027210667;

std::uint64_t rounded(double batch, const BatchBounds& bounds) {
  const double v = bounds.logical_workers;
  const auto whole = static_cast<std::uint64_t>(std::round(batch / v) * v);
  return std::clamp(whole, bounds.least, bounds.most);
}

}  // namespace

double efficiency(double noise_scale, std::uint64_t base, std::uint64_t global) {
  return (noise_scale + static_cast<double>(base)) / (noise_scale + static_cast<double>(global));
}

std::uint64_t batch_at_efficiency(double noise_scale, std::uint64_t base, double least) {
  const double most = (noise_scale + static_cast<double>(base)) / least - noise_scale;
  return std::max(base, static_cast<std::uint64_t>(most));
}

double goodput(const StepTime& time, double noise_scale, std::uint64_t base, std::uint64_t global) {
  const auto samples = static_cast<double>(global);
  const double step = time.fixed_seconds + time.seconds_per_sample * samples;
  return samples / step * efficiency(noise_scale, base, global);
}

std::optional<BatchChoice> better_batch(const StepTime& time, double noise_scale,
                                        const BatchBounds& bounds, std::uint64_t present) {
  if (time.seconds_per_sample <= 0 || time.fixed_seconds < 0) return std::nullopt;
  const double now = goodput(time, noise_scale, bounds.least, present);
  BatchChoice best{.global = present};
  for (auto at = static_cast<double>(bounds.least);; at *= kStride) {
    const std::uint64_t global = rounded(at, bounds);
    const double gain = goodput(time, noise_scale, bounds.least, global) / now;
    if (gain > best.gain) best = {.global = global, .gain = gain};
    if (at >= static_cast<double>(bounds.most)) break;
  }
  if (best.gain < kGainMin) return std::nullopt;
  best.reason = text("a ", best.global > present ? "larger" : "smaller", " batch than ", present,
                     " trains ", static_cast<int>(std::lround((best.gain - 1) * 100)),
                     " % more: the noise scale is ", std::llround(noise_scale), " samples");
  return best;
}

}  // namespace edl::batch
