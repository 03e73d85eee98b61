#include "edl/train/replay.h"

#include "edl/checkpoint/reader.h"
#include "edl/train/beginning.h"
#include "edl/train/job_rules.h"
#include "edl/train/transfer.h"

namespace edl::train {
namespace {

constexpr std::size_t kViewsMax = 1'000'000;

membership::Rules until(membership::Rules rules, model::Step last) {
  rules.steps = last.value();
  rules.epochs.reset();
  return rules;
}

}  // namespace

Json replay_json(const Json& spec, std::uint32_t logical_workers, const ReplayPlan& plan) {
  return {{"spec", spec},
          {"logical_workers", logical_workers},
          {"checkpoint", plan.checkpoint},
          {"views", plan.views},
          {"last", plan.last}};
}

Result<ReplayPlan> replay_plan_from(const Json& json) {
  JsonReader in(json, "replay");
  Json spec_json;
  Json views;
  std::uint32_t logical_workers = 0;
  ReplayPlan plan;
  in.read("spec", spec_json);
  in.read("logical_workers", logical_workers);
  in.read("checkpoint", plan.checkpoint);
  in.read("views", views);
  in.read("last", plan.last);
  EDL_TRY(in.finish());
  EDL_TRY(model::JobSpec spec, model::job_from(spec_json));
  spec.logical_workers = logical_workers;
  EDL_TRY(const model::FittedWorkers fitted, model::worker_range(spec));
  plan.rules = rules_of(spec, logical_workers, fitted.range);
  plan.seed = spec.seed;
  plan.init = spec.init;
  if (!views.is_array() || views.size() > kViewsMax) {
    return Error{Code::kInvalid, "replay: \"views\" must be a list"};
  }
  for (const Json& one : views) {
    EDL_TRY(model::View view, model::view_from(one));
    plan.views.push_back(std::move(view));
  }
  return plan;
}

model::View alone_in(const model::View& view, model::Step first, model::Epoch epoch,
                     std::uint64_t position) {
  model::View out = view;
  out.first_step = first;
  out.epoch = epoch;
  out.position = position;
  out.halt.clear();
  out.replays = view.crowd().members;
  model::Member all{.id = "replay", .address = {}, .host = {}, .logical = {}};
  for (std::uint32_t v = 0; v < view.logical_workers(); ++v) all.logical.emplace_back(v);
  out.members = {std::move(all)};
  return out;
}

Replay::Replay(os::System& system, Executor& executor, Trainee& trainee, ReplayPlan plan,
               Events events)
    : system_(system),
      executor_(executor),
      trainee_(trainee),
      plan_(std::move(plan)),
      events_(std::move(events)),
      stepper_(system, executor, trainee, until(plan_.rules, plan_.last), plan_.seed,
               {.applying = [](model::Step) {},
                .not_applied = [] {},
                .reduced = [] {},
                .completed = [this](const model::Position&, Duration) { completed(); },
                .stable = [](model::Step) {},
                .violated = [this](model::Rank, const Error& error) { events_.ended(error); },
                .wants = [](std::uint64_t) {},
                .failed = [this](model::Step, std::optional<model::LogicalWorker>,
                                 const Error& error) { events_.ended(error); },
                .computed = [](const Part&, model::Generation) {},
                .phase = [](Phase, model::Step) {},
                .shares_soon = [] { return false; },
                .goes_on = [] { return false; }}) {}

void Replay::start() {
  if (!trainee_.samples().is_known()) {
    return events_.ended(
        Error{Code::kInvalid,
              "a step of a stream cannot be computed again: which record has which "
              "number is known in the job's store alone"});
  }
  auto here = std::make_shared<Result<checkpoint::State>>(checkpoint::State());
  executor_.run([this, here] { *here = load(); },
                [this, here] {
                  if (!here->ok()) return events_.ended(here->error());
                  if (plan_.views.empty()) return events_.ended({});
                  stepper_.set_position((*here)->position, (*here)->trained_by);
                  enter_next();
                });
}

Result<checkpoint::State> Replay::load() {
  if (plan_.checkpoint.empty()) {
    EDL_TRY(begin(system_.disk(), trainee_, {plan_.seed, plan_.init}));
    return checkpoint::State();
  }
  EDL_TRY(const auto opened, checkpoint::open_checkpoint(system_.disk(), plan_.checkpoint));
  EDL_TRY(checkpoint::load_checkpoint(system_.disk(), opened, places_of(trainee_.state())));
  trainee_.loaded();
  return opened.state;
}

void Replay::enter_next() {
  const model::View& view = plan_.views[next_view_++];
  if (view.first_step != stepper_.here().step.next()) {
    return events_.ended(
        Error{Code::kCorrupt, text("view ", view.generation, " begins with step ", view.first_step,
                                   ", and the state is the one after ", stepper_.here().step)});
  }
  stepper_.enter(view, model::Rank(0), {nullptr});
}

void Replay::completed() {
  events_.step(stepper_.record());
  const model::Step here = stepper_.here().step;
  if (here >= plan_.last) return events_.ended({});
  if (next_view_ == plan_.views.size() || here.next() < plan_.views[next_view_].first_step) return;
  stepper_.leave();
  enter_next();
}

}  // namespace edl::train
