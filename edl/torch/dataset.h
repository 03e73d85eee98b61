// What a program trains on. Samples have numbers; which of them a step takes, and in which order,
// is EDL's to say.
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <memory>
#include <span>

#include "edl/base/result.h"

namespace edl::torch {

struct Batch {
  ::torch::Tensor x;
  ::torch::Tensor y;
};

// For which pass over the data a batch is: all that a data set may draw random numbers from, beside
// the numbers of its samples.
struct Draw {
  std::uint64_t seed = 0;  // of the job
  std::uint64_t epoch = 0;
};

// Asked by one thread at a time. The same sample and draw always give the same bits, whatever else
// is in the batch.
class Dataset {
 public:
  virtual ~Dataset() = default;
  virtual std::uint64_t size() const = 0;
  virtual Batch batch(std::span<const std::uint64_t> samples, const Draw& draw) const = 0;
};

// Sample i is x[i] with y[i].
std::shared_ptr<const Dataset> tensors(::torch::Tensor x, ::torch::Tensor y);

// All samples at once: for held-out data, which is small.
Batch whole(const Dataset& data);

// UCI optical digits: 8x8 images as 64 numbers in [0, 1], and what they show.
struct Digits {
  std::shared_ptr<const Dataset> training;
  Batch test;  // every fifth image
};
Digits digits();

}  // namespace edl::torch
