#include "bench/torch/models.h"

#include "edl/base/text.h"
#include "examples/resnet/net.h"

namespace edl::bench {
namespace {

constexpr std::int64_t kSamples = 2048;
constexpr std::int64_t kInputs = 784;
constexpr std::int64_t kClasses = 10;

struct Mlp : ::torch::nn::Module {
  Mlp(std::int64_t first, std::int64_t second)
      : layers(register_module(
            "layers",
            ::torch::nn::Sequential(::torch::nn::Linear(kInputs, first), ::torch::nn::ReLU(),
                                    ::torch::nn::Linear(first, second), ::torch::nn::ReLU(),
                                    ::torch::nn::Linear(second, kClasses)))) {}
  ::torch::nn::Sequential layers;
};

MeasuredModel mlp(std::int64_t first, std::int64_t second) {
  return {
      .make = [=] { return std::make_shared<Mlp>(first, second); },
      .forward = [](::torch::nn::Module& net,
                    const ::torch::Tensor& x) { return static_cast<Mlp&>(net).layers->forward(x); },
      .input = {kInputs}};
}

}  // namespace

Result<MeasuredModel> measured_model(const std::string& name) {
  if (name == "0.4M") return mlp(400, 200);
  if (name == "11M") return mlp(2800, 3000);
  if (name == "25M") return mlp(4400, 4700);
  if (name == "resnet18") {
    return MeasuredModel{
        .make = [] { return std::make_shared<ResNet18>(); },
        .forward = [](::torch::nn::Module& net,
                      const ::torch::Tensor& x) { return static_cast<ResNet18&>(net).forward(x); },
        .input = {3, 32, 32}};
  }
  return Error{Code::kInvalid,
               text("there is no model ", name, "; there are 0.4M, 11M, 25M and ", "resnet18")};
}

std::shared_ptr<::torch::optim::Optimizer> measured_optimizer(::torch::nn::Module& net) {
  return std::make_shared<::torch::optim::SGD>(net.parameters(),
                                               ::torch::optim::SGDOptions(0.01).momentum(0.9));
}

std::shared_ptr<const torch::Dataset> measured_data(const MeasuredModel& model) {
  ::torch::manual_seed(1);
  std::vector<std::int64_t> shape{kSamples};
  shape.insert(shape.end(), model.input.begin(), model.input.end());
  return torch::tensors(::torch::randn(shape), ::torch::randint(kClasses, {kSamples})).value();
}

}  // namespace edl::bench
