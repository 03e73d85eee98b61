// Which checkpoints count. The step alone does not say which: after a loss of all members the same
// step may be trained anew, with other members and another batch.
#pragma once

#include "edl/base/json.h"
#include "edl/base/result.h"
#include "edl/model/ids.h"

namespace edl::checkpoint {

struct Recorded {
  model::Step step;
  model::Generation generation;  // as its state.json has it

  auto operator<=>(const Recorded&) const = default;
};

inline void to_json(Json& json, const Recorded& recorded) {
  json = {{"step", recorded.step}, {"generation", recorded.generation}};
}

inline Result<Recorded> recorded_from(const Json& json) {
  JsonReader in(json, "recorded checkpoint");
  Recorded recorded;
  in.read("step", recorded.step);
  in.read("generation", recorded.generation);
  EDL_TRY(in.finish());
  return recorded;
}

}  // namespace edl::checkpoint
