#include "edl/torch/mixed_precision.h"

#include <ATen/autocast_mode.h>

#include <algorithm>

namespace edl::torch {
namespace {

constexpr double kStepsToDouble = 2000;
constexpr double kScaleMin = 1.0 / (1 << 14);
constexpr double kScaleMax = static_cast<double>(std::int64_t{1} << 40);

}  // namespace

Bfloat16::Bfloat16(bool on) : on_(on) {
  if (!on_) return;
  at::autocast::increment_nesting();
  at::autocast::set_autocast_cpu_dtype(at::kBFloat16);
  at::autocast::set_cpu_enabled(true);
}

// Weights are cast once and remembered; the next step has others.
Bfloat16::~Bfloat16() {
  if (!on_) return;
  at::autocast::set_cpu_enabled(false);
  if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
}

LossScaler::LossScaler(double first)
    : first_(first), numbers_(::torch::zeros({2}, ::torch::kFloat64)) {
  reset();
}

void LossScaler::reset() {
  numbers_[0] = first_;
  numbers_[1] = 0.0;
}

void LossScaler::skipped() {
  numbers_[0] = std::max(scale() / 2, kScaleMin);
  numbers_[1] = 0.0;
}

void LossScaler::applied() {
  numbers_[1] += 1;
  if (numbers_[1].item<double>() < kStepsToDouble) return;
  numbers_[0] = std::min(scale() * 2, kScaleMax);
  numbers_[1] = 0.0;
}

}  // namespace edl::torch
