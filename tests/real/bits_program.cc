// A program with all that could make bits depend on who computes what: a convolution, BatchNorm,
// dropout, samples that are changed at random, several micro batches in a part. Its argument names
// the optimizer: sgd, adam or adamw.
#include <cstdio>
#include <map>

#include "edl/torch/program.h"

namespace {

using torch::Tensor;

struct Net : torch::nn::Module {
  Net() {
    layers->push_back(torch::nn::Conv2d(torch::nn::Conv2dOptions(1, 6, 3).padding(1)));
    layers->push_back(torch::nn::BatchNorm2d(6));
    layers->push_back(torch::nn::ReLU());
    layers->push_back(torch::nn::Dropout(0.3));
    layers->push_back(torch::nn::Flatten());
    layers->push_back(torch::nn::Linear(6 * 8 * 8, 10));
    register_module("layers", layers);
  }
  torch::nn::Sequential layers;
};

using MakeOptimizer = std::function<std::shared_ptr<torch::optim::Optimizer>(Net&)>;

const std::map<std::string, MakeOptimizer>& optimizers() {
  static const std::map<std::string, MakeOptimizer> all{
      {"sgd",
       [](Net& net) {
         return std::make_shared<torch::optim::SGD>(net.parameters(),
                                                    torch::optim::SGDOptions(0.05).momentum(0.9));
       }},
      {"adam",
       [](Net& net) { return std::make_shared<torch::optim::Adam>(net.parameters(), 0.003); }},
      {"adamw",
       [](Net& net) { return std::make_shared<torch::optim::AdamW>(net.parameters(), 0.003); }}};
  return all;
}

// Moved by up to one pixel in each direction.
Tensor moved(const Tensor& x, const torch::Generator& random) {
  const Tensor by = torch::randint(-1, 2, {2}, random);
  return x.view({8, 8}).roll({by[0].item<std::int64_t>(), by[1].item<std::int64_t>()}, {0, 1});
}

}  // namespace

int main(int argc, char** argv) {
  const auto optimizer = optimizers().find(argc > 1 ? argv[1] : "");
  if (optimizer == optimizers().end()) {
    std::fprintf(stderr, "bits_program: name an optimizer: sgd, adam or adamw\n");
    return 2;
  }
  auto program = edl::torch::program<Net>(optimizer->second, [](Net& net,
                                                                const edl::torch::Batch& batch) {
    return torch::nn::functional::cross_entropy(net.layers->forward(batch.x.unsqueeze(1)), batch.y);
  });
  program.data = [] { return edl::torch::augmented(edl::torch::digits().training, moved); };
  program.batch = 96;
  program.logical_workers = 8;
  program.micro_batch = 7;  // of parts of 12
  program.epochs = 8;
  return edl::torch::run(argc, argv, program);
}
