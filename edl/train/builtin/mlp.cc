#include "edl/train/builtin/mlp.h"

#include <algorithm>
#include <cmath>

#include "edl/base/random.h"

namespace edl::train {
namespace {

struct Activations {
  std::array<float, Mlp::kHidden> hidden{};
  std::array<float, Mlp::kClasses> scores{};
};

Activations forward(Mlp::Parameters p, const Digit& digit) {
  Activations out;
  for (std::size_t h = 0; h < Mlp::kHidden; ++h) {
    float sum = p[Mlp::kHiddenBias + h];
    for (std::size_t i = 0; i < Mlp::kInputs; ++i) sum += p[h * Mlp::kInputs + i] * digit.pixels[i];
    out.hidden[h] = std::tanh(sum);
  }
  for (std::size_t c = 0; c < Mlp::kClasses; ++c) {
    float sum = p[Mlp::kOutputBias + c];
    for (std::size_t h = 0; h < Mlp::kHidden; ++h) {
      sum += p[Mlp::kOutputWeight + c * Mlp::kHidden + h] * out.hidden[h];
    }
    out.scores[c] = sum;
  }
  return out;
}

// Turns scores into probabilities; answers the loss of `label`.
float soften(std::array<float, Mlp::kClasses>& scores, std::uint8_t label) {
  const float highest = *std::max_element(scores.begin(), scores.end());
  const float wanted = scores[label] - highest;
  float sum = 0;
  for (float& score : scores) {
    score = std::exp(score - highest);
    sum += score;
  }
  for (float& score : scores) score /= sum;
  return std::log(sum) - wanted;
}

void backward(Mlp::Parameters p, const Digit& digit, const Activations& a, Mlp::Gradient g) {
  std::array<float, Mlp::kHidden> hidden_error{};
  for (std::size_t c = 0; c < Mlp::kClasses; ++c) {
    const float error = a.scores[c] - (c == digit.label ? 1.0F : 0.0F);
    g[Mlp::kOutputBias + c] += error;
    for (std::size_t h = 0; h < Mlp::kHidden; ++h) {
      g[Mlp::kOutputWeight + c * Mlp::kHidden + h] += error * a.hidden[h];
      hidden_error[h] += error * p[Mlp::kOutputWeight + c * Mlp::kHidden + h];
    }
  }
  for (std::size_t h = 0; h < Mlp::kHidden; ++h) {
    const float error = hidden_error[h] * (1 - a.hidden[h] * a.hidden[h]);
    g[Mlp::kHiddenBias + h] += error;
    for (std::size_t i = 0; i < Mlp::kInputs; ++i) {
      g[h * Mlp::kInputs + i] += error * digit.pixels[i];
    }
  }
}

}  // namespace

// Uniform, as wide as the inverse root of a neuron's inputs; biases begin at zero.
void Mlp::initialise(std::uint64_t seed, Gradient parameters) {
  constexpr std::int64_t kSteps = 1 << 20;
  Random random(seed);
  const auto fill = [&](std::size_t begin, std::size_t count, std::size_t inputs) {
    const float width = 1 / std::sqrt(static_cast<float>(inputs));
    for (std::size_t i = begin; i < begin + count; ++i) {
      parameters[i] = width * static_cast<float>(random.between(-kSteps, kSteps)) / kSteps;
    }
  };
  std::fill(parameters.begin(), parameters.end(), 0.0F);
  fill(0, kHidden * kInputs, kInputs);
  fill(kOutputWeight, kClasses * kHidden, kHidden);
}

float Mlp::mean_gradient(Parameters parameters, std::span<const Digit> data,
                         std::span<const std::uint64_t> indices, Gradient gradient) {
  EDL_CHECK(!indices.empty());
  std::fill(gradient.begin(), gradient.end(), 0.0F);
  float loss = 0;
  for (const std::uint64_t index : indices) {
    const Digit& digit = data[index];
    Activations activations = forward(parameters, digit);
    loss += soften(activations.scores, digit.label);
    backward(parameters, digit, activations, gradient);
  }
  const auto count = static_cast<float>(indices.size());
  for (float& value : gradient) value /= count;
  return loss / count;
}

std::uint8_t Mlp::classify(Parameters parameters, const Digit& digit) {
  const Activations activations = forward(parameters, digit);
  const auto& scores = activations.scores;
  return static_cast<std::uint8_t>(std::max_element(scores.begin(), scores.end()) - scores.begin());
}

}  // namespace edl::train
