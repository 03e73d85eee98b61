#include "edl/train/builtin/linear.h"

#include <algorithm>
#include <cmath>

#include "edl/base/random.h"

namespace edl::train {
namespace {

std::array<float, Linear::kClasses> scores_of(Linear::Parameters p, const Digit& digit) {
  std::array<float, Linear::kClasses> scores{};
  for (std::size_t c = 0; c < Linear::kClasses; ++c) {
    float sum = p[Linear::kBias + c];
    for (std::size_t i = 0; i < Linear::kInputs; ++i) {
      sum += p[c * Linear::kInputs + i] * digit.pixels[i];
    }
    scores[c] = sum;
  }
  return scores;
}

}  // namespace

void Linear::initialise(std::uint64_t seed, Gradient parameters) {
  Random random(seed);
  for (float& value : parameters) value = static_cast<float>(random.between(-1000, 1000)) / 1e5F;
}

float Linear::mean_gradient(Parameters parameters, std::span<const Digit> data,
                            std::span<const std::uint64_t> indices, Gradient gradient) {
  EDL_CHECK(!indices.empty());
  std::fill(gradient.begin(), gradient.end(), 0.0F);
  float loss = 0;
  for (const std::uint64_t index : indices) {
    const Digit& digit = data[index];
    std::array<float, kClasses> scores = scores_of(parameters, digit);
    const float highest = *std::max_element(scores.begin(), scores.end());
    float sum = 0;
    for (const float score : scores) sum += std::exp(score - highest);
    loss += std::log(sum) - (scores[digit.label] - highest);
    for (std::size_t c = 0; c < kClasses; ++c) {
      const float error = std::exp(scores[c] - highest) / sum - (c == digit.label ? 1.0F : 0.0F);
      gradient[kBias + c] += error;
      for (std::size_t i = 0; i < kInputs; ++i) {
        gradient[c * kInputs + i] += error * digit.pixels[i];
      }
    }
  }
  const auto count = static_cast<float>(indices.size());
  for (float& value : gradient) value /= count;
  return loss / count;
}

std::uint8_t Linear::classify(Parameters parameters, const Digit& digit) {
  const auto scores = scores_of(parameters, digit);
  return static_cast<std::uint8_t>(std::max_element(scores.begin(), scores.end()) - scores.begin());
}

}  // namespace edl::train
