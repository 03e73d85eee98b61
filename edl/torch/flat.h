// Tensors that lie one behind the other in memory of ours, by type, each on a boundary of 64 bytes.
// What is computed on them happens in place, so that no step copies them.
#pragma once

#include <torch/torch.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "edl/base/bytes.h"
#include "edl/train/trainee.h"

namespace edl::torch {

// What a type of numbers is called elsewhere; nothing for those that cannot be summed.
struct NumberType {
  checkpoint::Dtype dtype;
  collective::Element element;
};
std::optional<NumberType> number_type(::torch::ScalarType type);

struct FlatTensor {
  std::string name;
  std::vector<std::int64_t> shape{};
  std::size_t offset = 0;  // bytes
  std::size_t bytes = 0;
  ::torch::Tensor tensor{};  // lies in the flat memory
};

// Tensors of one type, which number_type knows.
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
  // Adds all of them, by their names.
  void append_to(std::vector<train::StateTensor>& state);

 private:
  struct Free {
    void operator()(std::byte* memory) const;
  };

  ::torch::ScalarType type_;
  std::size_t bytes_ = 0;
  std::vector<FlatTensor> tensors_;
  std::unique_ptr<std::byte, Free> memory_;
};

}  // namespace edl::torch
