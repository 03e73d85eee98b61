#include "edl/scheduler/autoscaler.h"

#include <algorithm>
#include <cmath>

#include "edl/base/text.h"
#include "edl/scheduler/snapshot.h"

namespace edl::scheduler {
namespace {

constexpr double kFreshness = 0.1;            // of the newest measurement in a straggler's mean
constexpr double kStragglerSpeed = 0.8;       // of the median
constexpr std::uint64_t kMemorySteps = 1000;  // older measurements fade

std::string percent(double share) { return text(std::lround(share * 100), " %"); }

}  // namespace

void Autoscaler::measured(std::uint32_t workers, double seconds) {
  if (workers == 0 || !(seconds > 0)) return;
  Learned& one = learned_[workers];
  one.count = std::min(one.count + 1, kMemorySteps);
  one.mean += (1 / seconds - one.mean) / static_cast<double>(one.count);
}

bool Autoscaler::known(std::uint32_t workers) const {
  const auto found = learned_.find(workers);
  return found != learned_.end() && found->second.count >= rules_.every_steps;
}

std::optional<double> Autoscaler::efficiency(std::uint32_t fewer, std::uint32_t workers) const {
  if (!known(fewer) || !known(workers) || fewer >= workers) return std::nullopt;
  const double before = learned_.at(fewer).mean;
  const double added = (learned_.at(workers).mean - before) / (workers - fewer);
  return added / (before / fewer);
}

std::uint32_t Autoscaler::larger(std::uint32_t workers) const {
  for (std::uint32_t k = workers + rules_.by; k <= rules_.max; ++k) {
    if (useful_size(rules_.logical_workers, k) == k) return k;
  }
  const std::uint32_t most = useful_size(rules_.logical_workers, rules_.max);
  return std::max(most, workers);
}

std::uint32_t Autoscaler::smaller(std::uint32_t workers) const {
  if (workers <= rules_.min) return workers;
  const std::uint32_t step = std::min(rules_.by, workers - rules_.min);
  return std::max(useful_size(rules_.logical_workers, workers - step), rules_.min);
}

bool Autoscaler::pays(std::uint32_t fewer, std::uint32_t workers,
                      std::optional<std::uint64_t> left) const {
  if (rules_.value_of_time <= 0 || !left || !known(fewer) || !known(workers)) return true;
  const auto steps = static_cast<double>(*left);
  const double before = steps / learned_.at(fewer).mean;
  const double after = steps / learned_.at(workers).mean;
  const double utility = rules_.value_of_time * (before - after);
  const double cost = rules_.price_of_worker * (after * workers - before * fewer);
  return utility > cost;
}

ScaleDecision Autoscaler::decide(std::uint32_t workers,
                                 std::optional<std::uint64_t> steps_left) const {
  if (!known(workers)) {
    return {workers, text("stays at ", workers, ": fewer than ", rules_.every_steps,
                          " steps were measured there")};
  }
  const std::uint32_t down = smaller(workers);
  if (down < workers) {
    const auto here = efficiency(down, workers);
    const bool worth = pays(down, workers, steps_left);
    if ((here && *here <= rules_.least_efficiency) || !worth) {
      return {down,
              text("goes back to ", down, ": of ", workers, " workers the last ", workers - down,
                   worth ? text(" add ", percent(*here)) : " cost more than they are worth")};
    }
  }
  const std::uint32_t up = larger(workers);
  const auto next = efficiency(workers, up);
  const bool grows =
      up > workers && (!next || (*next > rules_.least_efficiency && pays(workers, up, steps_left)));
  // At rest from above: whether fewer would do is only known once they were measured.
  if (!grows && down < workers && !known(down)) {
    return {down, text("tries ", down, ": it has never been measured there")};
  }
  if (up == workers) return {workers, text("stays at ", workers, ": it has no larger size")};
  const auto there = efficiency(workers, up);
  if (!there) return {up, text("tries ", up, ": it has never been measured there")};
  if (*there > rules_.least_efficiency && pays(workers, up, steps_left)) {
    return {up, text("grows to ", up, ": each worker adds ", percent(*there))};
  }
  return {workers,
          text("stays at ", workers, ": with ", up, " each worker adds only ", percent(*there))};
}

bool StragglerSignal::measured(const std::string& worker, double relative_speed) {
  const auto [found, is_new] = means_.emplace(worker, 1.0);
  found->second += kFreshness * (relative_speed - found->second);
  return found->second < kStragglerSpeed;
}

}  // namespace edl::scheduler
