#include "edl/batch/lone_sample.h"

#include <algorithm>
#include <numeric>

namespace edl::batch {
namespace {

constexpr std::uint64_t kAwayMax = 1 << 16;

bool part_has(std::uint64_t part, const std::optional<std::uint64_t>& micro) {
  if (part == 0) return false;
  return part == 1 || (micro && (*micro == 1 || part % *micro == 1));
}

bool step_has(std::uint64_t samples, const BatchRule& rule) {
  const std::uint64_t less = samples / rule.logical_workers;
  const std::uint64_t larger_parts = samples % rule.logical_workers;
  return part_has(less, rule.micro) || (larger_parts > 0 && part_has(less + 1, rule.micro));
}

}  // namespace

bool has_lone_sample(const EpochShape& shape) {
  std::uint64_t largest = 0;
  std::uint64_t stride = 0;  // what every step but an epoch's last is a multiple of
  for (std::uint32_t members = shape.members_min; members <= shape.members_max; ++members) {
    const std::uint64_t global = batch_of(shape.rule, members).global;
    largest = std::max(largest, global);
    stride = std::gcd(stride, global);
    if (shape.samples >= global && step_has(global, shape.rule)) return true;
  }
  // Steps of several sizes follow each other in any order, so this may be left for the last one.
  for (std::uint64_t rest = shape.samples % stride; rest < largest; rest += stride) {
    if (rest > 0 && rest <= shape.samples && step_has(rest, shape.rule)) return true;
  }
  return false;
}

std::optional<std::uint64_t> batch_without_lone_sample(const EpochShape& shape) {
  const std::uint64_t batch = shape.rule.batch;
  for (std::uint64_t away = 1; away <= batch; ++away) {
    for (const std::uint64_t other : {batch - away, batch + away}) {
      EpochShape tried = shape;
      tried.rule.batch = other;
      const bool fits = other >= shape.rule.logical_workers &&
                        (!shape.rule.batch_max || other <= *shape.rule.batch_max);
      if (fits && !has_lone_sample(tried)) return other;
    }
  }
  return std::nullopt;
}

std::optional<std::uint32_t> logical_workers_without_lone_sample(const EpochShape& shape) {
  EpochShape tried = shape;
  for (std::uint32_t v = shape.rule.logical_workers - 1; v >= shape.members_min && v > 0; --v) {
    tried.rule.logical_workers = v;
    tried.members_max = std::min(shape.members_max, v);
    if (!has_lone_sample(tried)) return v;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> batch_from_here(const BatchRule& rule, std::uint64_t samples,
                                             std::uint64_t position, std::uint64_t wanted) {
  const std::uint64_t most = std::max(rule.batch, rule.batch_max.value_or(rule.batch));
  const auto is_right = [&](std::uint64_t batch) {
    if (batch < rule.batch || batch > most || step_has(batch, rule)) return false;
    for (const std::uint64_t left : {samples - position, samples}) {
      if (left % batch > 0 && step_has(left % batch, rule)) return false;
    }
    return true;
  };
  for (std::uint64_t away = 0; away <= std::min(most - rule.batch, kAwayMax); ++away) {
    if (wanted >= away && is_right(wanted - away)) return wanted - away;
    if (is_right(wanted + away)) return wanted + away;
  }
  return std::nullopt;
}

}  // namespace edl::batch
