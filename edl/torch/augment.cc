#include "edl/torch/augment.h"

#include <ATen/CPUGeneratorImpl.h>

#include "edl/base/random.h"

namespace edl::torch {
namespace {

// Keeps these numbers apart from those that parts draw (dropout) with the same seed.
constexpr std::uint64_t kAugmentation = 0x6175676D656E7421;

std::uint64_t seed_of(const Draw& draw, std::uint64_t sample) {
  return mix64(mix64(mix64(draw.seed ^ kAugmentation) ^ draw.epoch) ^ sample);
}

class Augmented final : public Dataset {
 public:
  Augmented(std::shared_ptr<const Dataset> data, Augment augment)
      : data_(std::move(data)), augment_(std::move(augment)) {}

  std::uint64_t size() const override { return data_->size(); }
  train::Stream* stream() const override { return data_->stream(); }
  bool is_costly() const override { return true; }
  Result<Batch> batch(std::span<const std::uint64_t> samples, const Draw& draw) const override {
    ::torch::NoGradGuard no_grad;
    EDL_TRY(Batch out, data_->batch(samples, draw));
    // Not the generator that torch draws from by itself: that one belongs to the part.
    ::torch::Generator random = at::detail::createCPUGenerator();
    std::vector<::torch::Tensor> changed;
    for (std::size_t i = 0; i < samples.size(); ++i) {
      random.set_current_seed(seed_of(draw, samples[i]));
      changed.push_back(augment_(out.x[static_cast<std::int64_t>(i)], random));
    }
    out.x = ::torch::stack(changed);
    return out;
  }
  Result<std::vector<data::Place>> where(std::span<const std::uint64_t> samples) const override {
    return data_->where(samples);
  }

 private:
  const std::shared_ptr<const Dataset> data_;
  const Augment augment_;
};

}  // namespace

Result<std::shared_ptr<const Dataset>> augmented(const Result<std::shared_ptr<const Dataset>>& data,
                                                 Augment augment) {
  if (!data.ok()) return data.error();
  return std::make_shared<const Augmented>(*data, std::move(augment));
}

}  // namespace edl::torch
