// What a program trains on. Samples have numbers; which of them a step takes, and in which order,
// is EDL's to say.
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "edl/base/result.h"
#include "edl/data/partition.h"
#include "edl/train/stream.h"

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
  bool operator==(const Draw&) const = default;
};

// The same sample and draw always give the same bits, whatever else is in the batch. Asked by one
// thread at a time, unless the program wants several data threads.
class Dataset {
 public:
  virtual ~Dataset() = default;
  // How many samples it has; a stream has so many by now.
  virtual std::uint64_t size() const = 0;
  // Not null when more samples come while it is trained on.
  virtual train::Stream* stream() const { return nullptr; }
  // Whether a batch takes so long that a thread should load it ahead; it must not draw from torch's
  // own random numbers then.
  virtual bool is_costly() const { return false; }
  // An error ends the step; its sentence names the sample's place, a file perhaps.
  virtual Result<Batch> batch(std::span<const std::uint64_t> samples, const Draw& draw) const = 0;
  // Where these samples lie in files, for those who trace them; nothing when they lie in none.
  virtual Result<std::vector<data::Place>> where(std::span<const std::uint64_t> /*samples*/) const {
    return std::vector<data::Place>();
  }
};

// Sample i is x[i] with y[i]; an error when there are not as many of both.
Result<std::shared_ptr<const Dataset>> tensors(::torch::Tensor x, ::torch::Tensor y);

// All samples at once: for held-out data, which is small.
Result<Batch> whole(const Dataset& data);

// UCI optical digits: 8x8 images as 64 numbers in [0, 1], and what they show.
struct Digits {
  std::shared_ptr<const Dataset> training;
  std::shared_ptr<const Dataset> test;  // every fifth image
};
Digits digits();

}  // namespace edl::torch
