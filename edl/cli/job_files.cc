#include "edl/cli/job_files.h"

#include "edl/agent/loose_fields.h"
#include "edl/base/text.h"
#include "edl/data/ledger_file.h"
#include "edl/data/verify_job.h"
#include "edl/model/fields.h"
#include "edl/model/order.h"

namespace edl::cli {
namespace {

constexpr std::uint64_t kJobBytesMax = 4 << 20;
constexpr std::uint64_t kSchema = 1;

std::string job_file(const std::string& dir) { return dir + "/job.json"; }

Result<JobFiles> job_files_from(const Json& json) {
  JsonReader in(json, "job");
  JobFiles job;
  std::uint64_t schema = kSchema;
  in.read_optional("schema", schema);
  if (schema != kSchema) in.fail(text("schema ", schema, " is not known here, only ", kSchema));
  in.read("name", job.name);
  in.read("seed", job.data.seed);
  in.read("logical_workers", job.data.logical_workers);
  model::read_samples(in, job.data.samples);
  in.read_with("batch", job.batch, model::batch_from);
  in.read_optional("epochs", job.epochs);
  in.read_optional("steps", job.steps);
  if (in.has("mode")) model::read_word(in, "mode", job.mode, model::parse_job_mode);
  EDL_TRY(in.finish());
  // What a job began with, by --from, may have had another batch, and its trace goes further.
  const bool has_own_past = agent::word(json.value("spec", Json()), "from").empty();
  job.data.batch_is_fixed = job.batch.policy == model::BatchPolicy::kFixed && has_own_past;
  if (job.mode == model::JobMode::kStopResume) return job;
  EDL_TRY(model::validate_samples(job.data.samples));
  EDL_TRY(model::validate(job.batch, job.data.logical_workers));
  return job;
}

Result<JobFiles> read_job(os::Disk& disk, const std::string& dir) {
  const std::string path = job_file(dir);
  EDL_TRY(const Bytes bytes, os::read_file(disk, path, kJobBytesMax));
  const auto json = parse_json(text_of(bytes), {.bytes_max = kJobBytesMax});
  if (!json.ok()) return Error{Code::kCorrupt, text(path, ": ", json.error().message)};
  auto job = job_files_from(*json);
  if (!job.ok()) return Error{Code::kCorrupt, text(path, ": ", job.error().message)};
  job->dir = dir;
  return job;
}

}  // namespace

std::string default_job_dir(const std::string& name) { return "edl-jobs/" + name; }

Result<JobFiles> find_job(os::Disk& disk, const std::string& job) {
  std::string dir = job;
  while (dir.size() > 1 && dir.ends_with('/')) dir.pop_back();
  if (disk.exists(job_file(dir))) return read_job(disk, dir);
  const bool is_name = model::validate_name("job", job).ok();
  if (is_name && disk.exists(job_file(default_job_dir(job)))) {
    return read_job(disk, default_job_dir(job));
  }
  if (disk.exists(dir)) {
    return Error{Code::kNotFound,
                 text("\"", job, "\" is not the directory of a job: it has no job.json")};
  }
  if (!is_name) return Error{Code::kNotFound, text("there is no directory \"", job, "\"")};
  return Error{Code::kNotFound, text("there is no job \"", job, "\": neither ", job_file(job),
                                     " nor ", job_file(default_job_dir(job)), " exists")};
}

Error nothing_recorded(const JobFiles& job) {
  return {Code::kNotFound,
          text("job ", job.name, " runs in mode stop-resume: its command trains by itself, so EDL ",
               "has recorded neither steps nor samples nor states of it. edl explain ", job.name,
               " tells what is known")};
}

Result<JobHistory> read_history(os::Disk& disk, const std::string& job_dir) {
  EDL_TRY(const auto owners, data::ledger_owners(disk, job_dir));
  if (owners.empty()) {
    return Error{Code::kNotFound, text("there is no ledger in ", job_dir, "/ledger")};
  }
  JobHistory history;
  data::LedgerMerge merge;
  for (const model::WorkerId& id : owners) {
    EDL_TRY(const auto read, data::read_ledger(disk, data::ledger_path(job_dir, id)));
    merge.add(read.lines);
    const bool harmless = read.end == data::LedgerEnd::kWhole || read.end == data::LedgerEnd::kTorn;
    if (!harmless && history.problem.empty()) history.problem = read.damage;
  }
  history.records = merge.finish();
  for (const auto* problems : {&merge.broken(), &merge.conflicting()}) {
    if (!problems->empty() && history.problem.empty()) history.problem = problems->front().detail;
  }
  return history;
}

CommandDisk::CommandDisk()
    : sink_(silent_log_sink()), system_(os::posix_system({.log_sink = sink_.get()})) {}

JobCommand::JobCommand(CLI::App& app) {
  app.add_option("JOB", job_, "the job's directory, or its name when that is in ./edl-jobs")
      ->required()
      ->type_name("");
  app.add_flag("--json", json_, "answer with JSON, one object a line");
}

Result<void> JobCommand::run(Output& out) {
  CommandDisk files;
  EDL_TRY(const JobFiles job, find_job(files.disk(), job_));
  if (job.mode == model::JobMode::kStopResume && !answers_plain_jobs()) {
    return nothing_recorded(job);
  }
  return answer(files.disk(), job, out);
}

}  // namespace edl::cli
