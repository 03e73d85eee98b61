// What is computed next: the plan of a step, its parts, and which of them this member computes.
#include <algorithm>

#include "edl/base/random.h"
#include "edl/train/stepper.h"

namespace edl::train {
namespace {

// Of what logical worker v draws in a step, whoever carries it.
std::uint64_t random_seed(std::uint64_t seed, model::Step step, model::LogicalWorker v) {
  return mix64(mix64(mix64(seed) ^ step.value()) ^ v.value());
}

}  // namespace

std::optional<model::StepPlan> Stepper::plan_from(const model::Position& at) const {
  const model::SampleCount samples = trainee_.samples();
  if (!samples.is_known()) return model::next_step(at, extent_, view_->batch.global);
  return model::next_step(at, samples.known(), view_->batch.global);
}

std::uint32_t Stepper::filled_parts(const model::StepPlan& plan) const {
  return static_cast<std::uint32_t>(
      std::min<std::uint64_t>(plan.positions.size(), rules_.logical_workers));
}

Part Stepper::part_of(const model::StepPlan& plan, model::LogicalWorker v,
                      std::uint64_t micro) const {
  Part part{.step = plan.step,
            .epoch = plan.epoch,
            .v = v,
            .step_samples = plan.positions.size(),
            .micro = micro,
            .seed = seed_,
            .random_seed = random_seed(seed_, plan.step, v)};
  const model::PositionRange positions = plan.part(v, rules_.logical_workers);
  part.indices = model::sample_indices(positions, trainee_.samples(), seed_, plan.epoch);
  return part;
}

// The first of those that are missing, else one of the next step, when nothing changes until then.
std::optional<Part> Stepper::part_behind(const model::StepPlan& plan,
                                         std::span<const model::LogicalWorker> missing) const {
  if (!missing.empty()) return part_of(plan, missing.front(), view_->batch.micro);
  const model::Position after = plan.after();
  if (rules_.is_finished(after)) return std::nullopt;
  const std::optional<model::StepPlan> next = plan_from(after);
  const model::LogicalWorker v = view_->members[own_.value()].logical.front();
  if (!next || next->part(v, rules_.logical_workers).size() == 0) return std::nullopt;
  return part_of(*next, v, view_->batch.micro);
}

// The first parts of the step behind the one that is applied now. They need its state and nothing
// else, so nobody has to be asked in between; a view that changes meanwhile finds them like any.
std::shared_ptr<Stepper::Run> Stepper::run_ahead() {
  const model::Position next = after(record_);
  if (!view_ || run_ || rules_.is_finished(next)) return nullptr;
  const std::optional<model::StepPlan> plan = plan_from(next);
  if (!plan) return nullptr;
  set_plan(*plan);
  const auto missing = sums_.missing(view_->members[own_.value()].logical);
  return missing.empty() ? nullptr : run_of(*plan, missing);
}

std::vector<model::TreeNode> Stepper::own_nodes(std::uint32_t parts) const {
  std::vector<model::LogicalWorker> filled = view_->members[own_.value()].logical;
  std::erase_if(filled, [&](model::LogicalWorker v) { return v.value() >= parts; });
  return model::cover(filled, parts);
}

// Those that the first sum of ours that is not whole lacks.
std::shared_ptr<Stepper::Run> Stepper::run_of(
    const model::StepPlan& plan, const std::vector<model::LogicalWorker>& missing) const {
  auto run = std::make_shared<Run>();
  run->generation = view_->generation;
  run->nodes = own_nodes(filled_parts(plan));
  run->sends_early = !is_alone();
  run->shares_soon = events_.shares_soon();
  const auto is_of = [](const model::TreeNode& node, model::LogicalWorker v) {
    return node.lo <= v.value() && v.value() < node.hi;
  };
  const auto node = std::ranges::find_if(
      run->nodes, [&](const model::TreeNode& each) { return is_of(each, missing.front()); });
  EDL_CHECK(node != run->nodes.end());
  const auto end =
      std::ranges::find_if_not(missing, [&](model::LogicalWorker v) { return is_of(*node, v); });
  for (auto v = missing.begin(); v != end; ++v) {
    run->parts.push_back(part_of(plan, *v, view_->batch.micro));
  }
  if (trainee_.loads_ahead()) run->behind = part_behind(plan, std::span(end, missing.end()));
  run->evaluates = layout_.evaluation().is_due(plan.epoch, plan.positions.from);
  // The norm of a part needs all of it at once.
  run->streams = trainee_.streams_gradients() && !measures_noise(plan.step);
  run->slowness = slowness_;
  run->part_began = system_.now();
  return run;
}

}  // namespace edl::train
