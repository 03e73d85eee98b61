// What a program trains on. Samples have numbers; which of them a step takes, and in which order,
// is EDL's to say.
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <memory>
#include <span>

namespace edl::torch {

struct Batch {
  ::torch::Tensor x;
  ::torch::Tensor y;
};

// Asked by one thread at a time. The same numbers always give the same samples.
class Dataset {
 public:
  virtual ~Dataset() = default;
  virtual std::uint64_t size() const = 0;
  virtual Batch batch(std::span<const std::uint64_t> samples) const = 0;
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
