// What `edl scale` answers to a wish for another number of workers. Plain functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "edl/agent/picture.h"

namespace edl::cli {

struct ScalePlan {
  bool accepted = false;
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  std::optional<double> predicted_pause_ms{};
  std::string reason{};  // one sentence
};

ScalePlan plan_scale(const std::string& job, const agent::JobPicture& picture,
                     std::uint64_t workers);

}  // namespace edl::cli
