// What a forward function makes of a batch.
#pragma once

#include <torch/torch.h>

#include <map>
#include <string>

namespace edl::torch {

using Metrics = std::map<std::string, double>;

// The mean loss over the batch, and means over it of what else was measured.
struct Outcome {
  Outcome(::torch::Tensor mean_loss, Metrics means = {})  // a loss alone is an outcome
      : loss(std::move(mean_loss)), metrics(std::move(means)) {}
  ::torch::Tensor loss;
  Metrics metrics;
};

// The share of rows whose highest score is the one of their label.
inline double accuracy(const ::torch::Tensor& scores, const ::torch::Tensor& labels) {
  return scores.argmax(1).eq(labels).to(::torch::kFloat64).mean().item<double>();
}

}  // namespace edl::torch
