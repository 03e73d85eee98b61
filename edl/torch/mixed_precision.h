// Computing in two precisions: forward in bfloat16 where torch deems it safe, and losses that are
// scaled so that small gradients do not vanish.
#pragma once

#include <torch/torch.h>

namespace edl::torch {

// While one is alive, operators choose bfloat16 where they can.
class Bfloat16 {
 public:
  explicit Bfloat16(bool on);
  ~Bfloat16();
  Bfloat16(const Bfloat16&) = delete;
  Bfloat16& operator=(const Bfloat16&) = delete;

 private:
  const bool on_;
};

// What losses are multiplied by. Every member has the same, because all see the same reduced
// gradients.
class LossScaler {
 public:
  explicit LossScaler(double first);

  double scale() const { return numbers_[0].item<double>(); }
  // A gradient was infinite, and the step was skipped.
  void skipped();
  void applied();
  void reset();
  // Belongs to the state: the scale, and the steps since it last changed.
  const ::torch::Tensor& numbers() const { return numbers_; }

 private:
  const double first_;
  ::torch::Tensor numbers_;
};

}  // namespace edl::torch
