// Data sets of arrays, as files hold them (edl/data/array_file.h). The numbers of a batch are read
// from the file when the batch is asked for; nothing else of it is copied.
#pragma once

#include <memory>
#include <optional>

#include "edl/data/array_file.h"
#include "edl/torch/dataset.h"

namespace edl::torch {

struct ArrayOptions {
  std::optional<double> x_scale{};  // x becomes float32, multiplied by this
};

// Sample i is row i of x with row i of y. In x, uint8, bool and float16 become float32; in y, all
// integers become int64, which is what losses want. The first error of either is passed on.
//
//   arrays(data::idx_file("images"), data::idx_file("labels"), {.x_scale = 1.0 / 255})
Result<std::shared_ptr<const Dataset>> arrays(const Result<data::Array>& x,
                                              const Result<data::Array>& y,
                                              const ArrayOptions& options = {});

}  // namespace edl::torch
