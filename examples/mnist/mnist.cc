// Handwritten digits in images of 28 x 28, by a convolutional network:
//   tools/fetch_data mnist
//   edl run build/release/examples/mnist [FOLDER [ENDING]]
// The folder is build/data/mnist when none is named. Packed files have an ending:
//   edl run build/release/examples/mnist build/data/fashion-mnist .gz
#include "edl/torch/program.h"

namespace F = torch::nn::functional;

struct Net : torch::nn::Module {
  Net() {
    layers = register_module("layers", torch::nn::Sequential());
    for (const auto& [in, out] : {std::pair(1, 16), std::pair(16, 32)}) {
      layers->push_back(torch::nn::Conv2d(torch::nn::Conv2dOptions(in, out, 5).padding(2)));
      layers->push_back(torch::nn::BatchNorm2d(out));
      layers->push_back(torch::nn::ReLU());
      layers->push_back(torch::nn::MaxPool2d(2));
    }
    layers->push_back(torch::nn::Flatten());
    layers->push_back(torch::nn::Dropout(0.4));
    layers->push_back(torch::nn::Linear(32 * 7 * 7, 10));
  }
  torch::Tensor forward(const torch::Tensor& x) { return layers->forward(x.unsqueeze(1)); }
  torch::nn::Sequential layers{nullptr};
};

auto images(const std::string& start, const std::string& end) {
  return edl::torch::arrays(edl::data::idx_file(start + "-images-idx3-ubyte" + end),
                            edl::data::idx_file(start + "-labels-idx1-ubyte" + end),
                            {.x_scale = 1.0 / 255});
}

int main(int argc, char** argv) {
  const std::string folder = argc > 1 ? argv[1] : "build/data/mnist";
  const std::string ending = argc > 2 ? argv[2] : "";
  auto program = edl::torch::program<Net>(
      [](Net& net) { return std::make_shared<torch::optim::Adam>(net.parameters(), 0.002); },
      [](Net& net, const edl::torch::Batch& batch) {
        const auto scores = net.forward(batch.x);
        return edl::torch::Outcome(F::cross_entropy(scores, batch.y),
                                   {{"accuracy", edl::torch::accuracy(scores, batch.y)}});
      });
  program.metrics = {"accuracy"};
  program.data = [&] { return images(folder + "/train", ending); };
  program.test = [&] { return images(folder + "/t10k", ending); };
  program.batch = 128;
  program.epochs = 4;
  return edl::torch::run(argc, argv, program);
}
