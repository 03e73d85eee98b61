// What an optimizer keeps beside the parameters (momentum, averages, counts), in flat memory of
// ours. torch makes it when it first needs it; from then on it lies here.
#pragma once

#include <torch/torch.h>

#include <string>
#include <vector>

#include "edl/base/result.h"
#include "edl/torch/flat.h"
#include "edl/train/trainee.h"

namespace edl::torch {

struct NamedParameter {
  std::string name;
  ::torch::Tensor tensor;
};

class OptimizerState {
 public:
  // How one kind of optimizer keeps the state of one parameter.
  struct Kind;

  // An error for an optimizer that is not known, or holds a parameter that the model does not have.
  static Result<std::unique_ptr<OptimizerState>> make(::torch::optim::Optimizer& optimizer,
                                                      const std::vector<NamedParameter>& all);
  ~OptimizerState();

  // `optimizer/NAME/KEY`.
  void append_to(std::vector<train::StateTensor>& state);
  // After a step of the optimizer: what it has made is moved here.
  void take();
  // The bytes were replaced.
  void loaded();
  // As before the first step.
  void clear();

 private:
  struct Entry {
    NamedParameter parameter;
    std::vector<::torch::Tensor> tensors{};  // one for each slot
  };

  OptimizerState(::torch::optim::Optimizer& optimizer, std::unique_ptr<Kind> kind);
  void lay_out();

  ::torch::optim::Optimizer& optimizer_;
  std::unique_ptr<Kind> kind_;
  std::vector<Entry> entries_;
  std::vector<std::unique_ptr<Flat>> flats_;  // by type
  std::vector<std::int64_t> counts_;          // steps of each entry; 0: torch has nothing yet
};

}  // namespace edl::torch
