#include "edl/simulator/plot.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "edl/base/text.h"

namespace edl::simulator {
namespace {

constexpr double kWidth = 640;
constexpr double kHeight = 300;
constexpr double kLeft = 70;
constexpr double kRight = 130;
constexpr double kTop = 28;
constexpr double kBottom = 44;

struct Scale {
  double low = 0;
  double high = 1;
  double from = 0;
  double to = 1;
  bool logarithmic = false;

  double operator()(double value) const {
    const double v = logarithmic ? std::log10(std::max(value, 1e-9)) : value;
    return from + (v - low) / std::max(high - low, 1e-12) * (to - from);
  }
};

Scale scale_of(const std::vector<Curve>& curves, bool x, bool logarithmic) {
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  for (const Curve& curve : curves) {
    for (const auto& point : curve.points) {
      double v = x ? point.first : point.second;
      if (logarithmic) v = std::log10(std::max(v, 1e-9));
      low = std::min(low, v);
      high = std::max(high, v);
    }
  }
  if (!(low <= high)) low = 0, high = 1;
  if (!logarithmic && !x) low = std::min(low, 0.0);
  if (high - low < 1e-12) high = low + 1;
  Scale scale{low, high, kLeft, kWidth - kRight, logarithmic};
  if (!x) scale.from = kHeight - kBottom, scale.to = kTop;
  return scale;
}

std::string short_number(double value) {
  const double size = std::abs(value);
  if (size >= 1e6) return text(std::round(value / 1e5) / 10, "M");
  if (size >= 1e4) return text(std::round(value / 100) / 10, "k");
  if (size >= 10 || value == 0) return text(std::round(value));
  return text(std::round(value * 100) / 100);
}

std::string short_place(double value) { return text(std::round(value * 10) / 10); }

std::string grid(const Axes& axes, const Scale& x, const Scale& y) {
  std::string out;
  for (int i = 0; i <= 4; ++i) {
    const double vx = x.low + (x.high - x.low) * i / 4;
    const double vy = y.low + (y.high - y.low) * i / 4;
    const double px = x.from + (x.to - x.from) * i / 4;
    const double py = y.from + (y.to - y.from) * i / 4;
    out += text("<line x1='", kLeft, "' x2='", kWidth - kRight, "' y1='", short_place(py), "' y2='",
                short_place(py), "' stroke='#ddd'/><text x='", kLeft - 6, "' y='",
                short_place(py + 4), "' text-anchor='end'>",
                short_number(y.logarithmic ? std::pow(10, vy) : vy), "</text><text x='",
                short_place(px), "' y='", kHeight - kBottom + 16, "' text-anchor='middle'>",
                short_number(x.logarithmic ? std::pow(10, vx) : vx), "</text>\n");
  }
  out += text("<text x='", kLeft, "' y='16' font-weight='bold'>", escaped(axes.title),
              "</text><text x='", (kLeft + kWidth - kRight) / 2, "' y='", kHeight - 8,
              "' text-anchor='middle'>", escaped(axes.x), "</text><text x='14' y='", kHeight / 2,
              "' transform='rotate(-90 14 ", kHeight / 2, ")' text-anchor='middle'>",
              escaped(axes.y), "</text>\n");
  return out;
}

std::string open_svg() {
  return text("<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 ", kWidth, " ", kHeight,
              "' font-family='sans-serif' font-size='11'>\n",
              "<rect width='100%' height='100%' fill='white'/>\n");
}

}  // namespace

std::string colour(std::size_t number) {
  constexpr std::array kColours = {"#1f6fb2", "#c0392b", "#27ae60", "#8e44ad", "#e67e22",
                                   "#16a085", "#7f8c8d", "#d4ac0d", "#2c3e50", "#e84393"};
  return kColours[number % kColours.size()];
}

std::string escaped(const std::string& words) {
  std::string out;
  for (const char c : words) {
    if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '&') {
      out += "&amp;";
    } else if (c == '\'') {
      out += "&#39;";
    } else {
      out += c;
    }
  }
  return out;
}

std::string line_plot(const Axes& axes, const std::vector<Curve>& curves) {
  const Scale x = scale_of(curves, true, axes.logarithmic_x);
  const Scale y = scale_of(curves, false, axes.logarithmic_y);
  std::string out = open_svg() + grid(axes, x, y);
  for (std::size_t c = 0; c < curves.size(); ++c) {
    out += text("<polyline fill='none' stroke='", colour(c), "' stroke-width='1.5' points='");
    double before = 0;
    bool first = true;
    for (const auto& [px, py] : curves[c].points) {
      if (axes.steps && !first) out += text(short_place(x(px)), ",", short_place(y(before)), " ");
      out += text(short_place(x(px)), ",", short_place(y(py)), " ");
      before = py;
      first = false;
    }
    out += text("'/>\n<text x='", kWidth - kRight + 8, "' y='",
                kTop + 12 + 15 * static_cast<double>(c), "' fill='", colour(c), "'>",
                escaped(curves[c].name), "</text>\n");
  }
  return out + "</svg>\n";
}

std::string bar_plot(const Axes& axes, std::size_t rows, const std::vector<Bar>& bars) {
  Curve all;
  double highest = 1;
  for (const Bar& bar : bars) {
    all.points.emplace_back(bar.from, 0);
    all.points.emplace_back(bar.to, static_cast<double>(rows));
    highest = std::max(highest, bar.height);
  }
  const Scale x = scale_of({all}, true, false);
  const Scale y = scale_of({all}, false, false);
  std::string out = open_svg() + grid(axes, x, y);
  const double height = (kHeight - kTop - kBottom) / std::max<double>(static_cast<double>(rows), 1);
  for (const Bar& bar : bars) {
    const double opacity = 0.2 + 0.8 * bar.height / highest;
    out += text("<rect x='", short_place(x(bar.from)), "' width='",
                short_place(std::max(x(bar.to) - x(bar.from), 0.3)), "' y='",
                short_place(kHeight - kBottom - height * static_cast<double>(bar.row + 1)),
                "' height='", short_place(std::max(height, 0.5)), "' fill='#1f6fb2' opacity='",
                std::round(opacity * 100) / 100, "'/>\n");
  }
  return out + "</svg>\n";
}

}  // namespace edl::simulator
