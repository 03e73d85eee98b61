// A step of the rule lars: SGD whose gradient, with the weight decay in it, is scaled for each
// tensor by the ratio of its norms.
#pragma once

#include <torch/torch.h>

#include "edl/base/result.h"

namespace edl::torch {

// The gradients are replaced by others, not written to. Refuses any optimizer but SGD.
Result<void> lars_step(::torch::optim::Optimizer& optimizer);

}  // namespace edl::torch
