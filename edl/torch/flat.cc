#include "edl/torch/flat.h"

#include <cstdlib>
#include <cstring>

#include "edl/base/check.h"
#include "edl/base/text.h"

namespace edl::torch {
namespace {

std::size_t aligned(std::size_t bytes) {
  return (bytes + kTensorAlignment - 1) / kTensorAlignment * kTensorAlignment;
}

Error unknown_type(const ::torch::Tensor& tensor, std::string_view what) {
  return {Code::kInvalid,
          text("a tensor of ", c10::toString(tensor.scalar_type()), " cannot be ", what)};
}

}  // namespace

Result<checkpoint::Dtype> dtype_of(const ::torch::Tensor& tensor) {
  using checkpoint::Dtype;
  switch (tensor.scalar_type()) {
    case ::torch::kBool:
      return Dtype::kBool;
    case ::torch::kUInt8:
      return Dtype::kU8;
    case ::torch::kInt8:
      return Dtype::kI8;
    case ::torch::kInt16:
      return Dtype::kI16;
    case ::torch::kInt32:
      return Dtype::kI32;
    case ::torch::kInt64:
      return Dtype::kI64;
    case ::torch::kFloat16:
      return Dtype::kF16;
    case ::torch::kBFloat16:
      return Dtype::kBf16;
    case ::torch::kFloat32:
      return Dtype::kF32;
    case ::torch::kFloat64:
      return Dtype::kF64;
    default:
      return unknown_type(tensor, "kept in a state");
  }
}

Result<collective::Element> element_of(const ::torch::Tensor& tensor) {
  using collective::Element;
  switch (tensor.scalar_type()) {
    case ::torch::kFloat32:
      return Element::kF32;
    case ::torch::kFloat64:
      return Element::kF64;
    default:
      return unknown_type(tensor, "trained; float32 and float64 can");
  }
}

void Flat::Free::operator()(std::byte* memory) const { std::free(memory); }

void Flat::add(const std::string& name, ::torch::IntArrayRef shape) {
  EDL_CHECK(!memory_, "the memory is there already");
  const std::size_t bytes =
      static_cast<std::size_t>(c10::multiply_integers(shape)) * c10::elementSize(type_);
  tensors_.push_back({name, {}, bytes_, bytes});
  shapes_.push_back(shape.vec());
  bytes_ += aligned(bytes);
}

void Flat::allocate() {
  EDL_CHECK(!memory_, "the memory is there already");
  if (bytes_ == 0) return;
  memory_.reset(static_cast<std::byte*>(std::aligned_alloc(kTensorAlignment, bytes_)));
  EDL_CHECK(memory_ != nullptr, "out of memory");
  std::memset(memory_.get(), 0, bytes_);
  for (std::size_t i = 0; i < tensors_.size(); ++i) tensors_[i].tensor = at(i, memory_.get());
}

std::uint64_t Flat::count() const { return bytes_ / c10::elementSize(type_); }

::torch::Tensor Flat::at(std::size_t i, std::byte* other) const {
  return ::torch::from_blob(other + tensors_[i].offset, shapes_[i],
                            ::torch::TensorOptions().dtype(type_));
}

}  // namespace edl::torch
