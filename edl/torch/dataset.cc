#include "edl/torch/dataset.h"

#include <numeric>

#include "edl/base/text.h"
#include "edl/data/array.h"
#include "edl/train/builtin/digits.h"

namespace edl::torch {
namespace {

::torch::Tensor rows_of(const ::torch::Tensor& all, std::span<const std::uint64_t> samples) {
  std::vector<std::int64_t> shape = all.sizes().vec();
  shape.front() = static_cast<std::int64_t>(samples.size());
  ::torch::Tensor out = ::torch::empty(shape, all.options());
  data::copy_rows({static_cast<const std::byte*>(all.data_ptr()), all.nbytes()},
                  static_cast<std::uint64_t>(all.size(0)), samples,
                  {static_cast<std::byte*>(out.data_ptr()), out.nbytes()});
  return out;
}

class Tensors final : public Dataset {
 public:
  Tensors(::torch::Tensor x, ::torch::Tensor y) : x_(std::move(x)), y_(std::move(y)) {}

  std::uint64_t size() const override { return static_cast<std::uint64_t>(x_.size(0)); }
  Result<Batch> batch(std::span<const std::uint64_t> samples, const Draw&) const override {
    return Batch{rows_of(x_, samples), rows_of(y_, samples)};
  }

 private:
  const ::torch::Tensor x_;
  const ::torch::Tensor y_;
};

Batch batch_of(const std::vector<train::Digit>& digits) {
  const auto count = static_cast<std::int64_t>(digits.size());
  Batch batch{::torch::empty({count, static_cast<std::int64_t>(train::Digit::kPixels)}),
              ::torch::empty({count}, ::torch::kInt64)};
  float* x = batch.x.data_ptr<float>();
  std::int64_t* y = batch.y.data_ptr<std::int64_t>();
  for (const train::Digit& digit : digits) {
    x = std::copy(digit.pixels.begin(), digit.pixels.end(), x);
    *y++ = digit.label;
  }
  return batch;
}

}  // namespace

Result<std::shared_ptr<const Dataset>> tensors(::torch::Tensor x, ::torch::Tensor y) {
  const auto samples = [](const ::torch::Tensor& all) { return all.dim() > 0 ? all.size(0) : 0; };
  if (samples(x) != samples(y)) {
    return Error{Code::kInvalid, text("x has ", samples(x), " samples and y has ", samples(y),
                                      ": give as many of both, one a row")};
  }
  return std::make_shared<Tensors>(x.detach().contiguous(), y.detach().contiguous());
}

Result<Batch> whole(const Dataset& data) {
  std::vector<std::uint64_t> samples(data.size());
  std::iota(samples.begin(), samples.end(), 0);
  return data.batch(samples, {});
}

Digits digits() {
  const Batch training = batch_of(train::training_digits());
  const Batch test = batch_of(train::test_digits());
  return {tensors(training.x, training.y).value(), tensors(test.x, test.y).value()};
}

}  // namespace edl::torch
