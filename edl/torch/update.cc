// What a reduced step does to the state: clipping, the optimizer, buffers, the program's hooks.
#include <cmath>
#include <cstring>

#include "edl/base/text.h"
#include "edl/torch/guarded.h"
#include "edl/torch/lars.h"
#include "edl/torch/trainee.h"

namespace edl::torch {
namespace {

using ::torch::Tensor;

constexpr std::int64_t kClipBlock = 64 << 10;  // numbers whose squares are summed at a time

}  // namespace

Tensor TorchTrainee::reduced(std::span<const ConstBytes> sums, std::size_t p) const {
  const Flat& flat = parameters_[p]->flat;
  return numbers(const_cast<std::byte*>(sums[p].data()), flat.count(), flat.type());
}

bool TorchTrainee::is_finite(std::span<const ConstBytes> sums) const {
  for (std::size_t p = 0; p < parameters_.size(); ++p) {
    if (!reduced(sums, p).isfinite().all().item<bool>()) return false;
  }
  return true;
}

// The factor that brings the gradient to the wanted length, of losses as they were before they were
// scaled. Squares are summed in fixed blocks, so that the bits do not depend on the tensors.
double TorchTrainee::gradient_factor(std::span<const ConstBytes> sums) const {
  const double unscaled = scaler_ ? 1 / scaler_->scale() : 1;
  if (!program_.clip_norm) return unscaled;
  double squares = 0;
  for (std::size_t p = 0; p < parameters_.size(); ++p) {
    for (const Tensor& block : reduced(sums, p).split(kClipBlock)) {
      squares += block.to(::torch::kFloat64).square().sum().item<double>();
    }
  }
  const double norm = std::sqrt(squares) * unscaled;
  return norm > *program_.clip_norm ? unscaled * *program_.clip_norm / norm : unscaled;
}

// Gradients of the parameters, as they are or multiplied. What was reduced is only read: others may
// need it still.
void TorchTrainee::set_gradients(std::span<const ConstBytes> sums, const std::int64_t* flags) {
  const double factor = gradient_factor(sums);
  for (std::size_t p = 0; p < parameters_.size(); ++p) {
    Summed& summed = *parameters_[p];
    auto* memory = const_cast<std::byte*>(sums[p].data());
    if (factor != 1) {
      scratch_[p].resize(summed.flat.bytes());
      memory = scratch_[p].data();
      numbers(memory, summed.flat.count(), summed.flat.type()).copy_(reduced(sums, p)).mul_(factor);
    }
    for (std::size_t i = 0; i < summed.tensors.size(); ++i) {
      // A parameter that no part's loss depends on is left alone, as in a plain loop.
      const bool is_used = flags[summed.flags[i]] > 0;
      summed.tensors[i].mutable_grad() = is_used ? summed.flat.at(i, memory) : Tensor();
    }
  }
}

Result<train::Applied> TorchTrainee::apply(const train::ReducedStep& step) {
  return guarded([&]() -> Result<train::Applied> {
    ::torch::NoGradGuard no_grad;
    if (step.members_before && program_.on_resize) {
      program_.on_resize(model_, *step.members_before, step.members);
      EDL_TRY(keep_user_state());
    }
    const double rate_factor = step.lr_factor * scheduled(step);
    const double lr = base_rates_.front() * rate_factor;
    const bool is_skipped = step.found_inf || (scaler_ && !is_finite(step.sums));
    if (!is_skipped) EDL_TRY(update(step, rate_factor));
    if (scaler_ && is_skipped) scaler_->skipped();
    if (scaler_ && !is_skipped) scaler_->applied();
    bool saves = false;
    if (program_.on_step) {
      AppliedStep done{progress(step), !is_skipped, step.loss, lr, {}, &saves};
      done.evaluation.insert(step.evaluation.begin(), step.evaluation.end());
      program_.on_step(model_, done);
      EDL_TRY(keep_user_state());
    }
    return train::Applied{.applied = !is_skipped, .saves = saves, .hyper = {{"lr", lr}}};
  });
}

Result<void> TorchTrainee::update(const train::ReducedStep& step, double rate_factor) {
  const auto* flags = reinterpret_cast<const std::int64_t*>(step.sums[flags_segment()].data());
  set_gradients(step.sums, flags);
  auto& groups = model_.optimizer->param_groups();
  for (std::size_t i = 0; i < groups.size(); ++i) {
    groups[i].options().set_lr(base_rates_[i] * rate_factor);
  }
  if (step.lr_rule == model::RateRule::kLars) {
    EDL_TRY(lars_step(*model_.optimizer));
  } else {
    model_.optimizer->step();
  }
  optimizer_state_->take();
  take_buffers(step.sums, flags);
  return {};
}

Progress TorchTrainee::progress(const train::ReducedStep& step) {
  return {.step = step.step.value(),
          .epoch = step.epoch.value(),
          .samples = step.seen,
          .members = step.members};
}

double TorchTrainee::scheduled(const train::ReducedStep& step) const {
  return program_.schedule ? program_.schedule(progress(step)) : 1;
}

// A buffer that no part changed keeps its bytes.
void TorchTrainee::take_buffers(std::span<const ConstBytes> sums, const std::int64_t* flags) {
  for (std::size_t b = 0; b < buffers_.size(); ++b) {
    Summed& summed = *buffers_[b];
    for (std::size_t i = 0; i < summed.tensors.size(); ++i) {
      if (flags[summed.flags[i]] == 0) continue;
      const FlatTensor& place = summed.flat.tensors()[i];
      std::memcpy(summed.flat.memory().data() + place.offset,
                  sums[parameters_.size() + b].data() + place.offset, place.bytes);
    }
  }
}

// A hook may have put another tensor in the place of one; its numbers are taken.
Result<void> TorchTrainee::keep_user_state() {
  for (auto& [name, kept] : user_) {
    Tensor& now = model_.user[name];
    if (now.is_same(kept)) continue;
    if (!now.defined() || now.sizes() != kept.sizes()) {
      return Error{Code::kInvalid, text("a hook gave the registered state ", name,
                                        " another shape; it must keep the one that it began with")};
    }
    kept.copy_(now);
    now = kept;
  }
  if (model_.user.size() == user_.size()) return {};
  return Error{Code::kInvalid,
               "a hook registered state; all of it must be there when the model is made"};
}

}  // namespace edl::torch
