// The network of `builtin:mlp`: 64 - 61 - 10 with tanh and cross-entropy, and its gradient. Plain
// loops in float32 on one thread: the same bits in every process.
#pragma once

#include <cstdint>
#include <span>

#include "edl/train/builtin/digits.h"

namespace edl::train {

class Mlp {
 public:
  static constexpr std::size_t kInputs = Digit::kPixels;
  static constexpr std::size_t kHidden = 61;
  static constexpr std::size_t kClasses = 10;
  // Parameters lie one behind the other: hidden.weight [61][64], hidden.bias, output.weight
  // [10][61], output.bias.
  static constexpr std::size_t kHiddenBias = kHidden * kInputs;
  static constexpr std::size_t kOutputWeight = kHiddenBias + kHidden;
  static constexpr std::size_t kOutputBias = kOutputWeight + kClasses * kHidden;
  static constexpr std::size_t kParameters = kOutputBias + kClasses;
  using Parameters = std::span<const float, kParameters>;
  using Gradient = std::span<float, kParameters>;

  static void initialise(std::uint64_t seed, Gradient parameters);

  // Writes the gradient of the mean loss over the samples `indices` of `data`; answers that mean.
  // There is at least one.
  static float mean_gradient(Parameters parameters, std::span<const Digit> data,
                             std::span<const std::uint64_t> indices, Gradient gradient);

  static std::uint8_t classify(Parameters parameters, const Digit& digit);
};

}  // namespace edl::train
