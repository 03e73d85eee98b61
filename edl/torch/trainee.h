// A torch program as the rest of EDL sees it: buffers and four calls. Parameters, buffers of the
// net and the optimizer's state lie in flat memory; backward writes gradients where they are
// summed.
//
// What a part's forward passes change in the net (statistics of BatchNorm, counters) begins for
// each part at the shared values, and is reduced with the gradients.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "edl/torch/flat.h"
#include "edl/torch/gradient_watch.h"
#include "edl/torch/loader.h"
#include "edl/torch/mixed_precision.h"
#include "edl/torch/optimizer_state.h"
#include "edl/torch/program.h"
#include "edl/train/part_gradients.h"
#include "edl/train/trainee.h"

namespace edl::torch {

class TorchTrainee final : public train::Trainee {
 public:
  // What the program's functions gave; no `test`: nothing is evaluated.
  static Result<std::unique_ptr<train::Trainee>> make(
      const Program& program, std::shared_ptr<const Dataset> data,
      std::shared_ptr<const Dataset> test = nullptr);

  model::SampleCount samples() const override;
  train::Stream* stream() override { return data_->stream(); }
  std::vector<collective::Segment> segments() const override;
  std::size_t gradient_segments() const override { return parameters_.size(); }
  Result<void> initialise(std::uint64_t seed) override;
  std::vector<train::StateTensor> state() override;
  void loaded() override { optimizer_state_->loaded(); }
  bool loads_ahead() const override { return loader_.loads_ahead(); }
  void upcoming(const train::Part& part) override { upcoming_ = part; }
  bool takes_one_sample() const override;
  bool streams_gradients() const override { return true; }
  Result<train::PartSums> compute(const train::Part& part, const train::PartRoom& room) override;
  Result<std::vector<data::Place>> where(const train::Part& part) const override {
    return data_->where(part.indices);
  }
  Result<train::Applied> apply(const train::ReducedStep& step) override;
  std::vector<std::string> metric_names() const override { return program_.metrics; }
  std::vector<std::string> evaluation_names() const override;
  std::uint64_t held_out() const override { return test_ == nullptr ? 0 : test_->size(); }
  Result<std::vector<double>> evaluate(std::uint64_t from, std::uint64_t to) override;

 private:
  // Tensors of one type that are summed: a segment of the step.
  struct Summed {
    explicit Summed(::torch::ScalarType type) : flat(type) {}
    Flat flat;                               // what the state holds
    std::vector<::torch::Tensor> tensors{};  // of the net: parameters lie in `flat`, buffers do not
    std::vector<std::size_t> flags{};        // for each, its place among the flags
  };
  enum class Role { kParameter, kBuffer };
  // Of a batch: the program's metrics in their order.
  struct Measured {
    ::torch::Tensor loss;
    double loss_value = 0;
    std::vector<double> metrics{};
  };

  struct Data {
    std::shared_ptr<const Dataset> training;
    std::shared_ptr<const Dataset> test;
    std::uint32_t threads = 0;
  };

  TorchTrainee(const Program& program, Data data, Model model);
  Result<void> lay_out();
  void watch_gradients();
  // Gradients of a micro batch, as they come: into the sums of its part.
  class GradientsOfPart;
  Result<void> add(Role role, const std::string& name, const ::torch::Tensor& tensor);
  Summed& summed_of(std::vector<std::unique_ptr<Summed>>& all, ::torch::ScalarType type);

  // Computing (compute.cc).
  static void seed_random(std::uint64_t seed);
  void begin_buffers();
  void end_buffers(const train::Part& part, std::span<const ByteSpan> sums);
  std::vector<Wish> expect(const train::Part& part);
  Result<Measured> forward(const Batch& batch);
  Result<void> backward(const Measured& measured, const train::Part& part);
  Result<void> register_user_state();

  // Applying (update.cc).
  static ::torch::Tensor numbers(std::byte* memory, std::uint64_t count, ::torch::ScalarType type);
  ::torch::Tensor reduced(std::span<const ConstBytes> sums, std::size_t p) const;
  bool is_finite(std::span<const ConstBytes> sums) const;
  double gradient_factor(std::span<const ConstBytes> sums) const;
  void set_gradients(std::span<const ConstBytes> sums, const std::int64_t* flags);
  Result<void> update(const train::ReducedStep& step, double rate_factor);
  void take_buffers(std::span<const ConstBytes> sums, const std::int64_t* flags);
  Result<void> keep_user_state();
  static Progress progress(const train::ReducedStep& step);
  double scheduled(const train::ReducedStep& step) const;
  std::size_t flags_segment() const { return parameters_.size() + buffers_.size(); }

  const Program program_;
  const std::shared_ptr<const Dataset> data_;
  const std::shared_ptr<const Dataset> test_;
  Loader loader_;
  std::optional<train::Part> upcoming_;  // most likely, after the part that is computed next
  Model model_;
  std::vector<double> base_rates_;  // of the optimizer's groups
  std::vector<std::unique_ptr<Summed>> parameters_;
  std::vector<std::unique_ptr<Summed>> buffers_;   // of floating point, and integers as kI64
  std::vector<train::GradientSegment> gradients_;  // like `parameters_`
  std::vector<std::vector<std::byte>> scratch_;    // likewise
  GradientWatch watch_;
  std::vector<std::pair<std::size_t, std::size_t>> watched_;  // in `parameters_`, and there
  // Other names of parameters that are shared; they are in the state under each of them.
  std::vector<std::pair<std::string, ::torch::Tensor>> tied_;
  std::unique_ptr<OptimizerState> optimizer_state_;
  std::map<std::string, ::torch::Tensor> user_;  // what the program has registered
  std::optional<LossScaler> scaler_;
  std::size_t flag_count_ = 0;
  std::vector<std::int64_t> touched_;  // by this part: gradients that came, buffers that changed
};

}  // namespace edl::torch
