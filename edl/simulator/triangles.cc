#include "edl/simulator/triangles.h"

#include <algorithm>

namespace edl::simulator {
namespace {

constexpr double kRounding = 1e-9;

// Twice the area, above 0 when they go round to the left.
double twice_area(const PlanePoint& a, const PlanePoint& b, const PlanePoint& c) {
  return (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
}

// Above 0 when the last one is within the circle through the others, which go round to the left.
double within_circle(const PlanePoint& a, const PlanePoint& b, const PlanePoint& c,
                     const PlanePoint& last) {
  const auto row = [&](const PlanePoint& p) { return PlanePoint{p.x - last.x, p.y - last.y}; };
  const auto square = [](const PlanePoint& p) { return p.x * p.x + p.y * p.y; };
  const auto [ax, ay] = row(a);
  const auto [bx, by] = row(b);
  const auto [cx, cy] = row(c);
  return square(row(a)) * (bx * cy - by * cx) - square(row(b)) * (ax * cy - ay * cx) +
         square(row(c)) * (ax * by - ay * bx);
}

}  // namespace

Triangles::Triangles(std::vector<PlanePoint> points) : points_(std::move(points)) {
  for (std::size_t a = 0; a < points_.size(); ++a) {
    for (std::size_t b = a + 1; b < points_.size(); ++b) {
      for (std::size_t c = b + 1; c < points_.size(); ++c) {
        const double area = twice_area(points_[a], points_[b], points_[c]);
        const Triangle triangle = area > 0 ? Triangle{a, b, c} : Triangle{a, c, b};
        if (area != 0 && is_free_within(triangle)) triangles_.push_back(triangle);
      }
    }
  }
}

// Numbers of nodes and workers are whole, so that there is no rounding here.
bool Triangles::is_free_within(const Triangle& triangle) const {
  const auto& [a, b, c] = triangle;
  return std::none_of(points_.begin(), points_.end(), [&](const PlanePoint& point) {
    return within_circle(points_[a], points_[b], points_[c], point) > 0;
  });
}

std::vector<Triangles::Part> Triangles::at(const PlanePoint& place) const {
  std::vector<Part> parts;
  double found = 0;
  for (const auto& [a, b, c] : triangles_) {
    const double whole = twice_area(points_[a], points_[b], points_[c]);
    const double of_a = twice_area(place, points_[b], points_[c]) / whole;
    const double of_b = twice_area(points_[a], place, points_[c]) / whole;
    const double of_c = 1 - of_a - of_b;
    if (std::min({of_a, of_b, of_c}) < -kRounding) continue;
    found += 1;
    for (const Part& part : {Part{a, of_a}, Part{b, of_b}, Part{c, of_c}}) {
      if (part.share > kRounding) parts.push_back(part);
    }
  }
  for (Part& part : parts) part.share /= found;
  return parts;
}

}  // namespace edl::simulator
