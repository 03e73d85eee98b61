#include "edl/simulator/capacity.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <tuple>

#include "edl/base/random.h"

namespace edl::simulator {
namespace {

constexpr double kServiceStepSeconds = 300;
constexpr double kNightShare = 0.25;  // of the service's peak

double unit(Random& random) {
  return static_cast<double>(random.below(1 << 30) + 1) / static_cast<double>(1 << 30);
}

struct Outage {
  double from;
  double to;
};

std::vector<Outage> outages(Random random, double mean_s, double length_s, double until_s) {
  std::vector<Outage> out;
  if (mean_s <= 0) return out;
  for (double now = -mean_s * std::log(unit(random)); now < until_s;) {
    out.push_back({now, now + length_s});
    now += length_s - mean_s * std::log(unit(random));
  }
  return out;
}

bool is_out(const std::vector<Outage>& all, double at) {
  return std::any_of(all.begin(), all.end(),
                     [&](const Outage& one) { return one.from <= at && at < one.to; });
}

// The service's slots on a node: its share of the peak, by the time of day.
std::uint32_t foreign_slots(const scheduler::Node& node, const CapacityOptions& options,
                            double at) {
  if (options.foreign_share <= 0) return 0;
  const double wave = (1 - std::cos(2 * std::numbers::pi * at / options.day_s)) / 2;
  const double load = kNightShare + (1 - kNightShare) * wave;
  return static_cast<std::uint32_t>(std::lround(node.slots * options.foreign_share * load));
}

}  // namespace

std::vector<CapacityChange> capacity_changes(const std::vector<scheduler::Node>& nodes,
                                             const CapacityOptions& options) {
  std::vector<CapacityChange> changes;
  Random random(options.seed);
  for (std::uint32_t n = 0; n < nodes.size(); ++n) {
    auto away =
        outages(random.fork(), options.mean_between_failures_s, options.repair_s, options.until_s);
    const auto taken = outages(random.fork(), options.mean_between_preemptions_s,
                               options.preempted_s, options.until_s);
    away.insert(away.end(), taken.begin(), taken.end());
    std::vector<double> moments;
    for (const Outage& one : away) {
      moments.push_back(one.from);
      moments.push_back(one.to);
    }
    if (options.foreign_share > 0) {
      for (double at = 0; at < options.until_s; at += kServiceStepSeconds) moments.push_back(at);
    }
    std::sort(moments.begin(), moments.end());
    std::uint32_t before = nodes[n].slots;
    for (const double at : moments) {
      const std::uint32_t service = foreign_slots(nodes[n], options, at);
      const std::uint32_t slots =
          is_out(away, at) ? 0 : nodes[n].slots - std::min(service, nodes[n].slots);
      if (slots != before) changes.push_back({at, n, slots});
      before = slots;
    }
  }
  std::stable_sort(changes.begin(), changes.end(),
                   [](const CapacityChange& a, const CapacityChange& b) { return a.at < b.at; });
  return changes;
}

}  // namespace edl::simulator
