// Checkpoints, and how a job ends or waits.
#include <algorithm>

#include "edl/checkpoint/manifest.h"
#include "edl/train/worker.h"

namespace edl::train {
namespace {

constexpr Duration kResultLimit = 600s;
constexpr Duration kRecordAgain = 200ms;
constexpr std::size_t kRecordedMax = 16;

model::FaultPhase fault_phase(checkpoint::Phase phase) {
  switch (phase) {
    case checkpoint::Phase::kWrite:
      return Phase::kCheckpointWrite;
    case checkpoint::Phase::kSync:
      return Phase::kCheckpointSync;
    case checkpoint::Phase::kRename:
      return Phase::kCheckpointRename;
  }
  return Phase::kCheckpointWrite;
}

// What the key `checkpoint` says: the newest one that counts, and all that do.
Json checkpoint_value(const std::vector<checkpoint::Recorded>& recorded, const std::string& path,
                      const std::string& host) {
  const checkpoint::Recorded last = recorded.empty() ? checkpoint::Recorded() : recorded.back();
  return {{"step", last.step},
          {"path", path},
          {"host", host},
          {"generation", last.generation},
          {"recorded", recorded}};
}

Error another_state() { return {Code::kConflict, "it holds another state now"}; }

}  // namespace

void Worker::checkpoint_if_due() {
  if (under_way_ || writing_) return;
  const auto decision = interval_.decide(system_.now(), stepper_.here().step);
  if (!decision.due) return;
  log_.info("writes a checkpoint", {{"why", decision.reason}});
  write_checkpoint([](const Result<checkpoint::Written>&) {});
}

// A copy of the state now; it is written once its step is stable.
void Worker::write_checkpoint(std::function<void(Result<checkpoint::Written>)> done) {
  const Time began = system_.now();
  copy_state([this, began, number = state_number_,
              done = std::move(done)](std::shared_ptr<checkpoint::StateCopy> copy) {
    if (copy == nullptr) return done(Error{Code::kExhausted, "the state could not be copied"});
    if (number != state_number_) return done(another_state());
    const Duration stall = system_.now() - began;
    interval_.begun(system_.now(), copy->state().position.step, stall);
    under_way_ = CheckpointUnderWay{std::move(copy), number, stall, done};
    write_when_stable();
  });
}

// One at a time, until it is recorded; the next one, perhaps the last of the job, waits for it.
void Worker::write_when_stable() {
  if (!under_way_ || writing_ || under_way_->copy->state().position.step > stable_) return;
  writing_ = true;
  CheckpointUnderWay now = std::move(*under_way_);
  under_way_.reset();
  const model::Step step = now.copy->state().position.step;
  const auto ended = [this, done = now.done](Result<checkpoint::Written> written) {
    writing_ = false;
    done(std::move(written));
    write_when_stable();
  };
  keeper_.write(
      now.copy,
      [this, step](checkpoint::Phase phase) { drill_.enter_off_loop(fault_phase(phase), step); },
      [this, number = now.state_number, stall = now.stall,
       ended](Result<checkpoint::Written> written) {
        if (!written.ok()) {
          log_.error("cannot write a checkpoint", {{"why", written.error().message}});
          return ended(written.error());
        }
        interval_.written(written->took);
        record_checkpoint(*written, number, stall, ended);
      });
}

// What is not recorded does not count. Only the leader records, and only of the state that it still
// has: after a loss of all members another history may have begun.
void Worker::record_checkpoint(const checkpoint::Written& written, std::uint64_t state_number,
                               Duration stall,
                               std::function<void(Result<checkpoint::Written>)> done) {
  drill_.enter(Phase::kCheckpointRecord, written.step);
  if (ended_) return;
  if (state_number != state_number_) return done(another_state());
  if (!core().leads()) return done(Error{Code::kConflict, "somebody else leads now"});
  std::vector<checkpoint::Recorded> recorded = recorded_;
  std::erase_if(recorded, [&](const auto& one) { return one.step >= written.step; });
  recorded.push_back({written.step, written.generation});
  if (recorded.size() > kRecordedMax) recorded.erase(recorded.begin());
  Json value = checkpoint_value(recorded, written.path, options_.membership.host);
  value["state_hash"] = written.state_hash;
  const auto tell = [this, written, state_number, stall, done, recorded](Result<bool> wrote) {
    if (!wrote.ok()) {
      // The store is away or did not answer; the same again does no harm.
      recording_ = system_.after(kRecordAgain, [this, written, state_number, stall, done] {
        record_checkpoint(written, state_number, stall, done);
      });
      return;
    }
    if (!*wrote) return done(Error{Code::kConflict, "somebody else leads now"});
    recorded_ = recorded;
    keeper_.prune(recorded);
    reporter_.add_own(written.step, {{"event", "checkpoint"},
                                     {"at", seconds(system_.wall_time().time_since_epoch())},
                                     {"step", written.step},
                                     {"path", written.path},
                                     {"bytes", written.bytes},
                                     {"stall_ms", seconds(stall) * 1000},
                                     {"write_ms", seconds(written.took) * 1000}});
    flush_reports();
    done(written);
  };
  recording_ = membership_.write_as_leader(membership_.keys().checkpoint(), json_line(value), tell);
}

// All members were lost, and what goes on may be older than what was recorded last: from the moment
// of the view on that is past, and comes back in no later loss.
std::vector<store::Change::Put> Worker::beside_view(const model::View& view) const {
  std::vector<checkpoint::Recorded> recorded = recorded_;
  std::erase_if(recorded, [&](const auto& one) { return one.step >= view.first_step; });
  if (view.cause != model::Cause::kResume || recorded.size() == recorded_.size()) return {};
  const std::string path =
      recorded.empty() ? "" : checkpoint::checkpoint_path(options_.dir, recorded.back().step);
  const Json value = checkpoint_value(recorded, path, options_.membership.host);
  return {{membership_.keys().checkpoint(), json_line(value), 0}};
}

void Worker::act(const membership::Halt& halt) {
  ++halts_;
  log_.info("halts", {{"why", halt.reason}});
  if (!halt.leads) {
    if (halt.kind == membership::HaltKind::kAbandoned) end(0, halt.reason);
    return;
  }
  if (halt.kind != membership::HaltKind::kWaiting) return finish(halt);
  write_progress();
  const bool is_kept = !recorded_.empty() && recorded_.back().step == halt.step;
  if (!is_kept) write_checkpoint([](const Result<checkpoint::Written>&) {});
}

void Worker::finish(const membership::Halt& halt) {
  write_checkpoint([this, halt, number = halts_](Result<checkpoint::Written> written) {
    if (ended_ || number != halts_) return;
    if (!written.ok()) {
      // Nobody ends before the last state is safe; it is tried as long as we lead.
      if (!core().leads()) return;
      recording_ = system_.after(1s, [this, halt, number] {
        if (number == halts_) finish(halt);
      });
      return;
    }
    if (halt.kind == membership::HaltKind::kAbandoned) return end(0, halt.reason);
    if (halt.kind != membership::HaltKind::kFinished) return put_result(halt, *written);
    copy_state([this, halt, written = *written](std::shared_ptr<checkpoint::StateCopy> copy) {
      if (copy == nullptr) return end(1, "the final state could not be copied");
      keeper_.write_model(copy, [this, halt, written](const Result<void>& wrote) {
        if (!wrote.ok()) return end(1, wrote.error().message);
        put_result(halt, written);
      });
    });
  });
}

void Worker::put_result(const membership::Halt& halt, const checkpoint::Written& written) {
  const model::Position& here = stepper_.here();
  const std::uint64_t samples = here.epoch.value() * trainee_.samples() + here.position;
  const double wall = seconds(system_.wall_time().time_since_epoch());
  const double lasted =
      options_.job_started > 0 ? wall - options_.job_started : seconds(system_.now() - started_);
  const Json value{{"state", name(halt.kind)}, {"step", here.step},
                   {"steps", here.step},       {"epoch", here.epoch},
                   {"epochs", here.epoch},     {"position", here.position},
                   {"samples", samples},       {"state_hash", written.state_hash},
                   {"seconds", lasted},        {"metrics", model::numbers_json(metrics_)},
                   {"reason", halt.reason}};
  resulting_ = store::put_if_absent(store_, membership_.keys().result(), json_line(value),
                                    kResultLimit, [](const Result<std::string>&) {});
}

}  // namespace edl::train
