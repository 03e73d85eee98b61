// What of a job decides about its views and never changes while it runs.
#pragma once

#include <cstdint>
#include <optional>

#include "edl/base/time.h"
#include "edl/batch/rate.h"
#include "edl/model/batch.h"
#include "edl/model/position.h"

namespace edl::membership {

struct Rules {
  std::uint32_t logical_workers = 1;
  std::uint32_t min = 1;
  std::uint32_t max = 1;
  model::BatchPolicy policy = model::BatchPolicy::kFixed;
  std::uint64_t batch = 1;                   // global, or of each member under linear and capped
  std::optional<std::uint64_t> batch_max{};  // global
  std::optional<std::uint64_t> micro{};      // samples of a micro batch; else a part is one
  // Of an epoch, when nobody may see a single one of them: the model normalises them by each other.
  std::optional<std::uint64_t> samples_never_alone{};
  model::RateRule lr_rule = model::RateRule::kNone;
  std::uint64_t warmup_samples = 0;
  std::optional<std::uint64_t> steps{};   // ends after so many
  std::optional<std::uint64_t> epochs{};  // ends after so many
  Duration join_window = 50ms;            // joins that come within it share a view
  Duration founders_wait = 2s;            // after a loss of all: for more than the minimum
  Duration replace_after = 30s;           // a member that is slow so long gets a successor

  bool is_finished(const model::Position& here) const;
  // Of a view with so many members. `chosen` is for the policy adaptive.
  model::Batch batch_of(std::size_t members,
                        std::optional<std::uint64_t> chosen = std::nullopt) const;
  // Of a view that begins here: what is chosen is changed a little where it would leave somebody
  // alone with a sample.
  model::Batch batch_at(const model::Position& here, std::size_t members,
                        std::optional<std::uint64_t> chosen) const;
  // Where the factor of the learning rate stays with such a batch.
  double lr_factor(const model::Batch& batch_of_view) const;
  // As many members as were asked for, within the limits.
  std::uint32_t fit(std::uint32_t wanted) const;
};

}  // namespace edl::membership
