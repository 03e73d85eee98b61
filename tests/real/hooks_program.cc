// A program with registered state: an average of its weights, counts of its steps, the best metric.
// It says when its members change, normalises by statistics of whole steps, and asks for a
// checkpoint after the step that its argument names.
#include <cstdlib>
#include <iostream>

#include "edl/torch/program.h"

namespace {

struct Net : torch::nn::Module {
  Net()
      : norm(register_module("norm", edl::torch::BatchRenorm(64))),
        layer(register_module("layer", torch::nn::Linear(64, 10))) {}
  edl::torch::BatchRenorm norm;
  torch::nn::Linear layer;
};

void count(edl::torch::Model& model, const edl::torch::AppliedStep& step) {
  auto& weight = static_cast<Net&>(*model.net).layer->weight;
  model.user["average"].mul_(0.9).add_(weight, 0.1);
  model.user["steps"] += 1;
  const auto found = step.evaluation.find("accuracy");
  if (found == step.evaluation.end()) return;
  model.user["best"] =
      torch::max(model.user["best"], torch::full({1}, found->second, torch::kFloat64));
}

}  // namespace

int main(int argc, char** argv) {
  auto program = edl::torch::program<Net>(
      [](Net& net) { return std::make_shared<torch::optim::Adam>(net.parameters(), 0.01); },
      [](Net& net, const edl::torch::Batch& batch) {
        const auto scores = net.layer(net.norm(batch.x));
        return edl::torch::Outcome(torch::nn::functional::cross_entropy(scores, batch.y),
                                   {{"accuracy", edl::torch::accuracy(scores, batch.y)}});
      });
  const auto make = program.model;
  program.model = [make] {
    edl::torch::Model model = make();
    model.user["average"] = static_cast<Net&>(*model.net).layer->weight.detach().clone();
    model.user["steps"] = torch::zeros({1}, torch::kInt64);
    model.user["best"] = torch::zeros({1}, torch::kFloat64);
    return model;
  };
  const std::uint64_t saves_at = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 0;
  program.on_step = [saves_at](edl::torch::Model& model, const edl::torch::AppliedStep& step) {
    count(model, step);
    if (step.progress.step == saves_at) edl::torch::save_checkpoint(step);
  };
  program.on_resize = [](edl::torch::Model& model, std::uint32_t before, std::uint32_t now) {
    std::cout << "resized from " << before << " to " << now << " after step "
              << model.user["steps"].item<std::int64_t>() << std::endl;
  };
  program.metrics = {"accuracy"};
  program.data = [] { return edl::torch::digits().training; };
  program.test = [] { return edl::torch::digits().test; };
  return edl::torch::run(argc, argv, program);
}
