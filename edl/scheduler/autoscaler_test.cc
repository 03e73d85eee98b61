#include "edl/scheduler/autoscaler.h"

#include <gtest/gtest.h>

#include "edl/scheduler/snapshot.h"

namespace edl::scheduler {
namespace {

// Steps of a job with work that does not scale: 1 s on one worker.
double step_seconds(double serial, std::uint32_t workers) {
  return serial + (1 - serial) / workers;
}

void measure(Autoscaler& scaler, double serial, std::uint32_t workers, int steps = 50) {
  for (int i = 0; i < steps; ++i) scaler.measured(workers, step_seconds(serial, workers));
}

// The size at which it comes to rest.
std::uint32_t rest(AutoscalerRules rules, double serial, std::uint32_t workers) {
  Autoscaler scaler(rules);
  for (int round = 0; round < 100; ++round) {
    measure(scaler, serial, workers);
    workers = scaler.decide(workers).workers;
  }
  return workers;
}

TEST(Autoscaler, comes_to_rest_where_a_worker_adds_too_little) {
  struct Row {
    double serial;
    double least;
    std::uint32_t from;
    std::uint32_t to;
  };
  const Row rows[] = {
      {0.0, 0.1, 1, 16},  // scales without loss: the maximum
      {1.0, 0.1, 8, 1},   // does not scale: the minimum
      // A worker adds (1 - serial) / (1 + serial k).
      {0.1, 0.55, 1, 7},
      {0.1, 0.55, 12, 7},  // the same from above
      {0.05, 0.6, 1, 12},
  };
  for (const Row& row : rows) {
    const AutoscalerRules rules{.least_efficiency = row.least, .max = 16};
    const std::uint32_t at = rest(rules, row.serial, row.from);
    Autoscaler scaler(rules);
    for (std::uint32_t k = 1; k <= 16; ++k) measure(scaler, row.serial, k);
    // Rest means: the last worker adds enough, the next would not.
    if (at > 1) {
      EXPECT_GT(*scaler.efficiency(at - 1, at), row.least) << row.serial;
    }
    if (at < 16) {
      EXPECT_LE(*scaler.efficiency(at, at + 1), row.least) << row.serial;
    }
    EXPECT_EQ(at, row.to) << row.serial;
    EXPECT_EQ(at, rest(rules, row.serial, row.from == 1 ? 16 : 1)) << "from the other side";
  }
}

TEST(Autoscaler, waits_for_enough_steps) {
  Autoscaler scaler({.every_steps = 50, .max = 8});
  measure(scaler, 0, 2, 49);
  EXPECT_EQ(scaler.decide(2).workers, 2u);
  measure(scaler, 0, 2, 1);
  EXPECT_EQ(scaler.decide(2).workers, 3u);
}

TEST(Autoscaler, changes_by_n_workers_and_only_to_useful_sizes) {
  Autoscaler by_four({.by = 4, .max = 16});
  measure(by_four, 0, 4);
  EXPECT_EQ(by_four.decide(4).workers, 8u);
  Autoscaler of_eight({.max = 8, .logical_workers = 8});
  measure(of_eight, 0, 4);
  EXPECT_EQ(of_eight.decide(4).workers, 8u);
}

TEST(Autoscaler, a_worker_must_be_worth_its_price_when_prices_are_given) {
  AutoscalerRules rules{.max = 2, .value_of_time = 1, .price_of_worker = 10};
  Autoscaler dear(rules);
  measure(dear, 0.2, 1);
  measure(dear, 0.2, 2);
  EXPECT_EQ(dear.decide(2, 1000).workers, 1u);
  rules.price_of_worker = 0.1;
  Autoscaler cheap(rules);
  measure(cheap, 0.2, 1);
  measure(cheap, 0.2, 2);
  EXPECT_EQ(cheap.decide(2, 1000).workers, 2u);
}

TEST(Autoscaler, keeps_mean_and_count_of_each_size) {
  Autoscaler scaler({.max = 8});
  scaler.measured(2, 0.5);
  scaler.measured(2, 0.25);
  EXPECT_DOUBLE_EQ(scaler.learned().at(2).mean, 3);
  EXPECT_EQ(scaler.learned().at(2).count, 2u);
}

TEST(StragglerSignal, tells_of_lasting_slowness_only) {
  StragglerSignal signal;
  EXPECT_FALSE(signal.measured("a", 0.25));  // once
  for (int i = 0; i < 10; ++i) signal.measured("a", 1);
  EXPECT_FALSE(signal.measured("a", 1));
  bool slow = false;
  for (int i = 0; i < 5; ++i) slow = signal.measured("b", 0.25);
  EXPECT_TRUE(slow);
}

}  // namespace
}  // namespace edl::scheduler
