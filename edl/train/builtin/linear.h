// The model of `builtin:linear`: softmax regression on the digits' pixels, and its gradient. Plain
// loops in float32 on one thread: the same bits in every process.
#pragma once

#include <cstdint>
#include <span>

#include "edl/train/builtin/digits.h"

namespace edl::train {

class Linear {
 public:
  static constexpr std::size_t kInputs = Digit::kPixels;
  static constexpr std::size_t kClasses = 10;
  // Parameters lie one behind the other: weight [10][64], bias.
  static constexpr std::size_t kBias = kClasses * kInputs;
  static constexpr std::size_t kParameters = kBias + kClasses;
  using Parameters = std::span<const float, kParameters>;
  using Gradient = std::span<float, kParameters>;

  static void initialise(std::uint64_t seed, Gradient parameters);
  // As of Mlp.
  static float mean_gradient(Parameters parameters, std::span<const Digit> data,
                             std::span<const std::uint64_t> indices, Gradient gradient);
  static std::uint8_t classify(Parameters parameters, const Digit& digit);
};

}  // namespace edl::train
