// What a step trains on, by the policy that the user chose. Plain functions.
#pragma once

#include <cstdint>
#include <optional>

#include "edl/model/batch.h"

namespace edl::batch {

struct BatchRule {
  model::BatchPolicy policy = model::BatchPolicy::kFixed;
  std::uint32_t logical_workers = 1;
  std::uint64_t batch = 1;                   // global, or of each member under linear and capped
  std::optional<std::uint64_t> batch_max{};  // global
  std::optional<std::uint64_t> micro{};      // samples of a micro batch; else a part is one
};

// Of a view with so many members. `chosen` is what was found best under adaptive, if anything was.
model::Batch batch_of(const BatchRule& rule, std::size_t members,
                      std::optional<std::uint64_t> chosen = std::nullopt);

}  // namespace edl::batch
