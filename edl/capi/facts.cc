#include "edl/capi/facts.h"

#include <algorithm>

namespace edl::capi {

void Facts::entered(const train::EnteredView& entered) {
  entered_ = entered;
  const model::View& view = entered.view;
  here_ = {view.epoch, view.position, model::Step(view.first_step.value() - 1)};
}

void Facts::computing(const train::Part& part) {
  seed_ = part.seed;
  if (!now_) now_ = entered_;
}

void Facts::applied(const train::ReducedStep& step, const model::SampleCount& samples) {
  trained_by_ = {step.generation, step.members};
  const bool is_ours = entered_ && entered_->view.generation == step.generation;
  now_ = is_ours ? entered_ : std::nullopt;
  if (!samples.is_known()) {
    here_ = {step.epoch, step.seen, step.step};
    return;
  }
  const std::uint64_t position = step.seen - step.epoch.value() * samples.known();
  here_ = position < samples.known() ? model::Position{step.epoch, position, step.step}
                                     : model::Position{step.epoch.next(), 0, step.step};
}

edl_facts Facts::plain() const {
  edl_facts out{};
  out.bytes = sizeof out;
  out.generation = trained_by_.generation.value();
  out.step = here_.step.value();
  out.rank = -1;
  out.size = trained_by_.members;
  out.local_rank = -1;
  out.end = end_;
  out.id = "";
  out.leader = "";
  if (entered_) out.logical_workers = entered_->view.logical_workers();
  if (!now_) return out;
  const model::View& view = now_->view;
  const model::Member& self = view.members[now_->own.value()];
  out.generation = view.generation.value();
  out.rank = static_cast<std::int32_t>(now_->own.value());
  out.size = static_cast<std::uint32_t>(view.members.size());
  const auto is_near = [&](const model::Member& member) { return member.host == self.host; };
  const auto own = view.members.begin() + static_cast<std::ptrdiff_t>(now_->own.value());
  out.local_rank = static_cast<std::int32_t>(std::count_if(view.members.begin(), own, is_near));
  out.local_size = static_cast<std::uint32_t>(std::ranges::count_if(view.members, is_near));
  out.id = self.id.c_str();
  out.leader = now_->leader.c_str();
  return out;
}

checkpoint::State Facts::state() const {
  checkpoint::State out;
  out.position = here_;
  out.seed = seed_;
  out.trained_by = trained_by_;
  out.generation = trained_by_.generation;
  if (!entered_) return out;
  const model::View& view = entered_->view;
  out.logical_workers = view.logical_workers();
  out.batch = view.batch;
  out.lr_factor = view.lr_factor;
  out.ramp = view.ramp;
  out.generation = view.generation;
  return out;
}

}  // namespace edl::capi
