// A small program whose data lie in the node's cache: a list of files, with x.npy and y.npy in it,
// is its argument.
#include "edl/torch/program.h"

using Data = edl::Result<std::shared_ptr<const edl::torch::Dataset>>;

struct Net : torch::nn::Module {
  Net() {
    hidden = register_module("hidden", torch::nn::Linear(16, 32));
    output = register_module("output", torch::nn::Linear(32, 4));
  }
  torch::Tensor forward(const torch::Tensor& x) {
    return output->forward(torch::relu(hidden->forward(x)));
  }
  torch::nn::Linear hidden{nullptr};
  torch::nn::Linear output{nullptr};
};

int main(int argc, char** argv) {
  auto program = edl::torch::program<Net>(
      [](Net& net) { return std::make_shared<torch::optim::SGD>(net.parameters(), 0.05); },
      [](Net& net, const edl::torch::Batch& batch) {
        return torch::nn::functional::cross_entropy(net.forward(batch.x), batch.y);
      });
  const std::string list = argc > 1 ? argv[1] : "data.json";
  program.data = [&](edl::data::Cache& cache) -> Data {
    EDL_TRY(const auto files, cache.fetch(list));
    EDL_TRY(const std::string x, files.path("x.npy"));
    EDL_TRY(const std::string y, files.path("y.npy"));
    return edl::torch::arrays(edl::data::npy_file(x), edl::data::npy_file(y));
  };
  program.batch = 64;
  program.logical_workers = 4;
  return edl::torch::run(argc, argv, program);
}
