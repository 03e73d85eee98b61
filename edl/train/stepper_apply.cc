// What is done with a step that is reduced: its record, the trainee's update, what is next.
#include "edl/train/stepper.h"

namespace edl::train {
namespace {

// How often the noise is measured where nobody waits for it: it costs a small model a sixth of a
// step, so that who has measured it for a while does it less.
constexpr std::uint64_t kNoiseEvery = 16;
constexpr std::uint64_t kNoiseOftenUntil = 256;
constexpr std::uint64_t kNoiseEveryLater = 64;
// How long a step takes at most where it is worth while to go on without asking: two threads that
// wake each other cost about half a millisecond, and to go on costs the memory of one more record.
constexpr Duration kGoesOnBelow = 100ms;

}  // namespace

// What was read of it by others is stable, so its memory is free for the next sums. Its digest is
// made while it is applied.
void Stepper::reduce_alone() {
  const model::TreeNode all{0, sums_.parts()};
  if (!sums_.has(all)) return;
  const model::Step step = plan_->step;
  for (const Phase phase : {Phase::kReduce, Phase::kGather}) {
    events_.phase(phase, step);
    if (!view_) return;
  }
  events_.stable(model::Step(step.value() - 1));
  sums_.exchange(all, reduced_);
  begin_record(step);
  apply_reduced();
  record_.digest = collective::step_digest(layout_.layout(), reduced());
}

void Stepper::on_reduced(model::Step step, const model::Digest& digest) {
  begin_record(step);
  record_.digest = digest;
  apply_reduced();
}

model::StepRecordHeader Stepper::record_of(const model::StepPlan& plan) const {
  model::StepRecordHeader record;
  record.generation = view_->generation;
  record.members = view_->crowd().members;
  record.step = plan.step;
  record.epoch = plan.epoch;
  record.position = plan.positions.from;
  record.samples = plan.positions.size();
  record.ends_epoch = plan.ends_epoch;
  record.hyper["lr_factor"] = lr_factor(record);
  return record;
}

void Stepper::begin_record(model::Step step) {
  EDL_CHECK(plan_ && plan_->step == step);
  record_ = record_of(*plan_);
  begun_ = false;
}

// The same steps on every member, so that the sums are equal.
bool Stepper::measures_noise(model::Step step) const {
  if (rules_.logical_workers < 2) return false;
  if (rules_.policy == model::BatchPolicy::kAdaptive) return true;
  const bool is_early = step.value() <= kNoiseOftenUntil;
  return step.value() % (is_early ? kNoiseEvery : kNoiseEveryLater) == 0;
}

void Stepper::measure_noise(double whole) {
  std::vector<batch::PartNorm> parts;
  for (std::uint32_t v = 0; v < record_.squared_norms.size(); ++v) {
    const auto samples =
        model::part_size(record_.samples, rules_.logical_workers, model::LogicalWorker(v));
    parts.push_back({samples, record_.squared_norms[v]});
  }
  noise_.measure(parts, whole);
}

// A function of the view and of the samples up to the end of the step.
double Stepper::lr_factor(const model::StepRecordHeader& record) const {
  const batch::Rate rate{view_->lr_factor, view_->ramp};
  return rate.at(record.step) * batch::warmup_factor(seen(record), rules_.warmup_samples);
}

Result<void> Stepper::apply(RecordCopy& copy) {
  const model::StepRecordHeader& record = copy.header;
  if (record.step != here_.step.next() || record.epoch != here_.epoch ||
      record.position != here_.position) {
    return Error{Code::kInvalid,
                 text("the record of step ", record.step, " does not follow step ", here_.step)};
  }
  if (copy.size != layout_.layout().reduced_bytes()) {
    return Error{Code::kInvalid, text("a record of ", copy.size, " bytes; this job's have ",
                                      layout_.layout().reduced_bytes())};
  }
  if (view_ || applying_) return Error{Code::kConflict, "a step is being trained"};
  reduced_.swap(copy.numbers);
  record_ = record;
  apply_reduced();
  return {};
}

model::Position Stepper::after(const model::StepRecordHeader& record) const {
  if (record.ends_epoch) return {record.epoch.next(), 0, record.step};
  return {record.epoch, record.position + record.samples, record.step};
}

std::uint64_t Stepper::seen(const model::StepRecordHeader& record) const {
  const model::SampleCount samples = trainee_.samples();
  const std::uint64_t before = samples.is_known() ? record.epoch.value() * samples.known() : 0;
  return before + record.position + record.samples;
}

std::optional<std::uint32_t> Stepper::members_before(const model::StepRecordHeader& record) const {
  const bool is_first = trained_by_.members == 0;
  if (is_first || trained_by_.generation == record.generation) return std::nullopt;
  return trained_by_.members;
}

void Stepper::apply_reduced() {
  applying_ = true;
  events_.applying(record_.step);
  events_.phase(Phase::kApply, record_.step);
  layout_.read(reduced(), record_);
  const std::shared_ptr<Run> ahead = run_ahead();
  auto outcome = std::make_shared<Outcome>();
  executor_.run(
      [this, outcome, ahead] {
        *outcome = update(record_, reduced(), members_before(record_));
        if (!ahead) return;
        ahead->part_began = system_.now();
        if (!outcome->applied.ok()) ahead->is_void->raise();
      },
      [this, outcome] { applied(*outcome); });
  if (ahead) start(ahead);
  events_.reduced();
}

// By the executor.
Stepper::Outcome Stepper::update(const model::StepRecordHeader& record, ConstBytes reduced,
                                 std::optional<std::uint32_t> members_before) {
  Outcome outcome;
  const std::vector<ConstBytes> spans = layout_.cut(reduced);
  const auto factor = record.hyper.find("lr_factor");
  if (!record.squared_norms.empty()) outcome.norm = layout_.squared_norm(reduced);
  outcome.applied =
      trainee_.apply({.step = record.step,
                      .generation = record.generation,
                      .epoch = record.epoch,
                      .samples = record.samples,
                      .seen = seen(record),
                      .loss = record.mean_loss(),
                      .lr_factor = factor == record.hyper.end() ? 1.0 : factor->second,
                      .lr_rule = rules_.lr_rule,
                      .found_inf = record.found_inf,
                      .sums = layout_.of_trainee(spans),
                      .evaluation = record.evaluation,
                      .members = record.members,
                      .members_before = members_before});
  if (record.members > 1 && outcome.applied.ok()) {
    outcome.block = blocks_.hash(trainee_, record.step);
  }
  return outcome;
}

void Stepper::applied(const Outcome& outcome) {
  applying_ = false;
  if (!outcome.applied.ok()) {
    return events_.failed(record_.step, std::nullopt, outcome.applied.error());
  }
  record_.applied = outcome.applied->applied;
  saves_ = outcome.applied->saves;
  if (outcome.norm && record_.applied) measure_noise(*outcome.norm);
  if (outcome.block) watch_.add(record_.step, *outcome.block);
  for (const auto& [name, value] : outcome.applied->hyper) record_.hyper[name] = value;
  here_ = after(record_);
  trained_by_ = {record_.generation, record_.members};
  const Time now = system_.now();
  const Duration took = last_completed_ == Time() ? Duration() : now - last_completed_;
  last_completed_ = now;
  events_.completed(here_, took);
  begin_step();
  permit_to_go_on(took);
}

// The step that is computed now may be applied as soon as its parts are there. All that must see
// the state before it has been asked of the executor by now.
void Stepper::permit_to_go_on(Duration took) {
  const bool is_short = took > Duration() && took < kGoesOnBelow;
  if (!is_short || !view_ || !begun_ || applying_ || !run_ || run_->going_on) return;
  if (!is_alone() || !events_.goes_on()) return;
  auto by = std::make_unique<GoingOn>();
  by->record = record_of(*plan_);
  by->members_before = members_before(by->record);
  const model::Position next = plan_->after();
  const auto plan = rules_.is_finished(next) ? std::nullopt : plan_from(next);
  if (plan) {
    std::vector<model::LogicalWorker> all;
    for (std::uint32_t v = 0; v < filled_parts(*plan); ++v) all.emplace_back(v);
    by->plan = *plan;
    by->next = run_of(*plan, all);
    by->next->is_void = run_->is_void;
  }
  if (!spare_) spare_ = zero_numbers(layout_.layout().reduced_bytes());
  by->reduced = std::move(spare_);
  applying_ = true;
  events_.applying(plan_->step);
  run_->going_on = std::move(by);
  run_->permit.give();
}

// By the executor.
bool Stepper::go_on(std::shared_ptr<Run>& run) {
  if (run->is_void->is_raised() || !run->permit.use()) return false;
  GoingOn& by = *run->going_on;
  sums_.exchange({0, sums_.parts()}, by.reduced);
  const ConstBytes reduced(by.reduced.get(), layout_.layout().reduced_bytes());
  layout_.read(reduced, by.record);
  by.outcome = update(by.record, reduced, by.members_before);
  by.is_applied = true;
  if (!by.next || !by.outcome.applied.ok()) return false;
  sums_.begin(filled_parts(by.plan));
  by.next->part_began = system_.now();
  const std::shared_ptr<Run> behind = std::exchange(run, by.next);
  executor_.tell([this, behind] {
    run_ = behind->going_on->next;
    plan_ = behind->going_on->plan;
    measure(*behind);
    went_on(*behind->going_on);
  });
  return true;
}

void Stepper::went_on(GoingOn& by) {
  ++gone_on_;
  events_.stable(here_.step);
  spare_ = std::exchange(reduced_, std::move(by.reduced));
  record_ = std::move(by.record);
  record_.digest = collective::step_digest(layout_.layout(), reduced());
  begun_ = false;
  applied(by.outcome);
}

}  // namespace edl::train
