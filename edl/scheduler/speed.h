// How fast a job is with so many workers on so many nodes: its reported points, and in between and
// beyond them what they make likely.
#pragma once

#include <cstdint>
#include <vector>

#include "edl/scheduler/snapshot.h"

namespace edl::scheduler {

// Between two points the time of a step is linear in 1/workers, which is exact for a job that has a
// share of work that does not scale. Beyond the last point the same line goes on. Sizes below the
// first point scale without loss: a job that never said anything is as fast as it has workers.
// Points on one node and on several are two curves; one that is empty takes the other's answers.
class SpeedCurve {
 public:
  explicit SpeedCurve(const Job& job);

  double at(std::uint32_t workers, std::uint32_t nodes) const;

 private:
  struct Point {
    double workers;
    double per_s;
  };
  using Curve = std::vector<Point>;

  static double on(const Curve& curve, double workers);

  std::uint32_t logical_workers_;
  Curve one_node_;
  Curve several_nodes_;
};

}  // namespace edl::scheduler
