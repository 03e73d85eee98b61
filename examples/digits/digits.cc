// Handwritten digits: edl run build/release/examples/digits
#include "edl/torch/program.h"

namespace F = torch::nn::functional;

struct Net : torch::nn::Module {
  Net()
      : hidden(register_module("hidden", torch::nn::Linear(64, 128))),
        output(register_module("output", torch::nn::Linear(128, 10))) {}
  torch::Tensor forward(const torch::Tensor& x) {
    return output->forward(torch::relu(hidden->forward(x)));
  }
  torch::nn::Linear hidden;
  torch::nn::Linear output;
};

int main(int argc, char** argv) {
  auto program = edl::torch::program<Net>(
      [](Net& net) {
        return std::make_shared<torch::optim::SGD>(net.parameters(),
                                                   torch::optim::SGDOptions(0.1).momentum(0.9));
      },
      [](Net& net, const edl::torch::Batch& batch) {
        const auto scores = net.forward(batch.x);
        return edl::torch::Outcome(F::cross_entropy(scores, batch.y),
                                   {{"accuracy", edl::torch::accuracy(scores, batch.y)}});
      });
  program.metrics = {"accuracy"};
  program.data = [] { return edl::torch::digits().training; };
  program.test = [] { return edl::torch::digits().test; };
  program.epochs = 20;
  return edl::torch::run(argc, argv, program);
}
