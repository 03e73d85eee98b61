// A tiny program to train in virtual clusters: a few numbers whose sums depend on the order in
// which they are made, and what it must be after each step, computed without any of EDL's
// machinery.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "edl/model/position.h"
#include "edl/train/trainee.h"

namespace edl::tests {

class Toy final : public train::Trainee {
 public:
  static constexpr std::size_t kNumbers = 5;
  using Seen = std::function<void(model::Step, std::uint64_t digest)>;

  explicit Toy(std::uint64_t samples, Seen seen = nullptr) : samples_(samples), seen_(seen) {}

  std::uint64_t samples() const override { return samples_; }
  std::vector<collective::Segment> segments() const override {
    return {{collective::Element::kF32, kNumbers}, {collective::Element::kBf16, kNumbers}};
  }
  std::size_t gradient_segments() const override { return 1; }
  Result<void> initialise(std::uint64_t seed) override;
  std::vector<train::StateTensor> state() override;
  Result<train::PartSums> compute(const train::Part& part, std::span<const ByteSpan> sums) override;
  Result<train::Applied> apply(const train::ReducedStep& step) override;

  std::uint64_t digest() const;

 private:
  std::uint64_t samples_;
  Seen seen_;
  std::array<float, kNumbers> weights_{};
  std::array<float, kNumbers> momentum_{};
};

struct ToyJob {
  std::uint64_t seed = 1;
  std::uint64_t samples = 100;
  std::uint64_t batch = 8;
  std::uint32_t logical_workers = 4;
  std::uint64_t steps = 200;
};

// What the toy must be after each step, when each had the batch that is told here.
class ToyReplay {
 public:
  explicit ToyReplay(const ToyJob& job);

  const model::Position& here() const { return states_.back().here; }
  std::uint64_t digest_after(model::Step step) const { return states_[step.value()].digest; }
  struct Plan {
    model::Step step;
    std::uint64_t epoch = 0;
    std::uint64_t from = 0;
    std::uint64_t samples = 0;
  };
  Plan next(std::uint64_t batch) const;
  void advance(std::uint64_t batch, double lr_factor);
  // All after this step is forgotten.
  void back_to(model::Step step);

 private:
  using Numbers = std::array<float, Toy::kNumbers>;
  struct State {
    model::Position here{};
    Numbers weights{};
    Numbers momentum{};
    std::uint64_t digest = 0;
  };
  const ToyJob job_;
  std::vector<State> states_;  // after step 0, 1, ...
};

}  // namespace edl::tests
