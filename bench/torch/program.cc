// A measured model as a program of EDL:  torch_program MODEL BATCH V
#include "bench/torch/models.h"

int main(int argc, char** argv) {
  const auto model = edl::bench::measured_model(argc > 3 ? argv[1] : "");
  if (!model.ok()) {
    std::fprintf(stderr, "torch_program: %s\n", model.error().message.c_str());
    return 2;
  }
  edl::torch::Program program;
  program.model = [&] {
    auto net = model->make();
    return edl::torch::Model{net, edl::bench::measured_optimizer(*net)};
  };
  program.forward = [&](torch::nn::Module& net, const edl::torch::Batch& batch) {
    return torch::nn::functional::cross_entropy(model->forward(net, batch.x), batch.y);
  };
  program.data = [&] { return edl::bench::measured_data(*model); };
  program.batch = std::stoull(argv[2]);
  program.logical_workers = static_cast<std::uint32_t>(std::stoul(argv[3]));
  program.epochs = 1'000'000;
  return edl::torch::run(argc, argv, program);
}
