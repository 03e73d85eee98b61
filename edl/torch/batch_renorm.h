// Normalisation by statistics of whole steps, although each part of a step sees only its own
// samples: batch renormalization (Ioffe, 2017). A part normalises by its own mean and deviation, as
// BatchNorm does, and corrects that to the shared running statistics; these are reduced with the
// gradients, so they are those of all samples of the steps before, and the same bits for any number
// of workers. For inputs [N, C], [N, C, L], [N, C, H, W]. See
// docs/decisions/0006-synchronised-batchnorm.md.
#pragma once

#include <torch/torch.h>

namespace edl::torch {

struct RenormOptions {
  double momentum = 0.1;  // the weight of the newest step in the running statistics
  double eps = 1e-5;
  // How far the correction may go: a factor of up to r_max and a shift of up to d_max deviations.
  // It begins at none and has its full range after `warmup` steps.
  double r_max = 3;
  double d_max = 5;
  std::int64_t warmup = 200;
};

// Its state has the names and shapes of BatchNorm's, and in eval mode it is BatchNorm.
class RenormModule : public ::torch::nn::Module {
 public:
  explicit RenormModule(std::int64_t features, const RenormOptions& options = {});

  ::torch::Tensor forward(const ::torch::Tensor& x);

  ::torch::Tensor weight;
  ::torch::Tensor bias;
  ::torch::Tensor running_mean;
  ::torch::Tensor running_var;
  ::torch::Tensor num_batches_tracked;

 private:
  const RenormOptions options_;
};

class BatchRenorm : public ::torch::nn::ModuleHolder<RenormModule> {
 public:
  using ::torch::nn::ModuleHolder<RenormModule>::ModuleHolder;
};

}  // namespace edl::torch
