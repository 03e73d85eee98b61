#include "edl/batch/noise.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "edl/base/random.h"

namespace edl::batch {
namespace {

// Gradients of samples: a true one, and noise of a known size in each direction.
class Samples {
 public:
  static constexpr std::size_t kSize = 50;
  static constexpr double kTrue = 0.3;   // in each direction
  static constexpr double kNoise = 2.0;  // deviation in each direction
  static constexpr double kScale = kNoise * kNoise / (kTrue * kTrue);

  std::vector<double> mean(std::uint64_t count) {
    std::vector<double> sum(kSize, 0);
    for (std::uint64_t i = 0; i < count; ++i) {
      for (double& one : sum) one += kTrue + kNoise * normal();
    }
    for (double& one : sum) one /= static_cast<double>(count);
    return sum;
  }

 private:
  double uniform() { return (static_cast<double>(random_.below(1 << 30)) + 1) / (1 << 30); }
  double normal() {
    return std::sqrt(-2 * std::log(uniform())) * std::cos(2 * std::numbers::pi * uniform());
  }
  Random random_{5};
};

double squared(const std::vector<double>& gradient) {
  double sum = 0;
  for (const double one : gradient) sum += one * one;
  return sum;
}

void measure_step(NoiseScale& noise, Samples& samples, const std::vector<std::uint64_t>& sizes) {
  std::vector<PartNorm> parts;
  std::vector<double> whole(Samples::kSize, 0);
  double all = 0;
  for (const std::uint64_t size : sizes) all += static_cast<double>(size);
  for (const std::uint64_t size : sizes) {
    if (size == 0) {
      parts.push_back({});
      continue;
    }
    const std::vector<double> mean = samples.mean(size);
    parts.push_back({size, squared(mean)});
    for (std::size_t i = 0; i < whole.size(); ++i) {
      whole[i] += mean[i] * static_cast<double>(size) / all;
    }
  }
  noise.measure(parts, squared(whole));
}

TEST(Noise, is_found_from_parts_of_any_sizes) {
  for (const std::vector<std::uint64_t>& sizes :
       {std::vector<std::uint64_t>{16, 16, 16, 16}, {20, 19}, {40, 10, 10, 0}}) {
    NoiseScale noise;
    Samples samples;
    for (int step = 0; step < 200; ++step) measure_step(noise, samples, sizes);
    ASSERT_TRUE(noise.samples().has_value());
    EXPECT_NEAR(*noise.samples() / Samples::kScale, 1, 0.25) << sizes.size() << " parts";
  }
}

TEST(Noise, says_nothing_too_early_or_of_one_part) {
  NoiseScale noise;
  Samples samples;
  for (std::uint64_t i = 0; i + 1 < NoiseScale::kMeasuredMin; ++i) {
    measure_step(noise, samples, {16, 16});
    EXPECT_FALSE(noise.samples());
  }
  measure_step(noise, samples, {32});
  EXPECT_EQ(noise.measured(), NoiseScale::kMeasuredMin - 1);
  measure_step(noise, samples, {16, 16});
  EXPECT_EQ(noise.measured(), NoiseScale::kMeasuredMin);
}

TEST(Noise, a_step_that_is_not_finite_is_passed_over) {
  NoiseScale noise;
  const double inf = std::numeric_limits<double>::infinity();
  noise.measure(std::vector<PartNorm>{{8, inf}, {8, 1}}, 1);
  noise.measure(std::vector<PartNorm>{{8, 1}, {8, 1}}, std::nan(""));
  EXPECT_EQ(noise.measured(), 0u);
}

}  // namespace
}  // namespace edl::batch
