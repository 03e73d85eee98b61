#include "edl/agent/inheritance.h"

#include <algorithm>

#include "edl/base/text.h"
#include "edl/checkpoint/manifest.h"
#include "edl/checkpoint/writer.h"
#include "edl/data/ledger_file.h"
#include "edl/data/merge.h"
#include "edl/data/verify_job.h"
#include "edl/data/views_file.h"

namespace edl::agent {
namespace {

using Records = std::vector<model::LedgerRecord>;

Error cannot_begin(const std::string& path, std::string_view why) {
  return {Code::kInvalid, text("cannot begin from ", path, ": ", why)};
}

Result<Records> history_of(os::Disk& disk, const std::string& dir) {
  data::LedgerMerge merge;
  EDL_TRY(const auto owners, data::ledger_owners(disk, dir));
  for (const model::WorkerId& owner : owners) {
    EDL_TRY(const data::LedgerRead read, data::read_ledger(disk, data::ledger_path(dir, owner)));
    merge.add(read.lines);
  }
  Records records = merge.finish();
  if (merge.broken().empty() && merge.conflicting().empty()) return records;
  return cannot_begin(dir,
                      text("its ledgers do not fit together: edl verify ", dir, " tells more"));
}

// One of a history that was lost with all members is older than the view that trained its step
// again.
Result<checkpoint::Checkpoint> open_known(os::Disk& disk, const std::string& path,
                                          const Records& records) {
  EDL_TRY(auto found, checkpoint::open_checkpoint(disk, path));
  const std::uint64_t step = found.state.position.step.value();
  if (step == 0 || step > records.size() || found.state.generation < records[step - 1].generation) {
    return cannot_begin(path, text("its step ", step, " is not in the ledger of its job"));
  }
  return found;
}

Result<checkpoint::Checkpoint> newest_known(os::Disk& disk, const std::string& dir,
                                            const Records& records) {
  auto steps = checkpoint::list_checkpoints(disk, dir);
  std::string why = "there is none";
  while (steps.ok() && !steps->empty()) {
    auto found = open_known(disk, checkpoint::checkpoint_path(dir, steps->back()), records);
    if (found.ok()) return found;
    why = found.error().message;
    steps->pop_back();
  }
  return cannot_begin(dir, text("no checkpoint in it can be used: ", why));
}

// Of a checkpoint that a program has saved at a path of its own, which says so; else empty.
std::string job_that_saved(os::Disk& disk, const std::string& path) {
  const auto found = checkpoint::open_checkpoint(disk, path);
  if (!found.ok() || !found->state.user.is_object()) return {};
  const auto job = found->state.user.find("job");
  const bool is_told = job != found->state.user.end() && job->is_string();
  return is_told ? job->get<std::string>() : std::string();
}

std::string without_slash(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

// A word that was typed must be the one of the source, which it is when nothing was typed.
template <class T>
Result<void> keep_same(const char* option, std::optional<T>& typed, T kept, const Source& source) {
  if (typed.value_or(kept) == kept) {
    typed = kept;
    return {};
  }
  return cannot_begin(
      source.checkpoint.path,
      text("its job was trained with --", option, "=", kept, ", and --", option, "=", *typed,
           " would give another result. Leave that out, or take only the weights: --init=",
           source.checkpoint.path, "/", checkpoint::kModelName));
}

template <class T>
void keep_unless_said(std::optional<T>& typed, const std::optional<T>& kept) {
  if (!typed) typed = kept;
}

Result<void> copy_history(os::Disk& disk, const Source& source, const JobPaths& paths) {
  const std::string ledger_path = data::ledger_path(paths.dir, Inheritance::kMember);
  const std::string views_path = data::views_path(paths.dir, Inheritance::kMember);
  EDL_TRY(disk.make_directory(os::parent_directory(ledger_path)));
  for (const std::string& old : {ledger_path, views_path}) {  // of an attempt that was cut short
    if (disk.exists(old)) EDL_TRY(disk.remove(old));
  }
  EDL_TRY(const auto ledger, data::LedgerFile::open(disk, ledger_path));
  EDL_TRY(ledger->append_chained(source.records));
  EDL_TRY(ledger->sync());
  EDL_TRY(const auto known, data::known_views(disk, source.dir));
  EDL_TRY(const auto views, data::ViewsFile::open(disk, views_path));
  for (const model::View& view : known) {
    if (view.generation <= source.checkpoint.state.generation) EDL_TRY(views->append(view));
  }
  return disk.sync_directory(os::parent_directory(ledger_path));
}

// As if the new job had been stopped there.
model::View ended_view(const Source& source) {
  const checkpoint::State& state = source.checkpoint.state;
  model::View view;
  view.generation = state.generation;
  view.first_step = state.position.step.next();
  view.epoch = state.position.epoch;
  view.position = state.position.position;
  view.batch = state.batch;
  view.lr_factor = state.lr_factor;
  view.ramp = state.ramp;
  view.who = "edl run";
  view.reason = text("the job begins from ", source.checkpoint.path);
  view.halt = "stopped";
  view.members = {{.id = Inheritance::kMember, .address = {}, .host = {}, .logical = {}}};
  for (std::uint32_t v = 0; v < source.launch.logical_workers; ++v) {
    view.members[0].logical.emplace_back(v);
  }
  return view;
}

}  // namespace

Result<Source> find_source(os::Disk& disk, const std::string& typed) {
  const std::string path = without_slash(typed);
  const bool is_job = disk.exists(JobPaths{path}.job());
  Source source;
  source.dir = is_job ? path : os::parent_directory(os::parent_directory(path));
  if (!disk.exists(JobPaths{source.dir}.job())) {
    source.dir = job_that_saved(disk, path);
    if (!source.dir.empty() && !disk.exists(JobPaths{source.dir}.job())) {
      return cannot_begin(path, text("it was saved by the job in ", source.dir, ", whose history ",
                                     "is not there any more. To take only weights, write --init=",
                                     path, "/", checkpoint::kModelName));
    }
  }
  if (source.dir.empty()) {
    return cannot_begin(path, text("it is neither the directory of a job nor a checkpoint in one. ",
                                   "To take only weights, write --init=FILE"));
  }
  EDL_TRY(source.launch, read_job(disk, {source.dir}));
  EDL_TRY(source.records, history_of(disk, source.dir));
  if (is_job) {
    EDL_TRY(source.checkpoint, newest_known(disk, source.dir, source.records));
  } else {
    EDL_TRY(source.checkpoint, open_known(disk, path, source.records));
  }
  source.records.resize(source.checkpoint.state.position.step.value());
  return source;
}

Result<void> take_over(const Source& source, LaunchRequest& request) {
  const model::JobSpec& spec = source.launch.spec;
  EDL_TRY(keep_same("seed", request.seed, spec.seed, source));
  EDL_TRY(
      keep_same("logical-workers", request.logical_workers, source.launch.logical_workers, source));
  keep_unless_said(request.batch, std::optional(spec.batch));
  if (!request.batch_policy) {
    request.batch_policy = spec.batch_policy;
    keep_unless_said(request.batch_max, spec.batch_max);
  }
  keep_unless_said(request.micro_batch, spec.micro_batch);
  keep_unless_said(request.lr_rule, std::optional(spec.lr_rule));
  keep_unless_said(request.warmup_samples, std::optional(spec.warmup_samples));
  if (!request.epochs && !request.steps) {
    request.epochs = spec.epochs;
    request.steps = spec.steps;
  }
  request.init = spec.init;  // the history began with it
  request.from = source.checkpoint.path;
  return {};
}

Result<void> check_source(const Source& source, const Launch& launch) {
  const std::string& path = source.checkpoint.path;
  if (launch.samples != source.launch.samples) {
    return cannot_begin(
        path, text("its job has ", model::samples_text(source.launch.samples), " and ",
                   launch.spec.program, " has ", model::samples_text(launch.samples),
                   ". Give it the same data, or take only the weights: --init=", path, "/",
                   checkpoint::kModelName));
  }
  if (!launch.samples.is_known()) {
    return cannot_begin(path, text("it is of a stream, whose records are numbered in the store of ",
                                   "its job. Resume that job, or take only the weights: --init=",
                                   path, "/", checkpoint::kModelName));
  }
  const model::Position& here = source.checkpoint.state.position;
  const bool is_over = (launch.steps && here.step.value() >= *launch.steps) ||
                       (launch.spec.epochs && here.epoch.value() >= *launch.spec.epochs);
  if (!is_over) return {};
  return cannot_begin(path, text("it is after step ", here.step, " of epoch ", here.epoch,
                                 ", where the job ends. Ask for more by --steps or --epochs"));
}

Result<Inheritance> inherit(os::Disk& disk, const Source& source, const JobPaths& paths) {
  checkpoint::StateCopy copy;
  EDL_TRY(checkpoint::load_checkpoint(disk, source.checkpoint, copy));
  EDL_TRY(const checkpoint::Written written,
          checkpoint::write_checkpoint(disk, copy, {paths.dir, [] { return Time(); }, {}}));
  EDL_TRY(copy_history(disk, source, paths));
  const checkpoint::Recorded recorded{written.step, written.generation};
  return Inheritance{ended_view(source),
                     {{"step", written.step},
                      {"path", written.path},
                      {"host", ""},
                      {"generation", written.generation},
                      {"state_hash", written.state_hash},
                      {"recorded", std::vector{recorded}}}};
}

}  // namespace edl::agent
