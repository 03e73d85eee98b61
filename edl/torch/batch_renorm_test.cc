#include "edl/torch/batch_renorm.h"

#include <ATen/CPUGeneratorImpl.h>

#include "edl/torch/trained_test.h"

namespace edl::torch {
namespace {

Tensor six_images() {
  at::Generator generator = at::detail::createCPUGenerator(4);
  return ::torch::rand({6, 3, 5, 4}, generator) * 3 + 1;
}

double gap(const Tensor& one, const Tensor& other) {
  return (one - other).abs().max().item<double>();
}

TEST(BatchRenorm, is_batch_norm_in_eval_mode_and_with_the_same_state) {
  BatchRenorm ours(3);
  nn::BatchNorm2d plain(3);
  ::torch::NoGradGuard no_grad;
  for (int i = 0; i < 3; ++i) (void)ours(six_images() * (i + 1));
  auto parameters = plain->named_parameters();
  auto buffers = plain->named_buffers();
  for (const auto& item : ours->named_parameters()) parameters[item.key()].copy_(item.value());
  for (const auto& item : ours->named_buffers()) buffers[item.key()].copy_(item.value());
  ours->eval();
  plain->eval();
  EXPECT_EQ(gap(ours(six_images()), plain(six_images())), 0);
}

TEST(BatchRenorm, without_a_correction_it_trains_like_batch_norm) {
  BatchRenorm ours(3, RenormOptions{.r_max = 1, .d_max = 0});
  nn::BatchNorm2d plain(3);
  const Tensor x = six_images().requires_grad_();
  const Tensor other = six_images().requires_grad_();
  for (int i = 0; i < 2; ++i) {
    ours(x).pow(3).sum().backward();
    plain(other).pow(3).sum().backward();
  }
  EXPECT_LT(gap(ours->weight.grad(), plain->weight.grad()), 1e-3);
  EXPECT_LT(gap(x.grad(), other.grad()), 1e-3);
}

TEST(BatchRenorm, normalises_by_the_shared_statistics_after_the_warm_up) {
  BatchRenorm ours(3, RenormOptions{.warmup = 1});
  ::torch::NoGradGuard no_grad;
  (void)ours(six_images());
  const Tensor mean = ours->running_mean.clone();
  const Tensor var = ours->running_var.clone();
  const Tensor few = six_images().narrow(0, 0, 1);
  const Tensor wanted =
      ::torch::batch_norm(few, ours->weight, ours->bias, mean, var, false, 0, 1e-5, false);
  EXPECT_LT(gap(ours(few), wanted), 1e-5);
}

template <class Norm>
struct NormNet : nn::Module {
  NormNet() {
    hidden = register_module("hidden", nn::Linear(6, 8));
    norm = register_module("norm", Norm(8));
    output = register_module("output", nn::Linear(8, 3));
  }
  Tensor forward(const Tensor& x) { return output(norm(::torch::relu(hidden(x)))); }
  nn::Linear hidden{nullptr};
  Norm norm{nullptr};
  nn::Linear output{nullptr};
};

// The running variance after some steps of so many parts, without learning: what is measured is the
// same then.
template <class Norm>
Tensor variance_after(std::uint32_t parts) {
  Program all = program<NormNet<Norm>>(
      [](NormNet<Norm>& net) { return std::make_shared<optim::SGD>(net.parameters(), 0.0); },
      [](NormNet<Norm>& net, const Batch& batch) {
        return nn::functional::cross_entropy(net.forward(batch.x), batch.y);
      });
  all.data = [] {
    const Batch few = samples(40);
    return tensors(few.x, few.y);
  };
  Trained trained(all);
  trained.initialise(5);
  for (std::uint64_t step = 1; step <= 30; ++step) trained.step(step, parts);
  const Bytes bytes = trained.state().at("model/norm.running_var");
  Tensor out = ::torch::empty({8});
  std::memcpy(out.data_ptr(), bytes.data(), bytes.size());
  return out;
}

TEST(BatchRenorm, its_statistics_do_not_depend_on_how_a_step_is_divided) {
  const Tensor whole = variance_after<BatchRenorm>(1);
  EXPECT_LT(gap(variance_after<BatchRenorm>(6), whole), 1e-5);
  EXPECT_LT(gap(variance_after<BatchRenorm>(4), whole), 1e-5);
  // Those of BatchNorm do: a part's variance says nothing of what lies between the parts.
  EXPECT_GT(gap(variance_after<nn::BatchNorm1d>(6), variance_after<nn::BatchNorm1d>(1)), 1e-3);
}

}  // namespace
}  // namespace edl::torch
