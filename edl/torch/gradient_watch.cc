#include "edl/torch/gradient_watch.h"

#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

namespace edl::torch {

using ::torch::Tensor;
using ::torch::autograd::variable_list;

// The node of autograd that would keep the gradient; it lives as long as somebody holds it.
struct GradientWatch::Watched {
  Tensor parameter;
  std::shared_ptr<::torch::autograd::Node> keeper;
  std::uintptr_t hook = 0;
};

namespace {

class Kept final : public ::torch::autograd::FunctionPostHook {
 public:
  explicit Kept(std::function<void()> told) : told_(std::move(told)) {}
  variable_list operator()(const variable_list& outputs, const variable_list&) override {
    told_();
    return outputs;
  }

 private:
  const std::function<void()> told_;
};

}  // namespace

GradientWatch::GradientWatch() = default;

GradientWatch::~GradientWatch() {
  for (const auto& one : watched_) one->keeper->del_post_hook(one->hook);
}

void GradientWatch::add(const Tensor& parameter) {
  auto one = std::make_unique<Watched>();
  one->parameter = parameter;
  one->keeper = ::torch::autograd::impl::grad_accumulator(parameter);
  Watched* const watched = one.get();
  one->hook =
      one->keeper->add_post_hook(std::make_unique<Kept>([this, watched, i = watched_.size()] {
        const Tensor gradient = std::exchange(watched->parameter.mutable_grad(), Tensor());
        if (ready_) ready_(i, gradient);
      }));
  watched_.push_back(std::move(one));
}

}  // namespace edl::torch
