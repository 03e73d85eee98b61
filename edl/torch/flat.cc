#include "edl/torch/flat.h"

#include <cstdlib>
#include <cstring>

#include "edl/base/check.h"

namespace edl::torch {
std::optional<NumberType> number_type(::torch::ScalarType type) {
  switch (type) {
    case ::torch::kFloat32:
      return NumberType{checkpoint::Dtype::kF32, collective::Element::kF32};
    case ::torch::kFloat64:
      return NumberType{checkpoint::Dtype::kF64, collective::Element::kF64};
    case ::torch::kInt64:
      return NumberType{checkpoint::Dtype::kI64, collective::Element::kI64};
    default:
      return std::nullopt;
  }
}

void Flat::Free::operator()(std::byte* memory) const { std::free(memory); }

void Flat::add(const std::string& name, ::torch::IntArrayRef shape) {
  EDL_CHECK(!memory_, "the memory is there already");
  const std::size_t bytes =
      static_cast<std::size_t>(c10::multiply_integers(shape)) * c10::elementSize(type_);
  tensors_.push_back({name, shape.vec(), bytes_, bytes});
  bytes_ += collective::aligned(bytes);
}

void Flat::allocate() {
  EDL_CHECK(!memory_, "the memory is there already");
  if (bytes_ == 0) return;
  memory_.reset(static_cast<std::byte*>(std::aligned_alloc(collective::kAlignment, bytes_)));
  EDL_CHECK(memory_ != nullptr, "out of memory");
  std::memset(memory_.get(), 0, bytes_);
  for (std::size_t i = 0; i < tensors_.size(); ++i) tensors_[i].tensor = at(i, memory_.get());
}

std::uint64_t Flat::count() const { return bytes_ / c10::elementSize(type_); }

::torch::Tensor Flat::at(std::size_t i, std::byte* other) const {
  return ::torch::from_blob(other + tensors_[i].offset, tensors_[i].shape,
                            ::torch::TensorOptions().dtype(type_));
}

void Flat::append_to(std::vector<train::StateTensor>& state) {
  for (const FlatTensor& one : tensors_) {
    state.push_back({one.name, number_type(type_).value().dtype, one.shape,
                     memory().subspan(one.offset, one.bytes)});
  }
}

}  // namespace edl::torch
