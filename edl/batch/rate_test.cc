#include "edl/batch/rate.h"

#include <gtest/gtest.h>

#include <cmath>

namespace edl::batch {
namespace {

using model::RateRule;
using model::Step;

TEST(Rate, the_factor_of_each_rule) {
  struct Row {
    RateRule rule;
    std::uint64_t base;
    std::uint64_t global;
    double factor;
  };
  const double beyond = 32 * std::sqrt(2.0);
  for (const Row& row :
       {Row{RateRule::kNone, 64, 512, 1}, Row{RateRule::kLinear, 64, 64, 1},
        Row{RateRule::kLinear, 64, 512, 8}, Row{RateRule::kLinear, 64, 32, 0.5},
        Row{RateRule::kSquareRoot, 64, 256, 2}, Row{RateRule::kSquareRoot, 64, 16, 0.5},
        Row{RateRule::kPiecewise, 256, 8192, 32}, Row{RateRule::kPiecewise, 256, 16384, beyond},
        Row{RateRule::kPiecewise, 16384, 65536, 2}, Row{RateRule::kLars, 64, 512, 8}}) {
    EXPECT_DOUBLE_EQ(rate_factor(row.rule, row.base, row.global), row.factor)
        << model::name(row.rule) << " " << row.base << " -> " << row.global;
  }
}

TEST(Rate, names_are_read_back) {
  for (const auto rule : {RateRule::kNone, RateRule::kLinear, RateRule::kSquareRoot,
                          RateRule::kPiecewise, RateRule::kLars}) {
    EXPECT_EQ(model::parse_rate_rule(model::name(rule)).value(), rule);
  }
  EXPECT_FALSE(model::parse_rate_rule("cubic").ok());
}

// gamma_t = 1 + (t - t0) / T (k - 1) for t - t0 < T, else k.
TEST(Ramp, is_the_formula_of_dynamic_mini_batch_sgd) {
  for (const double k : {4.0, 0.25}) {
    const Rate rate = next_rate({}, k, Step(101));
    for (std::uint64_t t = 101; t < 120; ++t) {
      const double since = static_cast<double>(t - 101);
      const double gamma = since < 8 ? 1 + since / 8 * (k - 1) : k;
      EXPECT_DOUBLE_EQ(rate.at(Step(t)), gamma) << k << " at " << t;
    }
  }
}

TEST(Ramp, a_change_during_a_ramp_begins_at_the_present_factor) {
  const Rate first = next_rate({}, 2, Step(11));
  EXPECT_DOUBLE_EQ(first.at(Step(15)), 1.5);
  const Rate second = next_rate(first, 4, Step(15));
  EXPECT_DOUBLE_EQ(second.at(Step(15)), 1.5);
  EXPECT_DOUBLE_EQ(second.at(Step(19)), 2.75);
  EXPECT_DOUBLE_EQ(second.at(Step(23)), 4);
  EXPECT_DOUBLE_EQ(second.at(Step(1000)), 4);
}

TEST(Ramp, a_view_that_changes_nothing_lets_it_go_on) {
  const Rate first = next_rate({}, 2, Step(11));
  EXPECT_EQ(next_rate(first, 2, Step(14)), first);
  EXPECT_EQ(next_rate({}, 1, Step(14)), Rate());
}

TEST(Ramp, one_that_is_taken_back_before_its_first_step_leaves_nothing) {
  const Rate first = next_rate({}, 2, Step(11));
  EXPECT_EQ(next_rate(first, 1, Step(11)), Rate());
}

TEST(Warmup, grows_with_the_samples) {
  EXPECT_DOUBLE_EQ(warmup_factor(64, 640), 0.1);
  EXPECT_DOUBLE_EQ(warmup_factor(320, 640), 0.5);
  EXPECT_DOUBLE_EQ(warmup_factor(640, 640), 1);
  EXPECT_DOUBLE_EQ(warmup_factor(64, 0), 1) << "none was asked for";
}

TEST(Lars, is_the_ratio_of_the_norms) {
  EXPECT_DOUBLE_EQ(lars_ratio(10, 2, 0), 0.005);
  EXPECT_DOUBLE_EQ(lars_ratio(10, 2, 0.3), 0.002);
  EXPECT_DOUBLE_EQ(lars_ratio(0, 2, 0.1), 1) << "a tensor of zeros could never move";
  EXPECT_DOUBLE_EQ(lars_ratio(3, 0, 0), 1);
}

}  // namespace
}  // namespace edl::batch
