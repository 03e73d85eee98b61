#include "edl/torch/fingerprint.h"

#include <ATen/Version.h>
#include <torch/torch.h>

#include "edl/base/sha256.h"
#include "edl/base/text.h"
#include "edl/torch/guarded.h"

namespace edl::torch {
namespace {

using ::torch::Tensor;

constexpr std::size_t kHashShown = 16;

// The numbers 0, 1, ... folded into [-0.5, 0.5): by arithmetic that is exact in every library.
Tensor numbers(at::IntArrayRef shape) {
  const std::int64_t count = c10::multiply_integers(shape);
  const Tensor whole = ::torch::arange(count, ::torch::kInt64).mul(7919).remainder(4096);
  return whole.to(::torch::kFloat32).div(4096).sub(0.5).reshape(shape);
}

void add(Sha256& hash, const Tensor& tensor) {
  const Tensor dense = tensor.contiguous();
  hash.add({static_cast<const std::byte*>(dense.data_ptr()), dense.nbytes()});
}

void step(Sha256& hash, ::torch::optim::Optimizer& optimizer, Tensor& parameter) {
  for (int i = 0; i < 2; ++i) {
    parameter.mutable_grad() = parameter.detach().sin();
    optimizer.step();
  }
  add(hash, parameter);
}

// Odd shapes: the edges of blocks have kernels of their own. No autograd, which may start threads.
std::string known_computation() {
  ::torch::NoGradGuard no_grad;
  Sha256 hash;
  const Tensor a = numbers({67, 131});
  const Tensor b = numbers({131, 93});
  const Tensor product = a.matmul(b);
  add(hash, product);
  add(hash, a.t().matmul(product));
  add(hash, a.mv(b.select(1, 0)));
  add(hash, ::torch::conv2d(numbers({2, 3, 13, 13}), numbers({8, 3, 3, 3}), numbers({8}), 1, 1));
  add(hash, product.exp());
  add(hash, product.tanh());
  add(hash, product.log_softmax(1));
  add(hash, product.sum({0}));
  add(hash, ::torch::layer_norm(product, {93}));
  Tensor first = numbers({1009});
  ::torch::optim::SGD sgd({first}, ::torch::optim::SGDOptions(0.1).momentum(0.9));
  step(hash, sgd, first);
  Tensor second = numbers({1009});
  ::torch::optim::Adam adam({second}, ::torch::optim::AdamOptions(0.01));
  step(hash, adam, second);
  return hash.finish().substr(0, kHashShown);
}

std::string onednn() {
  if (!at::hasMKLDNN() || !at::globalContext().userEnabledMkldnn()) return "off";
  return at::get_mkldnn_version();
}

// What stands behind `name` in torch's description of itself, the only place where it tells this.
std::string described(const std::string& description, std::string_view name, char end) {
  const std::size_t at = description.find(name);
  if (at == std::string::npos) return "";
  const std::string_view rest = std::string_view(description).substr(at + name.size());
  return std::string(trim(rest.substr(0, rest.find_first_of(std::string{end, '\n'}))));
}

}  // namespace

Result<model::Fingerprint> fingerprint(const Blas& blas) {
  return guarded([&]() -> Result<model::Fingerprint> {
    at::set_num_threads(1);
    const std::string torch = at::show_config();
    return model::Fingerprint{{"torch", described(torch, "TORCH_VERSION=", ',')},
                              {"blas", blas_name(blas)},
                              {"onednn", onednn()},
                              {"isa", described(torch, "CPU capability usage: ", '\n')},
                              {"threads", text(at::get_num_threads())},
                              {model::kKnownPart, known_computation()}};
  });
}

}  // namespace edl::torch
