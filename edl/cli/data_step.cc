// `edl data step`: the samples that each part of a step trains.
#include <algorithm>

#include "edl/base/text.h"
#include "edl/cli/commands.h"
#include "edl/cli/job_files.h"
#include "edl/data/verify_job.h"

namespace edl::cli {
namespace {

// Steps of a whole epoch when the batch never changes.
std::uint64_t steps_per_epoch(const JobFiles& job) {
  return (job.data.samples.known() - 1) / job.batch.global + 1;
}

bool is_within(const model::LedgerRecord& record, const model::SampleCount& samples) {
  if (!samples.is_known()) return true;
  return record.position < samples.known() && record.samples <= samples.known() - record.position;
}

// The record that a step will have when the batch never changes: its place is arithmetic.
Result<model::LedgerRecord> planned(const JobFiles& job, std::uint64_t step) {
  const std::uint64_t per_epoch = steps_per_epoch(job);
  const bool is_over = job.epochs && (step - 1) / per_epoch >= *job.epochs;
  if (is_over || (job.steps && step > *job.steps)) {
    return Error{Code::kNotFound,
                 text("job ", job.name, " has no step ", step, ": it ends before")};
  }
  const std::uint64_t position = (step - 1) % per_epoch * job.batch.global;
  return model::LedgerRecord{
      .generation = model::Generation(0),
      .step = model::Step(step),
      .epoch = model::Epoch((step - 1) / per_epoch),
      .position = position,
      .samples = std::min(job.batch.global, job.data.samples.known() - position)};
}

Result<model::LedgerRecord> record_of(os::Disk& disk, const JobFiles& job, std::uint64_t step) {
  if (step == 0) return Error{Code::kInvalid, "there is no step 0: steps count from 1"};
  EDL_TRY(const auto owners, data::ledger_owners(disk, job.dir));
  JobHistory history;
  if (!owners.empty()) {
    EDL_TRY(history, read_history(disk, job.dir));
  }
  if (step <= history.records.size()) return history.records[step - 1];
  if (!job.data.samples.is_known()) {
    return Error{Code::kNotFound,
                 text("step ", step, " of job ", job.name, " is not in the ledger yet, which has ",
                      history.records.size(), " steps; how a stream goes on is not known before")};
  }
  if (job.batch.policy == model::BatchPolicy::kFixed) return planned(job, step);
  return Error{Code::kNotFound,
               text("step ", step, " of job ", job.name, " is not in the ledger yet, which has ",
                    history.records.size(), " steps; under the batch policy ",
                    model::name(job.batch.policy), " its batch is not known before")};
}

class DataStep final : public JobCommand {
 public:
  explicit DataStep(CLI::App& app) : JobCommand(app) {
    add_number(app, "--step", step_, "the step, from 1")->required();
  }

 private:
  Result<void> answer(os::Disk& disk, const JobFiles& job, Output& out) override {
    EDL_TRY(const model::LedgerRecord record, record_of(disk, job, step_));
    if (!is_within(record, job.data.samples)) {
      return Error{Code::kCorrupt,
                   text("step ", step_, " goes beyond the ", job.data.samples.known(),
                        " samples of job ", job.name, ". `edl verify` tells all.")};
    }
    if (json()) {
      out.add(text("{\"step\":", record.step, ",\"epoch\":", record.epoch, ",\"parts\":["));
    } else {
      out.add(text("step ", record.step, " of epoch ", record.epoch, "\n"));
    }
    for (std::uint32_t v = 0; v < job.data.logical_workers && out.open(); ++v) {
      const auto indices = data::part_indices(job.data, record, model::LogicalWorker(v));
      write_part(v, indices, out);
    }
    if (json()) out.add("]}\n");
    return {};
  }

  void write_part(std::uint32_t v, const std::vector<std::uint64_t>& indices, Output& out) const {
    const std::string json_head = text(v == 0 ? "" : ",", "{\"v\":", v, ",\"indices\":[");
    out.add(json() ? json_head : text("part ", v, ":"));
    for (std::size_t i = 0; i < indices.size(); ++i) {
      out.add(text(!json() ? " " : i == 0 ? "" : ",", indices[i]));
    }
    out.add(json() ? "]}" : "\n");
  }

  std::uint64_t step_ = 0;
};

}  // namespace

void add_data_step(CommandLine& line, CLI::App& data) {
  line.add<DataStep>(data, {"step", "List the samples that each part of a step trains.",
                            "edl data step digits-1 --step=17 --json"});
}

}  // namespace edl::cli
