// How the learning rate follows the batch, as a job asks for it.
#pragma once

#include <cstdint>
#include <string_view>

#include "edl/base/result.h"

namespace edl::model {

enum class RateRule {
  kNone,        // it does not
  kLinear,      // as the batch
  kSquareRoot,  // as its square root
  kPiecewise,   // as the batch up to 8192 samples, then as the square root of the rest
  kLars,        // as the batch, and each tensor by the ratio of its norms
};
std::string_view name(RateRule rule);
Result<RateRule> parse_rate_rule(std::string_view word);

}  // namespace edl::model
