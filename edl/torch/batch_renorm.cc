#include "edl/torch/batch_renorm.h"

#include <algorithm>

namespace edl::torch {

using ::torch::Tensor;

RenormModule::RenormModule(std::int64_t features, const RenormOptions& options)
    : weight(register_parameter("weight", ::torch::ones({features}))),
      bias(register_parameter("bias", ::torch::zeros({features}))),
      running_mean(register_buffer("running_mean", ::torch::zeros({features}))),
      running_var(register_buffer("running_var", ::torch::ones({features}))),
      num_batches_tracked(
          register_buffer("num_batches_tracked", ::torch::zeros({}, ::torch::kInt64))),
      options_(options) {}

Tensor RenormModule::forward(const Tensor& x) {
  if (!is_training()) {
    return ::torch::batch_norm(x, weight, bias, running_mean, running_var, false, 0, options_.eps,
                               false);
  }
  Tensor r;
  Tensor d;
  {
    ::torch::NoGradGuard no_grad;
    std::vector<std::int64_t> places{0};
    for (std::int64_t place = 2; place < x.dim(); ++place) places.push_back(place);
    const auto [var, mean] = ::torch::var_mean(x, places, false);
    const double range =
        std::min(1.0, static_cast<double>(num_batches_tracked.item<std::int64_t>()) /
                          static_cast<double>(std::max<std::int64_t>(options_.warmup, 1)));
    const double r_max = 1 + range * (options_.r_max - 1);
    const double d_max = range * options_.d_max;
    const Tensor deviation = (running_var + options_.eps).sqrt();
    r = ((var + options_.eps).sqrt() / deviation).clamp(1 / r_max, r_max);
    d = ((mean - running_mean) / deviation).clamp(-d_max, d_max);
    // Around the running mean, which all parts share: so the mean of the parts' squares is that of
    // all samples of the step, however it was divided.
    const Tensor squares = var + (mean - running_mean).square();
    running_var.lerp_(squares, options_.momentum);
    running_mean.lerp_(mean, options_.momentum);
    num_batches_tracked += 1;
  }
  return ::torch::batch_norm(x, weight * r, bias + weight * d, {}, {}, true, 0, options_.eps,
                             false);
}

}  // namespace edl::torch
