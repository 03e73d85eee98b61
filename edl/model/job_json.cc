#include "edl/model/fields.h"
#include "edl/model/job.h"

namespace edl::model {
namespace {

Json resources_json(const Resources& resources) {
  return {{"slots", resources.slots},
          {"cpus", resources.cpus},
          {"memory_bytes", resources.memory_bytes}};
}

Result<Resources> resources_from(const Json& json) {
  JsonReader in(json, "resources");
  Resources resources;
  in.read_optional("slots", resources.slots);
  in.read_optional("cpus", resources.cpus);
  in.read_optional("memory_bytes", resources.memory_bytes);
  EDL_TRY(in.finish());
  return resources;
}

Result<WeightsFile> weights_from(const Json& json) {
  JsonReader in(json, "init");
  WeightsFile weights;
  read_text(in, "path", weights.path);
  read_text(in, "sha256", weights.sha256);
  EDL_TRY(in.finish());
  return weights;
}

Result<WorkerRange> workers_from(const Json& json) {
  if (json.is_string()) return parse_workers(json.get_ref<const std::string&>());
  if (json.is_number_unsigned()) return parse_workers(text(json.get<std::uint64_t>()));
  return Error{Code::kInvalid, "write N or \"MIN:MAX\""};
}

template <class T>
void put_if_said(Json& json, const char* name, const std::optional<T>& value) {
  if (value) json[name] = *value;
}

}  // namespace

void to_json(Json& json, const JobSpec& job) {
  json = Json{{"name", job.name},
              {"program", job.program},
              {"args", job.args},
              {"batch_policy", name(job.batch_policy)},
              {"batch", job.batch},
              {"lr_rule", name(job.lr_rule)},
              {"warmup_samples", job.warmup_samples},
              {"seed", job.seed},
              {"resources", resources_json(job.resources)},
              {"priority", job.priority},
              {"tenant", job.tenant},
              {"checkpoint", job.checkpoint},
              {"silent_steps", job.silent_steps},
              {"part_limit", job.part_limit},
              {"mode", name(job.mode)},
              {"isa", name(job.isa)}};
  if (job.workers) json["workers"] = workers_text(*job.workers);
  put_if_said(json, "start", job.start);
  put_if_said(json, "logical_workers", job.logical_workers);
  put_if_said(json, "batch_max", job.batch_max);
  put_if_said(json, "micro_batch", job.micro_batch);
  put_if_said(json, "epochs", job.epochs);
  put_if_said(json, "steps", job.steps);
  if (!job.python.empty()) json["python"] = job.python;
  if (!job.from.empty()) json["from"] = job.from;
  if (job.init) json["init"] = {{"path", job.init->path}, {"sha256", job.init->sha256}};
}

Result<JobSpec> job_from(const Json& json) {
  JsonReader in(json, "job");
  JobSpec job;
  read_text(in, "name", job.name);
  read_text(in, "program", job.program);
  in.read_optional("args", job.args);
  if (in.has("workers")) in.read_with("workers", job.workers.emplace(), workers_from);
  in.read_optional("start", job.start);
  in.read_optional("logical_workers", job.logical_workers);
  if (in.has("batch_policy")) {
    read_word(in, "batch_policy", job.batch_policy, parse_batch_policy);
  }
  in.read_optional("batch", job.batch);
  in.read_optional("batch_max", job.batch_max);
  in.read_optional("micro_batch", job.micro_batch);
  if (in.has("lr_rule")) read_word(in, "lr_rule", job.lr_rule, parse_rate_rule);
  in.read_optional("warmup_samples", job.warmup_samples);
  in.read_optional("seed", job.seed);
  in.read_optional("epochs", job.epochs);
  in.read_optional("steps", job.steps);
  if (in.has("resources")) in.read_with("resources", job.resources, resources_from);
  in.read_optional("priority", job.priority);
  read_text_optional(in, "tenant", job.tenant);
  read_text_optional(in, "checkpoint", job.checkpoint);
  in.read_optional("silent_steps", job.silent_steps);
  read_text_optional(in, "part_limit", job.part_limit);
  if (in.has("mode")) read_word(in, "mode", job.mode, parse_job_mode);
  read_text_optional(in, "python", job.python);
  read_text_optional(in, "from", job.from);
  if (in.has("init")) in.read_with("init", job.init.emplace(), weights_from);
  if (in.has("isa")) read_word(in, "isa", job.isa, parse_isa);
  EDL_TRY(in.finish());
  EDL_TRY(validate(job));
  return job;
}

}  // namespace edl::model
