// What a worker does around each step: tells, keeps and gives on what is stable.
#include <algorithm>

#include "edl/batch/goodput.h"
#include "edl/train/worker.h"

namespace edl::train {
namespace {

constexpr std::uint64_t kBatchEvery = 50;  // steps

double wall_seconds(os::System& system) { return seconds(system.wall_time().time_since_epoch()); }

}  // namespace

void Worker::on_completed(const model::Position& here, Duration took) {
  if (!core().has_state()) return membership_.on_completed(here, {});  // it was dropped meanwhile
  const model::StepRecordHeader& record = stepper_.record();
  const bool was_member = core().is_member();
  unstable_.push_back(record);
  giver_.on_completed(record, stepper_.reduced());
  report_step(record, took);  // by a joiner, too: all who computed it may die before they tell
  if (!was_member) {
    // Records that are applied before they are stable were asked for by the leader.
    const bool is_stable = joiner_.is_stable(here.step);
    if (is_stable) on_stable(here.step);
    const std::uint64_t number = state_number_;
    if (is_stable) {
      membership_.on_state(here);
    } else {
      membership_.on_completed(here, {});
    }
    if (number == state_number_) joiner_.applied(here.step);
    return;
  }
  if (here.position == 0) evaluate(record.step, record.epoch);
  if (auto cost = pause_.completed(system_.now(), membership_.silence().median_step());
      cost && view_) {
    Json event = *view_;
    event.update(*cost);
    event["event"] = "view";
    event["at"] = wall_seconds(system_);
    reporter_.add(view_->generation, std::move(event));
  }
  if (view_ && view_->members.size() == 1) on_stable(here.step);
  if (stepper_.speed() > 0) membership_.on_speed(stepper_.speed());
  membership_.on_completed(here, took);
  if (core().leads() && core().is_training()) checkpoint_if_due();
  if (core().leads() && core().is_training()) choose_batch();
}

// Now and then, when enough was measured with the present batch.
void Worker::choose_batch() {
  const membership::Rules& rules = options_.membership.rules;
  if (rules.policy != model::BatchPolicy::kAdaptive || !view_) return;
  const model::Step here = stepper_.here().step;
  const model::Step since = std::max(batch_chosen_at_, view_->first_step);
  const auto noise = stepper_.noise().samples();
  if (here.value() < since.value() + kBatchEvery || !noise || stepper_.speed() <= 0) return;
  batch_chosen_at_ = here;
  // Members carry about what they can compute in the same time, so our own time is that of all.
  const auto rank = view_->rank_of(options_.membership.id);
  const double share = static_cast<double>(view_->members[rank->value()].logical.size()) /
                       static_cast<double>(rules.logical_workers);
  if (share == 0) return;
  const double per_sample = share / stepper_.speed();
  const double step = seconds(membership_.silence().median_step());
  const double computing = per_sample * static_cast<double>(view_->batch.global);
  const auto choice = batch::better_batch({std::max(0.0, step - computing), per_sample}, *noise,
                                          {.least = rules.batch,
                                           .most = rules.batch_max.value_or(rules.batch),
                                           .logical_workers = rules.logical_workers},
                                          view_->batch.global);
  if (choice) membership_.on_batch(choice->global, choice->reason);
}

void Worker::on_stable(model::Step step) {
  if (step <= stable_) return;
  stable_ = step;
  while (!unstable_.empty() && unstable_.front().step <= step) {
    const model::StepRecordHeader& record = unstable_.front();
    drill_.enter(Phase::kLedger, record.step);
    keeper_.add_step({.generation = record.generation,
                      .step = record.step,
                      .epoch = record.epoch,
                      .position = record.position,
                      .samples = record.samples,
                      .applied = record.applied,
                      .digest = record.digest});
    unstable_.pop_front();
  }
  reporter_.on_stable(step);
  giver_.on_stable(step);
  flush_reports();
  write_when_stable();
}

void Worker::report_step(const model::StepRecordHeader& record, Duration took) {
  const double second = seconds(took);
  last_loss_ = record.samples > 0 ? record.loss_sum / static_cast<double>(record.samples) : 0;
  const double rate = second > 0 ? static_cast<double>(record.samples) / second : 0;
  speed_ = speed_ == 0 ? rate : 0.9 * speed_ + 0.1 * rate;
  const auto lr = record.hyper.find("lr");
  reporter_.add({.at = wall_seconds(system_),
                 .step = record.step,
                 .epoch = record.epoch,
                 .position = record.position,
                 .samples = record.samples,
                 .loss = last_loss_,
                 .lr = lr == record.hyper.end() ? std::nullopt : std::optional(lr->second),
                 .workers = core().view() ? core().view()->members.size() : 1,
                 .generation = record.generation,
                 .step_ms = second * 1000,
                 .samples_per_second = speed_,
                 .applied = record.applied,
                 .noise_scale = stepper_.noise().samples(),
                 .digest = record.digest,
                 .ends_epoch = record.position + record.samples >= trainee_.samples()});
}

void Worker::report_view(const model::View& view) {
  Json event = view;
  event["event"] = "view";
  event["at"] = wall_seconds(system_);
  reporter_.add(view.generation, std::move(event));
  flush_reports();
}

// On the state as the epoch left it: the executor has nothing else to do before.
void Worker::evaluate(model::Step step, model::Epoch epoch) {
  auto numbers = std::make_shared<model::NamedNumbers>();
  training_.run([this, numbers] { *numbers = trainee_.evaluate(); },
                [this, numbers, step, epoch, number = state_number_] {
                  if (number != state_number_) return;
                  metrics_ = *numbers;
                  for (const auto& [name, value] : *numbers) {
                    reporter_.add(step, {{"event", "metric"},
                                         {"at", wall_seconds(system_)},
                                         {"step", step},
                                         {"epoch", epoch},
                                         {"name", name},
                                         {"value", model::number_json(value)}});
                  }
                });
}

void Worker::trace(const Part& part, model::Generation generation) {
  if (!trace_) return;
  const auto written = trace_->add({.step = part.step,
                                    .epoch = part.epoch,
                                    .v = part.v,
                                    .generation = generation,
                                    .worker = options_.membership.id,
                                    .indices = part.indices});
  if (!written.ok()) log_.error("cannot trace a part", {{"why", written.error().message}});
}

void Worker::flush_reports() {
  std::vector<Json> events = reporter_.take();
  if (!events.empty()) events_.events(std::move(events));
}

// For people, once a second; what decides is elsewhere.
void Worker::write_progress() {
  const model::Position& here = stepper_.here();
  const membership::Rules& rules = options_.membership.rules;
  Json value{{"step", stable_},
             {"epoch", here.epoch},
             {"position", here.position},
             {"loss", model::number_json(last_loss_)},
             {"samples_per_second", speed_},
             {"state", core().is_training() ? "running" : "waiting"},
             {"reason", core().waits_for()}};
  if (speed_ > 0 && view_) {
    double left = 0;
    const double samples = static_cast<double>(trainee_.samples());
    if (rules.epochs) {
      const double done =
          static_cast<double>(here.epoch.value()) * samples + static_cast<double>(here.position);
      left = static_cast<double>(*rules.epochs) * samples - done;
    }
    if (rules.steps) {
      const double steps =
          static_cast<double>(*rules.steps - std::min(*rules.steps, here.step.value())) *
          static_cast<double>(view_->batch.global);
      left = rules.epochs ? std::min(left, steps) : steps;
    }
    value["seconds_left"] = std::max(0.0, left) / speed_;
  }
  if (const auto pause = pause_.expected(model::Cause::kScale)) {
    value["planned_pause_ms"] = seconds(pause->whole) * 1000;
  }
  progressing_ =
      membership_.write_as_leader(membership_.keys().progress(), json_line(value),
                                  [this, began = system_.now()](const Result<bool>& written) {
                                    if (written.ok()) pause_.store_answered(system_.now() - began);
                                  });
}

}  // namespace edl::train
