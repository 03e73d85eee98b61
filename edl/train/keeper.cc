#include "edl/train/keeper.h"

#include <algorithm>

#include "edl/checkpoint/retention.h"
#include "edl/data/merge.h"
#include "edl/data/verify_job.h"
#include "edl/train/transfer.h"

namespace edl::train {

Keeper::Keeper(os::System& system, Executor& executor, std::string dir, model::WorkerId id)
    : system_(system),
      executor_(executor),
      dir_(std::move(dir)),
      id_(std::move(id)),
      log_(system.log().room("keeper")) {}

Result<void> Keeper::open_files() {
  os::Disk& disk = system_.disk();
  EDL_TRY(disk.make_directory(os::parent_directory(data::ledger_path(dir_, id_))));
  EDL_TRY(files_->ledger, data::LedgerFile::open(disk, data::ledger_path(dir_, id_)));
  EDL_TRY(files_->views, data::ViewsFile::open(disk, data::views_path(dir_, id_)));
  return {};
}

void Keeper::open(std::function<void(Result<void>)> done) {
  auto outcome = std::make_shared<Result<void>>();
  executor_.run([this, outcome] { *outcome = open_files(); },
                [outcome, done = std::move(done)] { done(*outcome); });
}

void Keeper::add_view(const model::View& view) {
  executor_.run(
      [this, view, files = files_] {
        if (!files->views) return;
        if (const auto kept = files->views->append(view); !kept.ok()) {
          log_.error("cannot keep a view", {{"why", kept.error().message}});
        }
      },
      [] {});
}

// Steps that become stable while a write is under way are written together.
void Keeper::add_step(const model::LedgerRecord& record) {
  waiting_.push_back(record);
  if (!flushing_) flush();
}

void Keeper::flush() {
  if (waiting_.empty()) return;
  flushing_ = true;
  executor_.run(
      [this, files = files_, records = std::exchange(waiting_, {})] {
        if (!files->ledger) return;
        if (const auto kept = files->ledger->append(records); !kept.ok()) {
          log_.error("cannot write the ledger", {{"why", kept.error().message}});
        }
      },
      [this] {
        flushing_ = false;
        flush();
      });
}

void Keeper::begin_ledger(Bytes records) {
  executor_.run(
      [this, files = files_, records = std::move(records)] {
        if (!files->ledger) return;
        const auto lines = data::decode_records(records, data::kLedgerRecordsMax);
        const auto& own = files->ledger->ledger().records();
        Result<void> begun;
        if (!lines.ok()) {
          begun = lines.error();
        } else {
          const auto [theirs, ours] =
              std::mismatch(lines->begin(), lines->end(), own.begin(), own.end());
          begun = files->ledger->append_chained({theirs, lines->end()});
        }
        if (!begun.ok()) log_.error("cannot copy the ledger", {{"why", begun.error().message}});
      },
      [] {});
}

void Keeper::copy_ledger(model::Step last, std::function<void(Bytes)> done) {
  flush();
  auto bytes = std::make_shared<Bytes>();
  executor_.run(
      [files = files_, last, bytes] {
        if (!files->ledger) return;
        *bytes = data::encode_records(files->ledger->ledger(), model::Step(1), last.value());
      },
      [bytes, done = std::move(done)] { done(std::move(*bytes)); });
}

// A worker that begins with a checkpoint begins with what the others knew up to it.
Result<std::uint64_t> Keeper::begin_from_others(model::Step last) {
  os::Disk& disk = system_.disk();
  EDL_TRY(const std::vector<model::WorkerId> owners, data::ledger_owners(disk, dir_));
  data::LedgerMerge merge;
  for (const model::WorkerId& owner : owners) {
    EDL_TRY(const data::LedgerRead read, data::read_ledger(disk, data::ledger_path(dir_, owner)));
    merge.add(read.lines);
  }
  std::vector<model::LedgerRecord> records = merge.finish();
  const std::uint64_t kept = records.size();
  if (kept > last.value()) records.resize(last.value());
  const auto& own = files_->ledger->ledger().records();
  const auto [theirs, ours] = std::mismatch(records.begin(), records.end(), own.begin(), own.end());
  const auto appended = files_->ledger->append_chained({theirs, records.end()});
  // A full disk is no reason not to train: what it does not take is written later.
  const bool is_there = files_->ledger->ledger().records().size() >= records.size();
  if (!appended.ok() && !is_there) return appended.error();
  if (!appended.ok()) log_.error("cannot write the ledger", {{"why", appended.error().message}});
  return kept;
}

void Keeper::load(std::vector<StateTensor> tensors, std::vector<checkpoint::Recorded> recorded,
                  std::function<void(Result<Loaded>)> done) {
  auto outcome = std::make_shared<Result<Loaded>>(Loaded());
  executor_.run(
      [this, outcome, tensors = std::move(tensors), recorded = std::move(recorded)] {
        os::Disk& disk = system_.disk();
        const auto load = [&]() -> Result<Loaded> {
          checkpoint::Choice choice = checkpoint::newest_valid(disk, dir_, recorded);
          Loaded loaded{.passed_over = std::move(choice.passed_over)};
          if (!choice.checkpoint) {
            EDL_TRY(loaded.kept_steps, begin_from_others(model::Step()));
            return loaded;
          }
          EDL_TRY(checkpoint::load_checkpoint(disk, *choice.checkpoint, places_of(tensors)));
          loaded.state = choice.checkpoint->state;
          EDL_TRY(loaded.kept_steps, begin_from_others(loaded.state->position.step));
          return loaded;
        };
        *outcome = load();
      },
      [outcome, done = std::move(done)] { done(std::move(*outcome)); });
}

void Keeper::write(std::shared_ptr<const checkpoint::StateCopy> copy, OnPhase on_phase,
                   std::function<void(Result<checkpoint::Written>)> done) {
  flush();
  auto outcome = std::make_shared<Result<checkpoint::Written>>(checkpoint::Written());
  const Time began = system_.now();
  executor_.run(
      [this, outcome, copy, on_phase = std::move(on_phase), files = files_] {
        // The ledger is safe before a checkpoint says that its steps are.
        if (files->ledger) (void)files->ledger->sync();
        *outcome = checkpoint::write_checkpoint(
            system_.disk(), *copy,
            {.job_dir = dir_, .now = [] { return Time(); }, .on_phase = on_phase});
      },
      [this, outcome, began, done = std::move(done)] {
        if (outcome->ok()) (*outcome)->took = system_.now() - began;
        done(std::move(*outcome));
      });
}

void Keeper::write_model(std::shared_ptr<const checkpoint::StateCopy> copy,
                         std::function<void(Result<void>)> done) {
  flush();
  auto outcome = std::make_shared<Result<void>>();
  executor_.run(
      [this, outcome, copy, files = files_] {
        if (files->ledger) (void)files->ledger->sync();
        *outcome = checkpoint::write_final_model(system_.disk(), *copy, dir_);
      },
      [outcome, done = std::move(done)] { done(*outcome); });
}

void Keeper::prune(std::vector<checkpoint::Recorded> recorded) {
  executor_.run(
      [this, recorded = std::move(recorded)] {
        os::Disk& disk = system_.disk();
        const auto found = checkpoint::find_checkpoints(disk, dir_, recorded);
        if (!found.ok()) return;
        for (const model::Step step : checkpoint::expired(*found)) {
          const std::string path = text(dir_, "/checkpoints/", step);
          const auto names = disk.list(path);
          if (!names.ok()) continue;
          // The manifest first: without it the rest does not count.
          (void)disk.remove(path + "/MANIFEST.json");
          for (const std::string& name : *names) (void)disk.remove(path + "/" + name);
          (void)disk.remove(path);
        }
      },
      [] {});
}

}  // namespace edl::train
