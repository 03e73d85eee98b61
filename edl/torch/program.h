// A program to train, as its author writes it: data, a model with its optimizer, and a forward
// function. There is no loop, no checkpoint and no network in it; EDL runs it on as many workers as
// there are at the moment, always with the same result.
#pragma once

#include <torch/torch.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "edl/base/result.h"
#include "edl/model/batch.h"
#include "edl/model/rate.h"
#include "edl/torch/arrays.h"
#include "edl/torch/augment.h"
#include "edl/torch/dataset.h"

namespace edl::torch {

using Metrics = std::map<std::string, double>;

struct Model {
  std::shared_ptr<::torch::nn::Module> net;
  std::shared_ptr<::torch::optim::Optimizer> optimizer;
};

// Where training is when a step is applied.
struct Progress {
  std::uint64_t step = 0;     // from 1
  std::uint64_t epoch = 0;    // from 0
  std::uint64_t samples = 0;  // that were trained on, with those of this step
};

struct Program {
  // Called once, where the program is started; its error ends the job before it begins.
  std::function<Result<std::shared_ptr<const Dataset>>()> data;
  // Its random numbers are seeded before the call.
  std::function<Model()> model;
  // The mean loss over the batch.
  std::function<::torch::Tensor(::torch::nn::Module& net, const Batch& batch)> forward;
  // Of the present state on held-out data, after each epoch; without gradients, in eval mode.
  std::function<Metrics(::torch::nn::Module& net)> evaluate{};

  // What is trained when the command line says nothing else.
  std::uint64_t batch = 64;  // samples of a step
  std::uint64_t epochs = 1;
  std::optional<std::uint32_t> logical_workers{};  // else as many as suit the batch
  std::optional<double> clip_norm{};               // of the gradient of a step
  // What the learning rate is multiplied by. Of samples, not of steps, unless the batch is fixed.
  std::function<double(const Progress& progress)> schedule{};

  // How the batch follows the members, and the learning rate the batch: docs/reference/batch.md.
  model::BatchPolicy batch_policy = model::BatchPolicy::kFixed;
  std::optional<std::uint64_t> batch_max{};
  model::RateRule lr_rule = model::RateRule::kNone;
  std::uint64_t warmup_samples = 0;
};

// A program whose functions see the net by its own type:
//
//   int main(int argc, char** argv) {
//     auto program = edl::torch::program<Net>(
//         [](Net& net) { return std::make_shared<torch::optim::SGD>(net.parameters(), 0.1); },
//         [](Net& net, const edl::torch::Batch& batch) {
//           return torch::nn::functional::cross_entropy(net.forward(batch.x), batch.y);
//         });
//     program.data = [] { return edl::torch::digits().training; };
//     return edl::torch::run(argc, argv, program);
//   }
template <class Net, class MakeOptimizer, class Forward>
Program program(MakeOptimizer make_optimizer, Forward forward) {
  Program out;
  out.model = [make_optimizer] {
    auto net = std::make_shared<Net>();
    return Model{net, make_optimizer(*net)};
  };
  out.forward = [forward](::torch::nn::Module& net, const Batch& batch) {
    return forward(static_cast<Net&>(net), batch);
  };
  return out;
}

// All of `main`. Started by `edl run`, it is a worker; started by hand, it runs `edl run` on itself
// with the arguments before its own.
int run(int argc, char** argv, const Program& program);

}  // namespace edl::torch
