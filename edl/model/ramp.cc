#include "edl/model/ramp.h"

#include <cmath>

#include "edl/base/json_object.h"

namespace edl::model {

void to_json(Json& json, const Ramp& ramp) {
  json =
      json_object({{"from", ramp.from}, {"to", ramp.to}, {"t0", ramp.t0}, {"steps", ramp.steps}});
}

Result<Ramp> ramp_from(const Json& json) {
  JsonReader in(json, "ramp");
  Ramp ramp;
  in.read("from", ramp.from);
  in.read("to", ramp.to);
  in.read("t0", ramp.t0);
  in.read("steps", ramp.steps);
  if (!std::isfinite(ramp.from) || !std::isfinite(ramp.to)) in.fail("its ends must be finite");
  EDL_TRY(in.finish());
  return ramp;
}

}  // namespace edl::model
