// Tensors that lie one behind the other in memory of ours, by type, each on a boundary of 64 bytes.
// What is computed on them happens in place, so that no step copies them.
#pragma once

#include <torch/torch.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "edl/base/bytes.h"
#include "edl/base/result.h"
#include "edl/checkpoint/tensor.h"
#include "edl/collective/elements.h"

namespace edl::torch {

inline constexpr std::size_t kTensorAlignment = 64;

// What a type is called elsewhere; an error for those that cannot be trained or kept.
Result<checkpoint::Dtype> dtype_of(const ::torch::Tensor& tensor);
Result<collective::Element> element_of(const ::torch::Tensor& tensor);

struct FlatTensor {
  std::string name;
  ::torch::Tensor tensor;  // lies in the flat memory
  std::size_t offset = 0;  // bytes
  std::size_t bytes = 0;
};

// Tensors of one type.
class Flat {
 public:
  explicit Flat(::torch::ScalarType type) : type_(type) {}

  // Room for a tensor of this shape; before `allocate`.
  void add(const std::string& name, ::torch::IntArrayRef shape);
  void allocate();

  ::torch::ScalarType type() const { return type_; }
  std::size_t bytes() const { return bytes_; }
  std::uint64_t count() const;  // of numbers, those between tensors too
  std::vector<FlatTensor>& tensors() { return tensors_; }
  const std::vector<FlatTensor>& tensors() const { return tensors_; }
  ByteSpan memory() { return {memory_.get(), bytes_}; }
  // Of tensor i, as it lies in other memory that is laid out in the same way.
  ::torch::Tensor at(std::size_t i, std::byte* other) const;

 private:
  struct Free {
    void operator()(std::byte* memory) const;
  };

  ::torch::ScalarType type_;
  std::size_t bytes_ = 0;
  std::vector<FlatTensor> tensors_;
  std::vector<std::vector<std::int64_t>> shapes_;
  std::unique_ptr<std::byte, Free> memory_;
};

}  // namespace edl::torch
