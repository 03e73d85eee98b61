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
#include <type_traits>

#include "edl/base/result.h"
#include "edl/data/cache.h"
#include "edl/data/index_folder.h"
#include "edl/model/batch.h"
#include "edl/model/rate.h"
#include "edl/torch/arrays.h"
#include "edl/torch/augment.h"
#include "edl/torch/batch_renorm.h"
#include "edl/torch/dataset.h"
#include "edl/torch/images.h"
#include "edl/torch/outcome.h"
#include "edl/torch/record_stream.h"
#include "edl/torch/records.h"

namespace edl::torch {

struct Model {
  std::shared_ptr<::torch::nn::Module> net;
  std::shared_ptr<::torch::optim::Optimizer> optimizer;
  // What else belongs to the state, by name: an average of the weights, a counter, the best metric.
  // It goes to joiners and into checkpoints, and is changed by on_step and on_resize alone.
  std::map<std::string, ::torch::Tensor> user{};
};

// Where training is when a step is applied.
struct Progress {
  std::uint64_t step = 0;     // from 1
  std::uint64_t epoch = 0;    // from 0
  std::uint64_t samples = 0;  // that were trained on, with those of this step
  std::uint32_t members = 1;  // that computed it
};

// A step that was applied.
struct AppliedStep {
  Progress progress{};
  bool applied = true;    // false: it was skipped, because a gradient was infinite
  double loss = 0;        // the mean over its samples
  double lr = 0;          // of the first group
  Metrics evaluation{};   // of the state before it, where that was due: the first of each epoch
  bool* saves = nullptr;  // what save_checkpoint sets
};

// From on_step: asks for a checkpoint of the state after this step. It is written beside training
// once the step is stable, one at a time: while one is being written, the next waits, and is then
// of a later step. All members ask alike; the leader writes it.
inline void save_checkpoint(const AppliedStep& step) {
  if (step.saves != nullptr) *step.saves = true;
}

// Makes the data: a function of nothing, or of the node's cache, from which it takes files.
class DataFunction {
 public:
  using Data = Result<std::shared_ptr<const Dataset>>;

  DataFunction() = default;
  template <class Make>
    requires(!std::is_same_v<std::decay_t<Make>, DataFunction>)
  DataFunction(Make make) {
    if constexpr (std::is_invocable_v<Make, data::Cache&>) {
      make_ = [make](data::Cache& cache) mutable -> Data { return make(cache); };
    } else {
      make_ = [make](data::Cache&) mutable -> Data { return make(); };
    }
  }
  Data operator()(data::Cache& cache) const { return make_(cache); }
  explicit operator bool() const { return make_ != nullptr; }

 private:
  std::function<Data(data::Cache&)> make_;
};

struct Program {
  // Called once, where the program is started; its error ends the job before it begins.
  DataFunction data;
  // Its random numbers are seeded before the call.
  std::function<Model()> model;
  // The mean loss over the batch, with means of what else is measured.
  std::function<Outcome(::torch::nn::Module& net, const Batch& batch)> forward;
  std::vector<std::string> metrics{};  // what it measures, always all of these
  // Held-out data: after each epoch forward's loss (`test_loss`) and metrics are measured on it,
  // without gradients and in eval mode, each part of a step doing its share.
  DataFunction test{};
  std::uint64_t test_batch = 256;  // samples at a time

  // Part of applying a step, on every member, before the next one is computed. It may change
  // `model.user`, and nothing else that others see.
  std::function<void(Model& model, const AppliedStep& step)> on_step{};
  // The members are others than before; once for each view, before its first step is applied.
  std::function<void(Model& model, std::uint32_t before, std::uint32_t now)> on_resize{};

  // What is trained when the command line says nothing else.
  std::uint64_t batch = 64;  // samples of a step
  // Samples that forward sees at a time: a part of more is computed in several micro batches, whose
  // gradients are added. Another number gives other bits.
  std::optional<std::uint64_t> micro_batch{};
  std::uint64_t epochs = 1;
  std::optional<std::uint32_t> logical_workers{};  // else as many as suit the batch
  std::optional<double> clip_norm{};               // of the gradient of a step
  bool bfloat16 = false;  // forward computes in bfloat16 what torch deems safe
  // What losses are multiplied by before backward; it halves when a gradient is infinite, and then
  // the step is skipped, and doubles after 2000 steps without that.
  std::optional<double> loss_scale{};
  // Threads that load batches ahead; 1 for images and augmented data when not given, else 0.
  std::optional<std::uint32_t> data_threads{};
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

// All of `main`. Started by `edl run`, it is a worker; started by hand, it says how to start it and
// ends with 2.
int run(int argc, char** argv, const Program& program);

}  // namespace edl::torch
