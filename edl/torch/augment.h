// Samples that are changed at random each time they are trained on, always in the same way: what
// is drawn depends on the job's seed, the epoch and the sample, and on nothing else. So it does not
// matter which worker loads a sample, nor which others are in its batch.
#pragma once

#include <torch/torch.h>

#include <functional>
#include <memory>

#include "edl/torch/dataset.h"

namespace edl::torch {

// Gets one sample's x, which it may change in place, and returns what is trained on; every result
// has the same shape. All that is random in it comes from `random`, which is seeded for this sample
// alone: torch::randint(5, {2}, random).
using Augment =
    std::function<::torch::Tensor(const ::torch::Tensor& x, const ::torch::Generator& random)>;

// `data` with its x changed by the function. An error of the data is passed on.
Result<std::shared_ptr<const Dataset>> augmented(const Result<std::shared_ptr<const Dataset>>& data,
                                                 Augment augment);

}  // namespace edl::torch
