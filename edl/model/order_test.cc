#include "edl/model/order.h"

#include <gtest/gtest.h>

#include <vector>

namespace edl::model {
namespace {

using Samples = std::vector<std::uint64_t>;

Samples first(std::uint64_t count, const SampleOrder& order) {
  Samples samples;
  for (std::uint64_t position = 0; position < count; ++position) {
    samples.push_back(order.at(position));
  }
  return samples;
}

// Computed by tests/real/data_order_test.py's own implementation. They may never change: an order
// that differs is another training run.
TEST(SampleOrder, golden_values) {
  EXPECT_EQ(first(10, SampleOrder(10, 0, Epoch(0))), (Samples{5, 4, 9, 6, 3, 2, 7, 8, 1, 0}));
  EXPECT_EQ(first(10, SampleOrder(10, 0, Epoch(1))), (Samples{1, 8, 2, 6, 0, 5, 9, 4, 7, 3}));
  EXPECT_EQ(first(10, SampleOrder(10, 1, Epoch(0))), (Samples{6, 4, 9, 2, 7, 1, 0, 3, 5, 8}));
  EXPECT_EQ(first(8, SampleOrder(1797, 7, Epoch(0))),
            (Samples{381, 195, 488, 186, 868, 1400, 146, 136}));
}

TEST(SampleOrder, golden_values_of_large_data_sets) {
  const SampleOrder trillion(1'000'000'000'000, 7, Epoch(3));
  EXPECT_EQ(trillion.at(0), 362186379393u);
  EXPECT_EQ(trillion.at(999'999'999'999), 511079354003u);
  const SampleOrder largest(kSamplesMax, ~std::uint64_t{0}, Epoch(5));
  EXPECT_EQ(largest.at(0), 2161087043454930044u);
  EXPECT_EQ(largest.at(kSamplesMax - 1), 7860224812833193717u);
}

TEST(SampleOrder, every_sample_comes_once) {
  for (std::uint64_t samples = 1; samples <= 300; ++samples) {
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
      const SampleOrder order(samples, seed * 0x123456789ABCDEFu, Epoch(seed % 3));
      std::vector<bool> seen(samples);
      for (const std::uint64_t sample : first(samples, order)) {
        ASSERT_LT(sample, samples);
        ASSERT_FALSE(seen[sample]) << samples << " samples, seed " << seed;
        seen[sample] = true;
      }
    }
  }
}

TEST(SampleOrder, seed_and_epoch_both_matter) {
  const Samples one = first(100, SampleOrder(100, 1, Epoch(0)));
  EXPECT_NE(one, first(100, SampleOrder(100, 2, Epoch(0))));
  EXPECT_NE(one, first(100, SampleOrder(100, 1, Epoch(1))));
}

TEST(SampleOrder, impossible_sizes_are_refused) {
  EXPECT_FALSE(validate_samples(0).ok());
  EXPECT_TRUE(validate_samples(kSamplesMax).ok());
  EXPECT_EQ(validate_samples(kSamplesMax + 1).error().message,
            "a data set cannot have 9223372036854775809 samples: use 1 to 9223372036854775808");
}

TEST(Order, a_stream_is_trained_as_it_comes) {
  EXPECT_EQ(sample_indices({5, 8}, SampleCount::unknown(), 3, Epoch(0)), (Samples{5, 6, 7}));
  const SampleOrder order(10, 3, Epoch(1));
  EXPECT_EQ(sample_indices({5, 8}, 10, 3, Epoch(1)),
            (Samples{order.at(5), order.at(6), order.at(7)}));
}

}  // namespace
}  // namespace edl::model
