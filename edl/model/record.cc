#include "edl/model/record.h"

#include "edl/base/json_object.h"

namespace edl::model {
namespace {

Json list_json(const std::vector<double>& numbers) {
  Json json = Json::array();
  for (const double number : numbers) json.push_back(number_json(number));
  return json;
}

}  // namespace

void to_json(Json& json, const StepRecordHeader& record) {
  json = json_object({{"generation", record.generation},
                      {"members", record.members},
                      {"step", record.step},
                      {"epoch", record.epoch},
                      {"position", record.position},
                      {"samples", record.samples},
                      {"ends_epoch", record.ends_epoch},
                      {"applied", record.applied},
                      {"found_inf", record.found_inf},
                      {"loss_sum", number_json(record.loss_sum)},
                      {"metric_sums", numbers_json(record.metric_sums)},
                      {"evaluation", numbers_json(record.evaluation)},
                      {"squared_norms", list_json(record.squared_norms)},
                      {"hyper", numbers_json(record.hyper)},
                      {"digest", digest_json(record.digest)}});
}

Result<StepRecordHeader> step_record_from(const Json& json) {
  JsonReader in(json, "step record");
  StepRecordHeader record;
  in.read("generation", record.generation);
  in.read("members", record.members);
  in.read("step", record.step);
  in.read("epoch", record.epoch);
  in.read("position", record.position);
  in.read("samples", record.samples);
  in.read("ends_epoch", record.ends_epoch);
  in.read("applied", record.applied);
  in.read("found_inf", record.found_inf);
  in.read_with("loss_sum", record.loss_sum, number_from);
  in.read_with("metric_sums", record.metric_sums, numbers_from);
  in.read_with("evaluation", record.evaluation, numbers_from);
  in.read_list("squared_norms", record.squared_norms, number_from);
  limit_list(in, "squared_norms", record.squared_norms, kLogicalWorkersMax);
  in.read_with("hyper", record.hyper, numbers_from);
  in.read_with("digest", record.digest, digest_from);
  if (record.step < Step(1)) in.fail("step is 0; steps count from 1");
  EDL_TRY(in.finish());
  return record;
}

}  // namespace edl::model
