#include "edl/simulator/triangles.h"

#include <gtest/gtest.h>

#include <cmath>

namespace edl::simulator {
namespace {

// Numbers of nodes and workers as they are measured: more and more of both.
std::vector<PlanePoint> measured() {
  std::vector<PlanePoint> points;
  for (const int nodes : {1, 2, 4, 8}) {
    for (int workers = nodes; workers <= 4 * nodes; workers += nodes) {
      points.push_back({static_cast<double>(nodes), static_cast<double>(workers)});
    }
  }
  return points;
}

double value(const std::vector<PlanePoint>& points, const PlanePoint& place,
             double (*of)(const PlanePoint&)) {
  double sum = 0;
  for (const auto& [point, share] : Triangles(points).at(place)) sum += share * of(points[point]);
  return sum;
}

TEST(Triangles, a_plane_is_met_everywhere) {
  const auto plane = [](const PlanePoint& p) { return 3 * p.x - 2 * p.y + 1; };
  const std::vector<PlanePoint> points = measured();
  for (double nodes = 1; nodes <= 8; ++nodes) {
    for (double workers = nodes; workers <= 4 * nodes; ++workers) {
      const PlanePoint place{nodes, workers};
      EXPECT_NEAR(value(points, place, plane), plane(place), 1e-9) << nodes << ", " << workers;
    }
  }
}

TEST(Triangles, a_measured_point_is_its_own) {
  const auto curved = [](const PlanePoint& p) { return p.x * p.x * p.y; };
  const std::vector<PlanePoint> points = measured();
  for (const PlanePoint& point : points) {
    EXPECT_NEAR(value(points, point, curved), curved(point), 1e-9);
  }
}

TEST(Triangles, near_points_count_and_far_ones_do_not) {
  const std::vector<PlanePoint> points = {{0, 0}, {0, 2}, {3, 1}, {100, 1}};
  for (const auto& [point, share] : Triangles(points).at({1, 1})) EXPECT_LT(point, 3u);
}

TEST(Triangles, of_two_ways_to_divide_a_square_it_is_the_mean) {
  const std::vector<PlanePoint> points = {{0, 0}, {0, 2}, {2, 0}, {2, 2}};
  const auto product = [](const PlanePoint& p) { return p.x * p.y; };
  EXPECT_NEAR(value(points, {1, 1}, product), (0 + 2) / 2.0, 1e-9);
}

TEST(Triangles, outside_there_is_nothing) {
  EXPECT_TRUE(Triangles(measured()).at({1, 5}).empty());
  EXPECT_TRUE(Triangles({{0, 0}, {1, 1}}).at({0.5, 0.5}).empty());
}

}  // namespace
}  // namespace edl::simulator
