#include "edl/torch/arrays.h"

#include "edl/base/text.h"

namespace edl::torch {
namespace {

using ::torch::ScalarType;
using ::torch::Tensor;

ScalarType type_of(data::Dtype dtype) {
  switch (dtype) {
    case data::Dtype::kBool:
      return ::torch::kBool;
    case data::Dtype::kU8:
      return ::torch::kUInt8;
    case data::Dtype::kI8:
      return ::torch::kInt8;
    case data::Dtype::kI16:
      return ::torch::kInt16;
    case data::Dtype::kI32:
      return ::torch::kInt32;
    case data::Dtype::kI64:
      return ::torch::kInt64;
    case data::Dtype::kF16:
      return ::torch::kFloat16;
    case data::Dtype::kF32:
      return ::torch::kFloat32;
    case data::Dtype::kF64:
      return ::torch::kFloat64;
  }
  return ::torch::kFloat32;
}

Tensor rows_of(const data::Array& array, std::span<const std::uint64_t> samples) {
  std::vector<std::int64_t> shape(array.shape.begin(), array.shape.end());
  shape.front() = static_cast<std::int64_t>(samples.size());
  Tensor out = ::torch::empty(shape, type_of(array.dtype));
  data::copy_rows(array, samples, {static_cast<std::byte*>(out.data_ptr()), out.nbytes()});
  return out;
}

Tensor as_x(const Tensor& rows, const ArrayOptions& options) {
  if (options.x_scale) return rows.to(::torch::kFloat32).mul_(*options.x_scale);
  const ScalarType type = rows.scalar_type();
  const bool is_made_float =
      type == ::torch::kUInt8 || type == ::torch::kBool || type == ::torch::kFloat16;
  return is_made_float ? rows.to(::torch::kFloat32) : rows;
}

Tensor as_y(const Tensor& rows) {
  if (rows.scalar_type() == ::torch::kFloat16) return rows.to(::torch::kFloat32);
  return rows.is_floating_point() ? rows : rows.to(::torch::kInt64);
}

class Arrays final : public Dataset {
 public:
  Arrays(data::Array x, data::Array y, const ArrayOptions& options)
      : x_(std::move(x)), y_(std::move(y)), options_(options) {}

  std::uint64_t size() const override { return data::rows(x_); }
  Result<Batch> batch(std::span<const std::uint64_t> samples, const Draw&) const override {
    return Batch{as_x(rows_of(x_, samples), options_), as_y(rows_of(y_, samples))};
  }

 private:
  const data::Array x_;
  const data::Array y_;
  const ArrayOptions options_;
};

Result<void> check(const data::Array& array) {
  if (array.shape.empty()) {
    return Error{Code::kInvalid, text(array.name, ": is one number; a data set has rows")};
  }
  if (data::rows(array) > 0) return {};
  return Error{Code::kInvalid, text(array.name, ": has no samples")};
}

}  // namespace

Result<std::shared_ptr<const Dataset>> arrays(const Result<data::Array>& x,
                                              const Result<data::Array>& y,
                                              const ArrayOptions& options) {
  for (const auto* array : {&x, &y}) {
    if (!array->ok()) return array->error();
    EDL_TRY(check(**array));
  }
  if (data::rows(*x) != data::rows(*y)) {
    return Error{Code::kInvalid,
                 text(x->name, " has ", data::rows(*x), " samples, but ", y->name, " has ",
                      data::rows(*y), ": each sample needs a row in both")};
  }
  return std::make_shared<const Arrays>(*x, *y, options);
}

}  // namespace edl::torch
