// A torch program as the rest of EDL sees it: buffers and four calls. Parameters, buffers of the
// net and the optimizer's state lie in flat memory; backward writes gradients where they are
// summed.
//
// What a part's forward passes change in the net (statistics of BatchNorm, counters) begins for
// each part at the shared values, and is reduced with the gradients.
#pragma once

#include <memory>
#include <vector>

#include "edl/torch/flat.h"
#include "edl/torch/optimizer_state.h"
#include "edl/torch/program.h"
#include "edl/train/trainee.h"

namespace edl::torch {

class TorchTrainee final : public train::Trainee {
 public:
  // `data` is what the program's function gave.
  static Result<std::unique_ptr<train::Trainee>> make(const Program& program,
                                                      std::shared_ptr<const Dataset> data);

  std::uint64_t samples() const override { return data_->size(); }
  std::vector<collective::Segment> segments() const override;
  std::size_t gradient_segments() const override { return parameters_.size(); }
  Result<void> initialise(std::uint64_t seed) override;
  std::vector<train::StateTensor> state() override;
  void loaded() override { optimizer_state_->loaded(); }
  Result<train::PartSums> compute(const train::Part& part, std::span<const ByteSpan> sums) override;
  Result<train::Applied> apply(const train::ReducedStep& step) override;
  model::NamedNumbers evaluate() override;

 private:
  // Tensors of one type that are summed: a segment of the step.
  struct Summed {
    explicit Summed(::torch::ScalarType type) : flat(type) {}
    Flat flat;                               // what the state holds
    std::vector<::torch::Tensor> tensors{};  // of the net: parameters lie in `flat`, buffers do not
    std::vector<std::size_t> flags{};        // for each, its place among the flags
  };
  enum class Role { kParameter, kBuffer };

  TorchTrainee(const Program& program, std::shared_ptr<const Dataset> data, Model model);
  Result<void> lay_out();
  Result<void> add(Role role, const std::string& name, const ::torch::Tensor& tensor);
  Summed& summed_of(std::vector<std::unique_ptr<Summed>>& all, ::torch::ScalarType type);
  void watch_gradients();
  void begin_buffers();
  void end_buffers(const train::Part& part, std::span<const ByteSpan> sums);
  void gradient_into(std::span<std::byte* const> memory);
  Result<double> backward(const Batch& batch);
  void take_buffers(std::span<const ConstBytes> sums, const std::int64_t* flags);
  double clip(std::span<const ConstBytes> sums);
  double scheduled(const train::ReducedStep& step) const;
  std::size_t flags_segment() const { return parameters_.size() + buffers_.size(); }

  const Program program_;
  const std::shared_ptr<const Dataset> data_;
  Model model_;
  std::vector<double> base_rates_;  // of the optimizer's groups
  std::vector<std::unique_ptr<Summed>> parameters_;
  std::vector<std::unique_ptr<Summed>> buffers_;  // of floating point, and integers as kI64
  std::vector<std::vector<std::byte>> scratch_;   // of gradients, like `parameters_`
  // Other names of parameters that are shared; they are in the state under each of them.
  std::vector<std::pair<std::string, ::torch::Tensor>> tied_;
  std::unique_ptr<OptimizerState> optimizer_state_;
  std::size_t flag_count_ = 0;
  std::vector<std::int64_t> touched_;  // by this part: gradients that came, buffers that changed
  std::string complaint_;              // about a gradient
};

}  // namespace edl::torch
