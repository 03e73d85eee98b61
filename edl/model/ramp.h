// How the learning rate's factor goes from one value to another after a change of the batch.
#pragma once

#include <cstdint>

#include "edl/base/json.h"
#include "edl/base/result.h"
#include "edl/model/ids.h"

namespace edl::model {

// From `from` to `to` during the `steps` steps after t0.
struct Ramp {
  double from = 1;
  double to = 1;
  Step t0;
  std::uint64_t steps = 0;  // 0: no ramp

  bool operator==(const Ramp&) const = default;
};

void to_json(Json& json, const Ramp& ramp);
Result<Ramp> ramp_from(const Json& json);

}  // namespace edl::model
