// What a part is: forward and backward of its micro batches, and where their gradients go.
#include <ATen/CPUGeneratorImpl.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "edl/base/text.h"
#include "edl/torch/guarded.h"
#include "edl/torch/trainee.h"

namespace edl::torch {
namespace {

using ::torch::Tensor;

// The batches that a part asks for, one after the other.
std::vector<Wish> wishes_of(const train::Part& part) {
  std::vector<Wish> out;
  const std::span<const std::uint64_t> samples(part.indices);
  for (std::size_t at = 0; at < samples.size(); at += part.micro) {
    const auto micro = samples.subspan(at, std::min<std::size_t>(part.micro, samples.size() - at));
    out.push_back({{micro.begin(), micro.end()}, {.seed = part.seed, .epoch = part.epoch.value()}});
  }
  return out;
}

// Autograd may give the same memory to several parameters, or memory of the program.
class Held final : public train::GradientHolder {
 public:
  explicit Held(Tensor gradient) : gradient_(std::move(gradient)) {}
  bool is_alone() const override {
    return gradient_.use_count() == 1 && gradient_.storage().use_count() == 1;
  }

 private:
  const Tensor gradient_;
};

}  // namespace

// Of the generator that torch draws from by itself; nobody else draws from it at the same time.
void TorchTrainee::seed_random(std::uint64_t seed) {
  at::Generator generator = at::detail::getDefaultCPUGenerator();
  generator.set_current_seed(seed);
}

void TorchTrainee::begin_buffers() {
  ::torch::NoGradGuard no_grad;
  for (const auto& summed : buffers_) {
    for (std::size_t i = 0; i < summed->tensors.size(); ++i) {
      summed->tensors[i].copy_(summed->flat.tensors()[i].tensor);
    }
  }
}

// Buffers of floating point count with the part's share of the samples, integers are those of
// logical worker 0.
void TorchTrainee::end_buffers(const train::Part& part, std::span<const ByteSpan> sums) {
  ::torch::NoGradGuard no_grad;
  const float share =
      static_cast<float>(part.indices.size()) / static_cast<float>(part.step_samples);
  for (std::size_t b = 0; b < buffers_.size(); ++b) {
    Summed& summed = *buffers_[b];
    std::byte* const memory = sums[parameters_.size() + b].data();
    std::memset(memory, 0, summed.flat.bytes());
    for (std::size_t i = 0; i < summed.tensors.size(); ++i) {
      const Tensor& now = summed.tensors[i];
      if (!now.equal(summed.flat.tensors()[i].tensor)) touched_[summed.flags[i]] = 1;
      Tensor into = summed.flat.at(i, memory);
      if (summed.flat.type() != ::torch::kInt64) {
        into.copy_(now).mul_(share);
      } else if (part.v.value() == 0) {
        into.copy_(now);
      }
    }
  }
  std::memcpy(sums[flags_segment()].data(), touched_.data(), flag_count_ * sizeof(std::int64_t));
}

// The program's forward, and the metrics that it promised, in their order.
Result<TorchTrainee::Measured> TorchTrainee::forward(const Batch& batch) {
  const Bfloat16 guard(program_.bfloat16);
  const Outcome outcome = program_.forward(*model_.net, batch);
  if (!outcome.loss.defined() || outcome.loss.numel() != 1) {
    return Error{Code::kInvalid, "forward must return the mean loss: one number"};
  }
  Measured measured{outcome.loss, outcome.loss.item<double>(), {}};
  for (const std::string& name : program_.metrics) {
    const auto found = outcome.metrics.find(name);
    if (found == outcome.metrics.end()) {
      return Error{Code::kInvalid, text("forward did not measure ", name,
                                        ", which is among the program's metrics")};
    }
    measured.metrics.push_back(found->second);
  }
  return measured;
}

Result<void> TorchTrainee::backward(const Measured& measured, const train::Part& part) {
  if (!measured.loss.requires_grad()) {
    return Error{Code::kInvalid, "the loss that forward returns depends on no parameter"};
  }
  if (!std::isfinite(measured.loss_value) && !scaler_) {
    return Error{Code::kInvalid, text("the loss is ", measured.loss_value,
                                      ": lower the learning rate, set clip_norm, or look at ",
                                      "the samples with edl data step --step=", part.step)};
  }
  (scaler_ ? measured.loss * scaler_->scale() : measured.loss).backward();
  return {};
}

// Where the gradients of a part go, as torch gives them.
class TorchTrainee::GradientsOfPart {
 public:
  GradientsOfPart(TorchTrainee& trainee, const train::Part& part, const train::PartRoom& room)
      : trainee_(trainee), gradients_(trainee.gradients_, trainee.touched_, part, room) {
    trainee_.watch_.tell([this](std::size_t i, const Tensor& gradient) { take(i, gradient); });
  }
  ~GradientsOfPart() { trainee_.watch_.tell(nullptr); }

  void begin_micro_batch(std::size_t samples) { gradients_.begin_micro_batch(samples); }
  Result<void> finish() {
    if (!complaint_.empty()) return Error{Code::kInvalid, complaint_};
    gradients_.finish();
    return {};
  }

 private:
  void take(std::size_t watched, const Tensor& gradient) {
    const auto [p, i] = trainee_.watched_[watched];
    const Flat& flat = trainee_.parameters_[p]->flat;
    const FlatTensor& place = flat.tensors()[i];
    if (gradient.is_sparse()) {
      complaint_ = text("the gradient of ", place.name,
                        " is sparse, which cannot be summed; use a dense one (sparse(false))");
      return;
    }
    const Tensor whole = gradient.to(flat.type()).contiguous();
    gradients_.take(p, i,
                    {.numbers = {static_cast<const std::byte*>(whole.data_ptr()), place.bytes},
                     .holder = std::make_shared<const Held>(whole)});
  }

  TorchTrainee& trainee_;
  train::PartGradients gradients_;
  std::string complaint_;
};

// This part's batches come before those of the part behind it.
std::vector<Wish> TorchTrainee::expect(const train::Part& part) {
  std::vector<Wish> wishes = wishes_of(part);
  if (!loader_.loads_ahead()) return wishes;
  std::vector<Wish> all = wishes;
  if (upcoming_) {
    for (Wish& wish : wishes_of(*upcoming_)) all.push_back(std::move(wish));
  }
  upcoming_.reset();
  loader_.expect(all);
  return wishes;
}

// Each micro batch's gradient is weighted by its share of the step, and they are added in order.
Result<train::PartSums> TorchTrainee::compute(const train::Part& part,
                                              const train::PartRoom& room) {
  return guarded([&]() -> Result<train::PartSums> {
    model_.net->train();
    seed_random(part.random_seed);
    std::ranges::fill(touched_, 0);
    begin_buffers();
    for (const auto& summed : parameters_) {
      for (Tensor& parameter : summed->tensors) parameter.mutable_grad() = Tensor();
    }
    train::PartSums out;
    out.metrics.resize(program_.metrics.size());
    GradientsOfPart gradients(*this, part, room);
    for (const Wish& wish : expect(part)) {
      gradients.begin_micro_batch(wish.samples.size());
      EDL_TRY(const Batch batch, loader_.batch(wish));
      EDL_TRY(const Measured measured, forward(batch));
      EDL_TRY(backward(measured, part));
      const auto weight = static_cast<double>(wish.samples.size());
      out.loss += measured.loss_value * weight;
      for (std::size_t i = 0; i < out.metrics.size(); ++i) {
        out.metrics[i] += measured.metrics[i] * weight;
      }
    }
    EDL_TRY(gradients.finish());
    end_buffers(part, room.sums);
    out.found_inf = !std::isfinite(out.loss);
    return out;
  });
}

std::vector<std::string> TorchTrainee::evaluation_names() const {
  if (test_ == nullptr) return {};
  std::vector<std::string> names{"test_loss"};
  names.insert(names.end(), program_.metrics.begin(), program_.metrics.end());
  return names;
}

Result<std::vector<double>> TorchTrainee::evaluate(std::uint64_t from, std::uint64_t to) {
  return guarded([&]() -> Result<std::vector<double>> {
    begin_buffers();
    model_.net->eval();
    ::torch::NoGradGuard no_grad;
    std::vector<double> sums(1 + program_.metrics.size());
    while (from < to) {
      std::vector<std::uint64_t> samples(std::min(to - from, program_.test_batch));
      std::iota(samples.begin(), samples.end(), from);
      from += samples.size();
      EDL_TRY(const Batch batch, test_->batch(samples, {}));
      EDL_TRY(const Measured measured, forward(batch));
      const double weight = static_cast<double>(samples.size());
      sums[0] += measured.loss_value * weight;
      for (std::size_t i = 0; i < measured.metrics.size(); ++i) {
        sums[1 + i] += measured.metrics[i] * weight;
      }
    }
    return sums;
  });
}

}  // namespace edl::torch
