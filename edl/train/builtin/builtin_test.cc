#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "edl/base/random.h"
#include "edl/train/builtin/mlp.h"
#include "edl/train/builtin/programs.h"

namespace edl::train {
namespace {

using Values = std::array<float, Mlp::kParameters>;

TEST(Digits, are_all_there) {
  const auto training = training_digits();
  const auto test = test_digits();
  EXPECT_EQ(training.size(), 1437u);
  EXPECT_EQ(test.size(), 360u);
  std::array<int, 10> counts{};
  for (const Digit& digit : training) ++counts.at(digit.label);
  for (const int count : counts) EXPECT_GT(count, 120);
  EXPECT_EQ(test[0].label, 0);
  EXPECT_EQ(test[0].pixels[3], 13.0F / 16);
}

TEST(Digits, other_text_is_refused) {
  EXPECT_FALSE(parse_digits("0 1\n").ok());
  EXPECT_FALSE(parse_digits(std::string(63, '0') + "x 1\n").ok());
  EXPECT_FALSE(parse_digits(std::string(64, '0') + " x\n").ok());
  EXPECT_EQ(parse_digits(std::string(64, 'g') + " 7\n").value().at(0).pixels[5], 1.0F);
}

TEST(Mlp, the_gradient_is_the_slope_of_the_loss) {
  const auto data = training_digits();
  const std::vector<std::uint64_t> indices{3, 141, 59, 26};
  Values parameters{};
  Values gradient{};
  Values unused{};
  Mlp::initialise(5, parameters);
  Mlp::mean_gradient(parameters, data, indices, gradient);
  Random random(1);
  for (int i = 0; i < 200; ++i) {
    const std::size_t at = random.below(Mlp::kParameters);
    constexpr float kStep = 1e-2F;
    Values moved = parameters;
    moved[at] += kStep;
    const float above = Mlp::mean_gradient(moved, data, indices, unused);
    moved[at] = parameters[at] - kStep;
    const float below = Mlp::mean_gradient(moved, data, indices, unused);
    EXPECT_NEAR(gradient[at], (above - below) / (2 * kStep), 2e-3) << at;
  }
}

TEST(Builtin, has_a_fingerprint_that_is_always_the_same) {
  const auto first = builtin_program("builtin:mlp", {});
  const auto second = builtin_program("builtin:linear", {"--lr=0.5"});
  EXPECT_EQ(first->facts["fingerprint"]["known"].get<std::string>().size(), 16u);
  EXPECT_EQ(first->facts["fingerprint"], second->facts["fingerprint"]);
}

TEST(Mlp, learns_the_digits) {
  const auto data = training_digits();
  Values parameters{};
  Values gradient{};
  Mlp::initialise(1, parameters);
  std::vector<std::uint64_t> order(data.size());
  std::iota(order.begin(), order.end(), 0);
  for (int epoch = 0; epoch < 20; ++epoch) {
    for (std::size_t at = 0; at + 32 <= order.size(); at += 32) {
      Mlp::mean_gradient(parameters, data, std::span(order).subspan(at, 32), gradient);
      for (std::size_t i = 0; i < gradient.size(); ++i) parameters[i] -= 0.5F * gradient[i];
    }
  }
  int right = 0;
  const auto test = test_digits();
  for (const Digit& digit : test) right += Mlp::classify(parameters, digit) == digit.label;
  EXPECT_GT(right, 330) << "of " << test.size();
}

}  // namespace
}  // namespace edl::train
