// For tests: a training state whose numbers say of which step it is, written and loaded again.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "edl/checkpoint/reader.h"
#include "edl/checkpoint/writer.h"
#include "edl/os/system.h"

namespace edl::checkpoint {

inline constexpr const char* kJob = "/job";
inline constexpr model::Generation kGeneration(2);

// A training state that is a function of the step.
struct Training {
  explicit Training(std::uint64_t step) {
    for (std::size_t i = 0; i < weights.size(); ++i) {
      weights[i] = static_cast<float>(step * 1000 + i);
      momentum[i] = -weights[i];
    }
    state.position = {model::Epoch(step / 10), step % 10 * 7, model::Step(step)};
    state.seed = 5;
    state.logical_workers = 4;
    state.batch = model::undivided_batch(7, 4);
    state.generation = kGeneration;
    state.user = {{"best", 0.25}};
  }

  std::vector<Tensor> tensors() const {
    return {{"optimizer/w/momentum", Dtype::kF32, {40, 10}, std::as_bytes(std::span(momentum))},
            {"model/w", Dtype::kF32, {40, 10}, std::as_bytes(std::span(weights))},
            {"model/n", Dtype::kI64, {}, std::as_bytes(std::span(&count, 1))}};
  }
  std::vector<TensorPlaceholder> places() {
    return {{"model/w", Dtype::kF32, {40, 10}, std::as_writable_bytes(std::span(weights))},
            {"model/n", Dtype::kI64, {}, std::as_writable_bytes(std::span(&count, 1))},
            {"optimizer/w/momentum",
             Dtype::kF32,
             {40, 10},
             std::as_writable_bytes(std::span(momentum))}};
  }

  std::array<float, 400> weights{};
  std::array<float, 400> momentum{};
  std::int64_t count = 12;
  State state;
};

inline std::string hash_at(std::uint64_t step) {
  const Training training(step);
  StateCopy copy;
  EXPECT_TRUE(copy.take(training.tensors(), training.state).ok());
  return copy.hash();
}

inline Result<Written> write(os::System& system, std::uint64_t step,
                             std::function<void(Phase)> on_phase = nullptr) {
  (void)system.disk().make_directory(kJob);  // the power may fail here too
  const Training training(step);
  StateCopy copy;
  EXPECT_TRUE(copy.take(training.tensors(), training.state).ok());
  return write_checkpoint(system.disk(), copy,
                          {kJob, [&] { return system.now(); }, std::move(on_phase)});
}

inline std::vector<Recorded> of_generation(const std::vector<model::Step>& steps) {
  std::vector<Recorded> recorded;
  for (const model::Step step : steps) recorded.push_back({step, kGeneration});
  return recorded;
}

// Loads the newest of these and answers its step; 0 when there is none.
inline std::uint64_t load_newest(os::System& system, const std::vector<model::Step>& recorded) {
  const Choice choice = newest_valid(system.disk(), kJob, of_generation(recorded));
  if (!choice.checkpoint) return 0;
  const std::uint64_t step = choice.checkpoint->state.position.step.value();
  Training loaded(0);
  EXPECT_TRUE(load_checkpoint(system.disk(), *choice.checkpoint, loaded.places()).ok());
  const Training wanted(step);
  EXPECT_EQ(loaded.weights, wanted.weights);
  EXPECT_EQ(loaded.momentum, wanted.momentum);
  EXPECT_EQ(choice.checkpoint->state, wanted.state);
  return step;
}

}  // namespace edl::checkpoint
