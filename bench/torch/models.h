// The models that are measured, for the plain loop and for EDL; ddp.py has the same in Python.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "edl/torch/program.h"

namespace edl::bench {

struct MeasuredModel {
  std::function<std::shared_ptr<::torch::nn::Module>()> make;
  std::function<::torch::Tensor(::torch::nn::Module&, const ::torch::Tensor& x)> forward;
  std::vector<std::int64_t> input;  // the shape of one sample
};

// 0.4M, 11M, 25M (parameters, of a net with two hidden layers) or resnet18.
Result<MeasuredModel> measured_model(const std::string& name);
std::shared_ptr<::torch::optim::Optimizer> measured_optimizer(::torch::nn::Module& net);
// Samples that mean nothing.
std::shared_ptr<const torch::Dataset> measured_data(const MeasuredModel& model);

}  // namespace edl::bench
