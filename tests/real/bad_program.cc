// Programs with a mistake, which the first argument names. Each must end with a sentence that says
// what is wrong and what to do.
#include <csignal>
#include <cstdio>
#include <limits>
#include <string>

#include "edl/torch/program.h"

namespace {

using edl::torch::Batch;
using torch::Tensor;

struct Net : torch::nn::Module {
  Net()
      : layer(register_module("layer", torch::nn::Linear(64, 10))),
        words(register_module(
            "words", torch::nn::Embedding(torch::nn::EmbeddingOptions(17, 64).sparse(true)))) {}
  torch::nn::Linear layer;
  torch::nn::Embedding words;
};

Tensor loss(Net& net, const Batch& batch, const std::string& mistake) {
  const Tensor scores = net.layer->forward(batch.x);
  const Tensor right = torch::nn::functional::cross_entropy(scores, batch.y);
  if (mistake == "nan") return right * std::numeric_limits<double>::quiet_NaN();
  if (mistake == "list") return right + torch::zeros({2});
  if (mistake == "constant") return right.detach();
  if (mistake == "sparse") return right + net.words->forward(batch.y).mean();
  if (mistake == "throw") TORCH_CHECK(false, "the sensor is on fire");
  if (mistake == "shape") return net.layer->forward(batch.x.narrow(1, 0, 63)).mean();
  if (mistake == "crash") std::raise(SIGABRT);
  return right;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mistake = argc > 1 ? argv[1] : "";
  if (mistake == "exit") {
    std::fprintf(stderr, "there is no licence for this program\n");
    return 3;
  }
  if (mistake == "leave") return 0;
  auto program = edl::torch::program<Net>(
      [](Net& net) { return std::make_shared<torch::optim::SGD>(net.parameters(), 0.1); },
      [&](Net& net, const Batch& batch) { return loss(net, batch, mistake); });
  program.data = [&]() -> edl::Result<std::shared_ptr<const edl::torch::Dataset>> {
    if (mistake == "lengths") {
      return edl::torch::tensors(torch::zeros({20, 64}), torch::zeros({19}, torch::kInt64));
    }
    if (mistake == "empty") {
      return edl::torch::tensors(torch::zeros({0, 64}), torch::zeros({0}, torch::kInt64));
    }
    return edl::torch::digits().training;
  };
  return edl::torch::run(argc, argv, program);
}
