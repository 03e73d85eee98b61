#include "edl/torch/dataset.h"

#include <numeric>

#include "edl/base/check.h"
#include "edl/train/builtin/digits.h"

namespace edl::torch {
namespace {

class Tensors final : public Dataset {
 public:
  Tensors(::torch::Tensor x, ::torch::Tensor y) : x_(std::move(x)), y_(std::move(y)) {}

  std::uint64_t size() const override { return static_cast<std::uint64_t>(x_.size(0)); }
  Result<Batch> batch(std::span<const std::uint64_t> samples, const Draw&) const override {
    const auto index = ::torch::empty({static_cast<std::int64_t>(samples.size())}, ::torch::kInt64);
    std::copy(samples.begin(), samples.end(), index.data_ptr<std::int64_t>());
    return Batch{x_.index_select(0, index), y_.index_select(0, index)};
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

std::shared_ptr<const Dataset> tensors(::torch::Tensor x, ::torch::Tensor y) {
  EDL_CHECK(x.dim() > 0 && y.dim() > 0 && x.size(0) == y.size(0), "x and y are of one length");
  return std::make_shared<Tensors>(x.contiguous(), y.contiguous());
}

Result<Batch> whole(const Dataset& data) {
  std::vector<std::uint64_t> samples(data.size());
  std::iota(samples.begin(), samples.end(), 0);
  return data.batch(samples, {});
}

Digits digits() {
  const Batch training = batch_of(train::training_digits());
  const Batch test = batch_of(train::test_digits());
  return {tensors(training.x, training.y), tensors(test.x, test.y)};
}

}  // namespace edl::torch
