#include "edl/checkpoint/state.h"

#include <cmath>

namespace edl::checkpoint {

void to_json(Json& json, const State& state) {
  json = Json{{"step", state.position.step},
              {"epoch", state.position.epoch},
              {"position", state.position.position},
              {"seed", state.seed},
              {"logical_workers", state.logical_workers},
              {"batch", state.batch},
              {"lr_factor", state.lr_factor},
              {"ramp", state.ramp},
              {"scaler", state.scaler},
              {"schedule", state.schedule},
              {"user", state.user},
              {"generation", state.generation},
              {"trained_by", state.trained_by},
              {"fingerprint", state.fingerprint}};
}

Result<State> state_from(const Json& json) {
  JsonReader in(json, "state.json");
  State state;
  in.read("step", state.position.step);
  in.read("epoch", state.position.epoch);
  in.read("position", state.position.position);
  in.read("seed", state.seed);
  in.read("logical_workers", state.logical_workers);
  in.read_with("batch", state.batch, model::batch_from);
  in.read_optional("lr_factor", state.lr_factor);
  if (in.has("ramp")) in.read_with("ramp", state.ramp, model::ramp_from);
  in.read_optional("scaler", state.scaler);
  in.read_optional("schedule", state.schedule);
  in.read_optional("user", state.user);
  in.read("generation", state.generation);
  if (in.has("trained_by")) in.read_with("trained_by", state.trained_by, model::crowd_from);
  in.read_optional("fingerprint", state.fingerprint);
  if (!std::isfinite(state.lr_factor)) in.fail("\"lr_factor\" must be finite");
  EDL_TRY(in.finish());
  EDL_TRY(model::validate(state.batch, state.logical_workers));
  return state;
}

}  // namespace edl::checkpoint
