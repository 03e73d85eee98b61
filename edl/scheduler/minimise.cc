#include "edl/scheduler/minimise.h"

#include <algorithm>
#include <cmath>

namespace edl::scheduler {
namespace {

using Vector = std::vector<double>;

constexpr double kEnough = 1e-9;  // of relative gain in a step
constexpr double kArmijo = 1e-4;
constexpr int kHalvingsMax = 30;
constexpr double kLongestStep = 3;  // of any variable at once

double dot(const Vector& a, const Vector& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

class Search {
 public:
  Search(const Function& function, Vector start, const Box& box)
      : function_(function), box_(box), x_(std::move(start)), slope_(x_.size()) {
    for (std::size_t i = 0; i < x_.size(); ++i) x_[i] = std::clamp(x_[i], box.low[i], box.high[i]);
    value_ = function_(x_, slope_);
    forget();
  }

  Vector run(int steps_max) {
    int idle = 0;
    for (int step = 0; step < steps_max && idle < 2; ++step) {
      const double before = value_;
      const bool moved = go();
      // A curvature that leads nowhere is forgotten once before giving up.
      if (!moved || before - value_ <= kEnough * std::abs(before)) {
        ++idle;
        forget();
      } else {
        idle = 0;
      }
    }
    return x_;
  }

 private:
  void forget() {
    const std::size_t n = x_.size();
    inverse_.assign(n, Vector(n, 0));
    for (std::size_t i = 0; i < n; ++i) inverse_[i][i] = 1;
    fresh_ = true;
  }
  bool pressed(std::size_t i) const {
    if (box_.low[i] == box_.high[i]) return true;
    return (x_[i] <= box_.low[i] && slope_[i] > 0) || (x_[i] >= box_.high[i] && slope_[i] < 0);
  }
  Vector direction() const {
    Vector way(x_.size(), 0);
    double longest = 0;
    for (std::size_t i = 0; i < x_.size(); ++i) {
      if (pressed(i)) continue;
      for (std::size_t j = 0; j < x_.size(); ++j) {
        if (!pressed(j)) way[i] -= inverse_[i][j] * slope_[j];
      }
      longest = std::max(longest, std::abs(way[i]));
    }
    if (longest > kLongestStep) {
      for (double& part : way) part *= kLongestStep / longest;
    }
    return way;
  }
  bool go() {
    Vector way = direction();
    if (dot(way, slope_) >= 0) {
      forget();
      way = direction();
    }
    double length = 1;
    for (int tries = 0; tries < kHalvingsMax; ++tries, length /= 2) {
      Vector x = x_;
      for (std::size_t i = 0; i < x.size(); ++i) {
        x[i] = std::clamp(x[i] + length * way[i], box_.low[i], box_.high[i]);
      }
      Vector moved(x.size());
      for (std::size_t i = 0; i < x.size(); ++i) moved[i] = x[i] - x_[i];
      Vector slope(x.size());
      const double value = function_(x, slope);
      if (std::isfinite(value) && value <= value_ + kArmijo * dot(moved, slope_) &&
          value < value_) {
        learn(moved, slope);
        x_ = std::move(x);
        slope_ = std::move(slope);
        value_ = value;
        return true;
      }
    }
    return false;
  }
  // The update of Broyden, Fletcher, Goldfarb and Shanno of the inverse curvature.
  void learn(const Vector& moved, const Vector& slope) {
    const std::size_t n = moved.size();
    Vector change(n);
    for (std::size_t i = 0; i < n; ++i) change[i] = slope[i] - slope_[i];
    const double curvature = dot(moved, change);
    if (curvature <= 1e-12) return;
    if (fresh_) {
      const double scale = curvature / dot(change, change);
      for (std::size_t i = 0; i < n; ++i) inverse_[i][i] = scale;
      fresh_ = false;
    }
    Vector turned(n, 0);
    for (std::size_t i = 0; i < n; ++i) turned[i] = dot(inverse_[i], change);
    const double twice = (1 + dot(change, turned) / curvature) / curvature;
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        inverse_[i][j] +=
            twice * moved[i] * moved[j] - (turned[i] * moved[j] + moved[i] * turned[j]) / curvature;
      }
    }
  }

  const Function& function_;
  const Box& box_;
  Vector x_;
  Vector slope_;
  double value_ = 0;
  std::vector<Vector> inverse_;
  bool fresh_ = true;
};

}  // namespace

std::vector<double> minimise(const Function& function, std::vector<double> start, const Box& box,
                             int steps_max) {
  return Search(function, std::move(start), box).run(steps_max);
}

}  // namespace edl::scheduler
