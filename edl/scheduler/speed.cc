#include "edl/scheduler/speed.h"

#include <algorithm>

namespace edl::scheduler {

SpeedCurve::SpeedCurve(const Job& job) : logical_workers_(job.logical_workers) {
  for (const SpeedPoint& point : job.throughput) {
    if (point.workers == 0 || !(point.per_s > 0)) continue;
    Curve& curve = point.nodes > 1 ? several_nodes_ : one_node_;
    curve.push_back({static_cast<double>(point.workers), point.per_s});
  }
  for (Curve* curve : {&one_node_, &several_nodes_}) {
    const auto fewer = [](const Point& a, const Point& b) { return a.workers < b.workers; };
    if (!std::is_sorted(curve->begin(), curve->end(), fewer)) {
      std::stable_sort(curve->begin(), curve->end(), fewer);
    }
    // Of several points of one size the first counts: jobs report their best placement first.
    const auto same = [](const Point& a, const Point& b) { return a.workers == b.workers; };
    curve->erase(std::unique(curve->begin(), curve->end(), same), curve->end());
  }
}

double SpeedCurve::at(std::uint32_t workers, std::uint32_t nodes) const {
  if (workers == 0) return 0;
  const double useful = useful_size(logical_workers_, workers);
  const Curve& here = nodes > 1 ? several_nodes_ : one_node_;
  const Curve& other = nodes > 1 ? one_node_ : several_nodes_;
  // Several nodes are never reported below two workers, so what is below asks the single node.
  const bool unknown = here.empty() || (useful < here.front().workers && !other.empty());
  return on(unknown ? other : here, useful);
}

double SpeedCurve::on(const Curve& curve, double workers) {
  if (curve.empty()) return workers;
  if (workers <= curve.front().workers) {
    return curve.front().per_s * workers / curve.front().workers;
  }
  if (curve.size() == 1) return curve.front().per_s * workers / curve.front().workers;
  auto above = std::lower_bound(curve.begin(), curve.end(), workers,
                                [](const Point& p, double wanted) { return p.workers < wanted; });
  if (above != curve.end() && above->workers == workers) return above->per_s;
  const bool beyond = above == curve.end();
  if (beyond) --above;
  const Point& a = *(above - 1);
  const Point& b = *above;
  const double share = (1 / workers - 1 / a.workers) / (1 / b.workers - 1 / a.workers);
  const double time = 1 / a.per_s + share * (1 / b.per_s - 1 / a.per_s);
  // A line that would come down to no time at all stays at the last point's efficiency.
  const double least = 1 / (b.per_s * workers / b.workers);
  return 1 / (beyond ? std::max(time, least) : time);
}

}  // namespace edl::scheduler
