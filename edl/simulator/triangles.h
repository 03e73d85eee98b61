// Linear interpolation between scattered points of a plane, in Delaunay's triangles: those whose
// circle has no other point within it. What SciPy's LinearNDInterpolator does.
#pragma once

#include <cstddef>
#include <vector>

namespace edl::simulator {

struct PlanePoint {
  double x = 0;
  double y = 0;
};

class Triangles {
 public:
  // For tables of some hundred points: looks at every three of them.
  explicit Triangles(std::vector<PlanePoint> points);

  struct Part {
    std::size_t point = 0;
    double share = 0;
  };
  // Of which points a place is made up, and how much of each; of none outside of them all. Where
  // points are on one circle there are several ways to divide it, and the answer is their mean.
  std::vector<Part> at(const PlanePoint& place) const;

 private:
  struct Triangle {
    std::size_t a;
    std::size_t b;
    std::size_t c;
  };
  bool is_free_within(const Triangle& triangle) const;

  std::vector<PlanePoint> points_;
  std::vector<Triangle> triangles_;
};

}  // namespace edl::simulator
