#include "edl/capi/foreign_tensor.h"

#include "edl/base/text.h"

namespace edl::capi {
namespace {

constexpr std::int64_t kNumbersMax = std::int64_t{1} << 40;
constexpr int kDimensionsMax = 32;

std::optional<checkpoint::Dtype> dtype_of(const DLTensor& tensor) {
  using checkpoint::Dtype;
  if (tensor.dtype.lanes != 1) return std::nullopt;
  switch (tensor.dtype.code * 1000 + tensor.dtype.bits) {
    case kDlInt * 1000 + 8:
      return Dtype::kI8;
    case kDlInt * 1000 + 16:
      return Dtype::kI16;
    case kDlInt * 1000 + 32:
      return Dtype::kI32;
    case kDlInt * 1000 + 64:
      return Dtype::kI64;
    case kDlUint * 1000 + 8:
      return Dtype::kU8;
    case kDlFloat * 1000 + 16:
      return Dtype::kF16;
    case kDlFloat * 1000 + 32:
      return Dtype::kF32;
    case kDlFloat * 1000 + 64:
      return Dtype::kF64;
    case kDlBfloat * 1000 + 16:
      return Dtype::kBf16;
    case kDlBool * 1000 + 8:
      return Dtype::kBool;
    default:
      return std::nullopt;
  }
}

bool is_dense(const DLTensor& tensor) {
  if (tensor.strides == nullptr) return true;
  std::int64_t wanted = 1;
  for (int i = tensor.ndim - 1; i >= 0; --i) {
    if (tensor.shape[i] != 1 && tensor.strides[i] != wanted) return false;
    wanted *= tensor.shape[i];
  }
  return true;
}

}  // namespace

std::optional<collective::Element> element_of(checkpoint::Dtype dtype) {
  switch (dtype) {
    case checkpoint::Dtype::kF32:
      return collective::Element::kF32;
    case checkpoint::Dtype::kF64:
      return collective::Element::kF64;
    case checkpoint::Dtype::kI64:
      return collective::Element::kI64;
    default:
      return std::nullopt;
  }
}

Result<train::StateTensor> read_tensor(const std::string& name, const DLTensor& tensor) {
  const auto dtype = dtype_of(tensor);
  const auto wrong = [&](std::string_view why) {
    return Error{Code::kInvalid, text("the tensor ", name, " ", why)};
  };
  if (!dtype) return wrong("has a type of numbers that is not known");
  if (tensor.device.device_type != kCpu) return wrong("does not lie in the memory of the CPU");
  if (tensor.ndim < 0 || tensor.ndim > kDimensionsMax || (tensor.ndim > 0 && !tensor.shape)) {
    return wrong(text("has ", tensor.ndim, " dimensions; 0 to ", kDimensionsMax, " are possible"));
  }
  train::StateTensor out{.name = name, .dtype = *dtype};
  std::int64_t count = 1;
  for (int i = 0; i < tensor.ndim; ++i) {
    const std::int64_t length = tensor.shape[i];
    if (length < 0 || (length > 0 && count > kNumbersMax / length)) {
      return wrong("has a shape that makes no sense");
    }
    count *= length;
    out.shape.push_back(length);
  }
  if (!is_dense(tensor)) return wrong("has gaps between its numbers; give a dense copy");
  if (count > 0 && tensor.data == nullptr) return wrong("has no memory");
  out.bytes = {static_cast<std::byte*>(tensor.data) + tensor.byte_offset,
               static_cast<std::size_t>(count) * checkpoint::dtype_bytes(*dtype)};
  return out;
}

}  // namespace edl::capi
