// Checkpoints, and how a job ends or waits.
#include <algorithm>

#include "edl/checkpoint/manifest.h"
#include "edl/train/worker.h"

namespace edl::train {
namespace {

constexpr Duration kResultLimit = 600s;
constexpr Duration kRecordAgain = 200ms;
constexpr Duration kWishAgain = 5s;
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

Error another_state() { return {Code::kConflict, "it holds another state now"}; }

}  // namespace

void Worker::checkpoint_if_due() {
  if (under_way_ || writing_) return;
  const std::string reason = due_reason();
  if (reason.empty()) return;
  log_.info("writes a checkpoint", {{"why", reason}});
  write_checkpoint([](const Result<checkpoint::Written>&) {});
}

// Empty: none is due. A wish that could not be fulfilled is not tried again with every step.
std::string Worker::due_reason() const {
  const model::Step newest = recorded_.empty() ? model::Step() : recorded_.back().step;
  const bool may_try = system_.now() >= wishes_wait_until_;
  if (may_try && wish_ > fulfilled_) return "edl checkpoint asked for it";
  if (may_try && saves_at_ > newest) return text("the program asked for it in step ", saves_at_);
  const auto decision = interval_.decide(system_.now(), stepper_.here().step);
  return decision.due ? decision.reason : "";
}

void Worker::on_checkpoint_key(const Json& value) {
  JsonReader in(value, "checkpoint");
  recorded_.clear();
  in.read_list("recorded", recorded_, checkpoint::recorded_from);
  std::uint64_t answers = 0;
  in.read_optional("answers", answers);
  fulfilled_ = std::max(fulfilled_, answers);
  if (const auto read = in.finish(); !read.ok()) {
    log_.error("cannot read the key of checkpoints", {{"why", read.error().message}});
    recorded_.clear();
  }
}

// While the job waits for workers, no step comes after which it could be due.
void Worker::on_save_key(const Json& value) {
  JsonReader in(value, "save");
  in.read("number", wish_);
  if (!in.finish().ok()) return;
  if (core().leads() && view_ && view_->halt == "waiting") checkpoint_if_due();
}

// A copy of the state now; it is written once its step is stable.
void Worker::write_checkpoint(OnWritten done) {
  const Time began = system_.now();
  copy_state([this, began, copied = Copied{state_number_, wish_},
              done = std::move(done)](std::shared_ptr<checkpoint::StateCopy> copy) mutable {
    if (copy == nullptr) return done(Error{Code::kExhausted, "the state could not be copied"});
    if (copied.state_number != state_number_) return done(another_state());
    copied.stall = system_.now() - began;
    interval_.begun(system_.now(), copy->state().position.step, copied.stall);
    under_way_ = CheckpointUnderWay{std::move(copy), copied, done};
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
      [this, copied = now.copied, ended](Result<checkpoint::Written> written) {
        if (!written.ok()) {
          log_.error("cannot write a checkpoint", {{"why", written.error().message}});
          wishes_wait_until_ = system_.now() + kWishAgain;
          return ended(written.error());
        }
        interval_.written(written->took);
        record_checkpoint(*written, copied, ended);
      });
}

// What is not recorded does not count. Only the leader records, and only of the state that it still
// has: after a loss of all members another history may have begun.
void Worker::record_checkpoint(const checkpoint::Written& written, const Copied& copied,
                               OnWritten done) {
  drill_.enter(Phase::kCheckpointRecord, written.step);
  if (ended_) return;
  if (copied.state_number != state_number_) return done(another_state());
  if (!core().leads()) return done(Error{Code::kConflict, "somebody else leads now"});
  std::vector<checkpoint::Recorded> recorded = recorded_;
  std::erase_if(recorded, [&](const auto& one) { return one.step >= written.step; });
  recorded.push_back({written.step, written.generation});
  if (recorded.size() > kRecordedMax) recorded.erase(recorded.begin());
  const Json told{{"bytes", written.bytes},
                  {"stall_ms", seconds(copied.stall) * 1000},
                  {"write_ms", seconds(written.took) * 1000}};
  Json value = checkpoint_value(recorded, std::max(copied.answers, fulfilled_));
  value["state_hash"] = written.state_hash;
  value.update(told);
  const auto tell = [this, written, copied, done, recorded, told](Result<bool> wrote) {
    if (!wrote.ok()) {
      // The store is away or did not answer; the same again does no harm.
      recording_ = system_.after(kRecordAgain, [this, written, copied, done] {
        record_checkpoint(written, copied, done);
      });
      return;
    }
    if (!*wrote) return done(Error{Code::kConflict, "somebody else leads now"});
    recorded_ = recorded;
    fulfilled_ = std::max(copied.answers, fulfilled_);
    if (saves_at_ <= written.step) saves_at_ = model::Step();
    keeper_.prune(recorded);
    Json event{{"event", "checkpoint"},
               {"at", seconds(system_.wall_time().time_since_epoch())},
               {"step", written.step},
               {"path", written.path}};
    event.update(told);
    reporter_.add_own(written.step, std::move(event));
    flush_reports();
    done(written);
  };
  recording_ = membership_.write_as_leader(membership_.keys().checkpoint(), json_line(value), tell);
}

// What the key `checkpoint` says: the newest one that counts, and all that do.
Json Worker::checkpoint_value(const std::vector<checkpoint::Recorded>& recorded,
                              std::uint64_t answers) const {
  const checkpoint::Recorded last = recorded.empty() ? checkpoint::Recorded() : recorded.back();
  return {{"step", last.step},
          {"path", recorded.empty() ? "" : checkpoint::checkpoint_path(options_.dir, last.step)},
          {"host", options_.membership.host},
          {"generation", last.generation},
          {"recorded", recorded},
          {"answers", answers}};
}

// All members were lost, and what goes on may be older than what was recorded last: from the moment
// of the view on that is past, and comes back in no later loss.
std::vector<store::Change::Put> Worker::beside_view(const model::View& view) const {
  std::vector<checkpoint::Recorded> recorded = recorded_;
  std::erase_if(recorded, [&](const auto& one) { return one.step >= view.first_step; });
  if (view.cause != model::Cause::kResume || recorded.size() == recorded_.size()) return {};
  return {{membership_.keys().checkpoint(), json_line(checkpoint_value(recorded, fulfilled_)), 0}};
}

void Worker::act(const membership::Halt& halt) {
  ++halts_;
  log_.info("halts", {{"why", halt.reason}});
  const bool is_finished = halt.kind == membership::HaltKind::kFinished;
  if (trainee_.follows_views() && (is_finished || halt.kind == membership::HaltKind::kStopped)) {
    training_.run([this, is_finished] { trainee_.ended(is_finished); }, [] {});
  }
  if (!halt.leads) {
    if (halt.kind == membership::HaltKind::kAbandoned) end(0, halt.reason);
    return;
  }
  if (halt.kind == membership::HaltKind::kFinished) {
    return evaluate_last([this, halt] { finish(halt); });
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
  const std::uint64_t in_epoch = catalog_ ? catalog_->extent().records : trainee_.samples().known();
  const std::uint64_t samples = here.epoch.value() * in_epoch + here.position;
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
