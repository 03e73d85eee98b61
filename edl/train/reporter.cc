#include "edl/train/reporter.h"

#include <algorithm>

#include "edl/base/json_object.h"

namespace edl::train {
namespace {

Json step_json(const StepReport& step) {
  Json event = json_object({{"event", "step"},
                            {"at", step.at},
                            {"step", step.step},
                            {"epoch", step.epoch},
                            {"position", step.position},
                            {"samples", step.samples},
                            {"loss", model::number_json(step.loss)},
                            {"lr", step.lr ? model::number_json(*step.lr) : Json()},
                            {"workers", step.workers},
                            {"generation", step.generation},
                            {"step_ms", step.step_ms},
                            {"samples_per_second", step.samples_per_second},
                            {"applied", step.applied},
                            {"digest", model::digest_json(step.digest)}});
  if (step.noise_scale) event["noise_scale"] = *step.noise_scale;
  if (!step.metrics.empty()) event["metrics"] = model::numbers_json(step.metrics);
  if (step.ends_epoch) event["ends_epoch"] = true;
  return event;
}

Json view_json(const ViewReport& report) {
  Json event = report.view;
  if (!report.cost.is_null()) event.update(report.cost);
  event["event"] = "view";
  event["at"] = report.at;
  return event;
}

}  // namespace

Json json_of(const Report& report) {
  if (const auto* step = std::get_if<StepReport>(&report)) return step_json(*step);
  if (const auto* view = std::get_if<ViewReport>(&report)) return view_json(*view);
  return std::get<Json>(report);
}

void Reporter::tell_from(model::Step step, model::Generation generation) {
  telling_ = true;
  from_ = step;
  from_generation_ = generation;
  outgoing_.clear();
  for (Kept& kept : told_) tell(kept);
}

void Reporter::tell(Kept& kept) {
  if (!telling_) return;
  const bool is_new = kept.step != model::Step()
                          ? kept.step >= from_ || kept.generation > from_generation_
                          : kept.generation >= from_generation_;
  if (!is_new && !std::exchange(kept.is_untold, false)) return;
  kept.is_untold = false;
  outgoing_.push_back(kept.event);
}

void Reporter::add(const StepReport& report) {
  const model::Step step = report.step;
  const model::Generation generation = report.generation;
  waiting_.push_back({step, generation, report});
  if (step <= stable_) on_stable(stable_);
}

void Reporter::add(model::Step step, Json event) {
  const model::Generation generation(event.value("generation", std::uint64_t{0}));
  waiting_.push_back({step, generation, std::move(event)});
  if (step <= stable_) on_stable(stable_);
}

void Reporter::add_own(model::Step step, Json event) {
  Kept kept{step, {}, std::move(event), true};
  tell(kept);
  told_.push_back(std::move(kept));
}

void Reporter::add(ViewReport report) {
  const model::Generation generation = report.view.generation;
  Kept kept{{}, generation, std::move(report)};
  tell(kept);
  told_.push_back(std::move(kept));
}

void Reporter::on_stable(model::Step step) {
  stable_ = std::max(stable_, step);
  while (!waiting_.empty() && waiting_.front().step <= stable_) {
    tell(waiting_.front());
    told_.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
  }
  while (told_.size() > kKeptMax) told_.pop_front();
}

void Reporter::forget_after(model::Step step) {
  const auto is_after = [&](const Kept& kept) { return kept.step > step; };
  std::erase_if(waiting_, is_after);
  std::erase_if(told_, is_after);
  stable_ = std::min(stable_, step);
}

void Reporter::restart_at(model::Step step) {
  forget_after(step);
  waiting_.clear();
  std::erase_if(told_,
                [](const Kept& kept) { return kept.step != model::Step() && !kept.is_untold; });
}

}  // namespace edl::train
