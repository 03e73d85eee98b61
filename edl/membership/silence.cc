#include "edl/membership/silence.h"

#include <algorithm>
#include <vector>

namespace edl::membership {

void Silence::on_step(Duration step) {
  steps_.push_back(step);
  median_.reset();
  if (steps_.size() > kWindow) steps_.pop_front();
}

Duration Silence::median_step() const {
  if (steps_.empty()) return Duration::zero();
  if (median_) return *median_;
  std::vector<Duration> sorted(steps_.begin(), steps_.end());
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  median_ = *middle;
  return *middle;
}

Duration Silence::quiet_step() const {
  if (steps_.empty()) return Duration::zero();
  const auto few = static_cast<std::ptrdiff_t>(std::min(steps_.size(), kLastFew));
  return *std::min_element(steps_.end() - few, steps_.end());
}

Duration Silence::limit() const {
  if (steps_.size() < 10) return kAtFirst;
  const auto learned =
      Duration(static_cast<Duration::rep>(steps_max_ * static_cast<double>(median_step().count())));
  return std::clamp(learned, kLeast, kMost);
}

}  // namespace edl::membership
