// What a checkpoint says besides its tensors: state.json. Everything that training needs to go on
// at the next step as if nothing had happened.
#pragma once

#include <cstdint>

#include "edl/base/json.h"
#include "edl/model/batch.h"
#include "edl/model/position.h"
#include "edl/model/ramp.h"
#include "edl/model/view.h"

namespace edl::checkpoint {

struct State {
  model::Position position;  // after `position.step` steps; where the next one begins
  std::uint64_t seed = 0;
  std::uint32_t logical_workers = 1;
  model::Batch batch;
  double lr_factor = 1;
  model::Ramp ramp;
  Json scaler{};  // these three belong to the program and its framework
  Json schedule{};
  Json user{};
  model::Generation generation;  // of the view that had this state
  model::Crowd trained_by{};     // the last step; perhaps in a view before that one
  Json fingerprint{};

  bool operator==(const State&) const = default;
};

inline constexpr std::uint64_t kStateBytesMax = 64 << 20;

void to_json(Json& json, const State& state);
Result<State> state_from(const Json& json);

}  // namespace edl::checkpoint
