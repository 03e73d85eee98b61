// A tiny program to train in virtual clusters: a few numbers whose sums depend on the order in
// which they are made, and what it must be after each step, computed without any of EDL's
// machinery.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "edl/model/position.h"
#include "edl/model/view.h"
#include "edl/train/trainee.h"
#include "tests/world/train_stream.h"

namespace edl::tests {

class Toy final : public train::Trainee {
 public:
  static constexpr std::size_t kNumbers = 5;
  static constexpr std::uint64_t kHeldOut = 11;
  // The digest is of what the numbers are, the history of who trained together.
  struct Sign {
    std::uint64_t digest = 0;
    std::uint64_t history = 0;
    bool operator==(const Sign&) const = default;
  };
  using Seen = std::function<void(model::Step, const Sign&)>;

  // `rounds`: whether some of its sums are rounded when they are whole.
  Toy(std::uint64_t samples, bool rounds, Seen seen)
      : samples_(samples), rounds_(rounds), seen_(std::move(seen)) {}
  // Of samples whose number is not known to it.
  Toy(ToyStream& stream, bool rounds, Seen seen)
      : samples_(model::SampleCount::unknown()),
        stream_(&stream),
        rounds_(rounds),
        seen_(std::move(seen)) {}

  model::SampleCount samples() const override { return samples_; }
  train::Stream* stream() override { return stream_; }
  std::vector<collective::Segment> segments() const override {
    using collective::Element;
    return {{Element::kF32, kNumbers}, {rounds_ ? Element::kBf16 : Element::kF32, kNumbers}};
  }
  std::size_t gradient_segments() const override { return 1; }
  Result<void> initialise(std::uint64_t seed) override;
  std::vector<train::StateTensor> state() override;
  bool streams_gradients() const override { return true; }
  Result<train::PartSums> compute(const train::Part& part, const train::PartRoom& room) override;
  Result<train::Applied> apply(const train::ReducedStep& step) override;
  std::vector<std::string> evaluation_names() const override { return {"probe"}; }
  std::uint64_t held_out() const override { return kHeldOut; }
  Result<std::vector<double>> evaluate(std::uint64_t from, std::uint64_t to) override;

  Sign sign() const;

 private:
  model::SampleCount samples_;
  ToyStream* stream_ = nullptr;
  const bool rounds_;
  Seen seen_;
  std::array<float, kNumbers> weights_{};
  std::array<float, kNumbers> momentum_{};
  std::uint64_t history_ = 0;  // state that the program has registered
};

struct ToyJob {
  std::uint64_t seed = 1;
  std::uint64_t samples = 100;
  std::uint64_t batch = 8;
  std::uint32_t logical_workers = 4;
  std::uint64_t steps = 200;
  bool rounds = true;
  const ToyCatalog* catalog = nullptr;  // of a stream, which is trained to its end
};

// What the toy must be after each step, when each had the batch that is told here.
class ToyReplay {
 public:
  explicit ToyReplay(const ToyJob& job);

  const model::Position& here() const { return states_.back().here; }
  const Toy::Sign& sign_after(model::Step step) const { return states_[step.value()].sign; }
  struct Plan {
    model::Step step;
    std::uint64_t epoch = 0;
    std::uint64_t from = 0;
    std::uint64_t samples = 0;
  };
  Plan next(std::uint64_t batch) const;
  void advance(std::uint64_t batch, double lr_factor, const model::Crowd& crowd = {});
  // All after this step is forgotten.
  void back_to(model::Step step);

 private:
  using Numbers = std::array<float, Toy::kNumbers>;
  struct State {
    model::Position here{};
    Numbers weights{};
    Numbers momentum{};
    model::Crowd trained_by{};
    Toy::Sign sign{};
  };
  const ToyJob job_;
  std::vector<State> states_;  // after step 0, 1, ...
};

}  // namespace edl::tests
