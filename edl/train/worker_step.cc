// What a worker does around each step: tells, keeps and gives on what is stable.
#include <algorithm>

#include "edl/base/json_object.h"
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
  // By a joiner, too: all who computed it may die before they tell.
  report_step(record, took);
  if (!record.evaluation.empty()) report_evaluation(record);
  if (stepper_.saves()) saves_at_ = here.step;
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
  if (auto cost = pause_.completed(system_.now(), membership_.silence().median_step());
      cost && view_) {
    reporter_.add(
        ViewReport{.at = wall_seconds(system_), .view = *view_, .cost = *std::move(cost)});
  }
  make_late_copies();
  if (view_ && view_->members.size() == 1) on_stable(here.step);
  membership_.on_worked(stepper_.speed(), stepper_.take_mark());
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
    const std::uint64_t end = record.position + record.samples;
    after_stable_ = record.ends_epoch ? model::Position{record.epoch.next(), 0, record.step}
                                      : model::Position{record.epoch, end, record.step};
    unstable_.pop_front();
  }
  reporter_.on_stable(step);
  giver_.on_stable(step);
  flush_reports();
  write_when_stable();
}

void Worker::report_step(const model::StepRecordHeader& record, Duration took) {
  const double second = seconds(took);
  last_loss_ = record.mean_loss();
  const double rate = second > 0 ? static_cast<double>(record.samples) / second : 0;
  if (second > 0) speed_ = speed_ == 0 ? rate : 0.9 * speed_ + 0.1 * rate;
  const auto lr = record.hyper.find("lr");
  model::NamedNumbers metrics = record.metric_sums;
  for (auto& [name, value] : metrics) value /= static_cast<double>(record.samples);
  reporter_.add(
      StepReport{.at = wall_seconds(system_),
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
                 .metrics = std::move(metrics),
                 .digest = record.digest,
                 .ends_epoch = record.ends_epoch});
}

void Worker::report_view(const model::View& view) {
  reporter_.add(ViewReport{.at = wall_seconds(system_), .view = view});
  flush_reports();
}

Json Worker::metric_event(const model::Position& after, const std::string& name,
                          double value) const {
  // The last epoch of which something was trained.
  const std::uint64_t epoch = after.epoch.value() - (after.position == 0 ? 1 : 0);
  return json_object({{"event", "metric"},
                      {"at", wall_seconds(system_)},
                      {"step", after.step},
                      {"epoch", epoch},
                      {"name", name},
                      {"value", model::number_json(value)}});
}

void Worker::act(const membership::Warn& warn) {
  reporter_.add_own(stepper_.here().step, json_object({{"event", "warning"},
                                                       {"at", wall_seconds(system_)},
                                                       {"host", options_.membership.host},
                                                       {"reason", warn.reason}}));
  flush_reports();
}

// What this step measured of the state before it; stable when the step is.
void Worker::report_evaluation(const model::StepRecordHeader& record) {
  metrics_ = record.evaluation;
  const model::Position measured{record.epoch, record.position,
                                 model::Step(record.step.value() - 1)};
  for (const auto& [name, value] : record.evaluation) {
    reporter_.add(record.step, metric_event(measured, name, value));
  }
}

// Of a state that no step follows.
void Worker::evaluate_last(std::function<void()> done) {
  auto outcome = std::make_shared<Result<model::NamedNumbers>>(model::NamedNumbers());
  training_.run(
      [this, outcome] {
        *outcome = Evaluation(trainee_).whole(trainee_, options_.membership.rules.logical_workers);
      },
      [this, outcome, number = halts_, done = std::move(done)] {
        if (ended_ || number != halts_) return;
        if (!outcome->ok()) return end(1, outcome->error().message);
        if (!(*outcome)->empty()) metrics_ = **outcome;
        const model::Position& here = stepper_.here();
        for (const auto& [name, value] : **outcome) {
          reporter_.add_own(here.step, metric_event(here, name, value));
        }
        flush_reports();
        done();
      });
}

void Worker::trace(const Part& part, model::Generation generation) {
  if (!trace_) return;
  const auto where = trainee_.where(part);
  if (!where.ok()) log_.error("cannot say where samples lie", {{"why", where.error().message}});
  const auto written = trace_->add({.step = part.step,
                                    .epoch = part.epoch,
                                    .v = part.v,
                                    .generation = generation,
                                    .worker = options_.membership.id,
                                    .indices = part.indices,
                                    .where = where.ok() ? *where : std::vector<data::Place>()});
  if (!written.ok()) log_.error("cannot trace a part", {{"why", written.error().message}});
}

void Worker::flush_reports() {
  std::vector<Report> events = reporter_.take();
  if (!events.empty()) events_.events(std::move(events));
}

// At the present speed; nothing when it is not known how much is left.
std::optional<double> Worker::seconds_left() const {
  const model::Position& here = stepper_.here();
  const membership::Rules& rules = options_.membership.rules;
  const model::SampleCount samples = trainee_.samples();
  if (speed_ <= 0 || !view_) return std::nullopt;
  std::optional<double> left;
  if (rules.epochs && samples.is_known()) {
    const auto whole = static_cast<double>(samples.known());
    const double done =
        static_cast<double>(here.epoch.value()) * whole + static_cast<double>(here.position);
    left = static_cast<double>(*rules.epochs) * whole - done;
  }
  if (rules.steps) {
    const double steps =
        static_cast<double>(*rules.steps - std::min(*rules.steps, here.step.value())) *
        static_cast<double>(view_->batch.global);
    left = std::min(left.value_or(steps), steps);
  }
  if (!left) return std::nullopt;
  return std::max(0.0, *left) / speed_;
}

// For people, once a second; what decides is elsewhere.
void Worker::write_progress() {
  const model::Position& here = after_stable_;
  const bool lacks_samples = core().is_training() && stepper_.lacks_samples();
  const bool is_running = core().is_training() && !lacks_samples;
  Json value{{"step", here.step},
             {"epoch", here.epoch},
             {"position", here.position},
             {"loss", model::number_json(last_loss_)},
             {"samples_per_second", speed_},
             {"state", is_running ? "running" : "waiting"},
             {"reason", core().waits_for()}};
  if (lacks_samples) {
    value["reason"] =
        text("the stream has ", catalog_->extent().records, " records so far, and a step needs ",
             view_->batch.global, " behind position ", stepper_.here().position,
             " and one more, or its end");
  }
  if (const auto left = seconds_left()) value["seconds_left"] = *left;
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
