// Drawings of curves and bars, as SVG.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace edl::simulator {

using Points = std::vector<std::pair<double, double>>;

struct Curve {
  std::string name{};
  Points points{};
};

struct Axes {
  std::string title{};
  std::string x{};
  std::string y{};
  bool logarithmic_x = false;
  bool logarithmic_y = false;
  bool steps = false;  // a value holds until the next one
};

std::string line_plot(const Axes& axes, const std::vector<Curve>& curves);

// Bars from a time to a time in rows, as dark as they are high.
struct Bar {
  std::size_t row = 0;
  double from = 0;
  double to = 0;
  double height = 0;
};
std::string bar_plot(const Axes& axes, std::size_t rows, const std::vector<Bar>& bars);

// A colour for each of several curves.
std::string colour(std::size_t number);
// Text within HTML and SVG.
std::string escaped(const std::string& words);

}  // namespace edl::simulator
