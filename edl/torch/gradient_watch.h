// Tells when the gradient of a parameter is there, while backward still runs, and takes it away: no
// step holds all gradients at once, and each is used while it is in a cache.
#pragma once

#include <torch/torch.h>

#include <functional>
#include <memory>
#include <vector>

namespace edl::torch {

class GradientWatch {
 public:
  // `ready(i, gradient)` for the i-th parameter that was watched. By the thread that runs backward,
  // once for each parameter that the loss depends on.
  using Ready = std::function<void(std::size_t, const ::torch::Tensor&)>;

  GradientWatch();
  GradientWatch(const GradientWatch&) = delete;
  GradientWatch& operator=(const GradientWatch&) = delete;
  ~GradientWatch();

  // A leaf that requires a gradient.
  void add(const ::torch::Tensor& parameter);
  // From now on, until it is called again.
  void tell(Ready ready) { ready_ = std::move(ready); }

 private:
  struct Watched;

  Ready ready_;
  std::vector<std::unique_ptr<Watched>> watched_;
};

}  // namespace edl::torch
