#include "edl/membership/keys.h"

#include "edl/model/fields.h"

namespace edl::membership {

void to_json(Json& json, const WorkerKey& worker) {
  json = Json{{"id", worker.id},   {"address", worker.address}, {"host", worker.host},
              {"pid", worker.pid}, {"state", worker.state},     {"reason", worker.reason}};
}

Result<WorkerKey> worker_key_from(const Json& json) {
  JsonReader in(json, "worker");
  WorkerKey worker;
  model::read_text(in, "id", worker.id);
  model::read_text_optional(in, "address", worker.address);
  model::read_text_optional(in, "host", worker.host);
  in.read_optional("pid", worker.pid);
  model::read_text_optional(in, "state", worker.state);
  model::read_text_optional(in, "reason", worker.reason);
  EDL_TRY(in.finish());
  return worker;
}

void to_json(Json& json, const Wanted& wanted) {
  json = Json{{"workers", wanted.workers},
              {"stop", wanted.stop},
              {"by", wanted.by},
              {"reason", wanted.reason}};
}

Result<Wanted> wanted_from(const Json& json) {
  JsonReader in(json, "wanted");
  Wanted wanted;
  in.read("workers", wanted.workers);
  in.read_optional("stop", wanted.stop);
  model::read_text_optional(in, "by", wanted.by);
  model::read_text_optional(in, "reason", wanted.reason);
  EDL_TRY(in.finish());
  return wanted;
}

}  // namespace edl::membership
