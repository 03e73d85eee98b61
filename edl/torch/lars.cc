#include "edl/torch/lars.h"

#include "edl/batch/rate.h"

namespace edl::torch {

Result<void> lars_step(::torch::optim::Optimizer& optimizer) {
  using ::torch::optim::SGDOptions;
  if (dynamic_cast<::torch::optim::SGD*>(&optimizer) == nullptr) {
    return Error{Code::kInvalid, "the learning-rate rule lars is for SGD; use another rule"};
  }
  std::vector<double> decays;
  for (auto& group : optimizer.param_groups()) {
    auto& options = static_cast<SGDOptions&>(group.options());
    decays.push_back(options.weight_decay());
    for (::torch::Tensor& parameter : group.params()) {
      if (!parameter.grad().defined()) continue;
      const ::torch::Tensor weights = parameter.detach();
      const double ratio = batch::lars_ratio(weights.norm().item<double>(),
                                             parameter.grad().norm().item<double>(), decays.back());
      parameter.mutable_grad() = (parameter.grad() + weights * decays.back()) * ratio;
    }
    options.weight_decay(0);
  }
  optimizer.step();
  auto& groups = optimizer.param_groups();
  for (std::size_t i = 0; i < groups.size(); ++i) {
    static_cast<SGDOptions&>(groups[i].options()).weight_decay(decays[i]);
  }
  return {};
}

}  // namespace edl::torch
