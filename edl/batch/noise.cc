#include "edl/batch/noise.h"

#include <algorithm>
#include <cmath>

namespace edl::batch {
namespace {

constexpr double kNewest = 0.05;  // weight of the newest measurement

}  // namespace

// The squared norm of a mean over b samples is signal + variance / b, on average. Parts and the
// whole give it for two sizes; for parts of unequal sizes 1 / b is averaged like the norms.
void NoiseScale::measure(std::span<const PartNorm> parts, double whole) {
  std::uint64_t all = 0;
  double inverse = 0;
  double small = 0;
  std::uint64_t count = 0;
  for (const PartNorm& part : parts) {
    if (part.samples == 0) continue;
    all += part.samples;
    inverse += 1 / static_cast<double>(part.samples);
    small += part.squared_norm;
    ++count;
  }
  if (count < 2 || !std::isfinite(small) || !std::isfinite(whole)) return;
  inverse /= static_cast<double>(count);
  small /= static_cast<double>(count);
  const double inverse_all = 1 / static_cast<double>(all);
  const double variance = (small - whole) / (inverse - inverse_all);
  const double signal = whole - variance * inverse_all;
  ++measured_;
  const double weight = std::max(kNewest, 1 / static_cast<double>(measured_));
  signal_ += weight * (signal - signal_);
  variance_ += weight * (variance - variance_);
}

std::optional<double> NoiseScale::samples() const {
  if (measured_ < kMeasuredMin || signal_ <= 0 || variance_ <= 0) return std::nullopt;
  return variance_ / signal_;
}

}  // namespace edl::batch
