#include "edl/model/batch.h"

#include <gtest/gtest.h>

namespace edl::model {
namespace {

using Sizes = std::vector<std::uint32_t>;

TEST(Batch, first_parts_get_one_more) {
  std::vector<std::uint64_t> sizes;
  for (std::uint32_t v = 0; v < 4; ++v) sizes.push_back(part_size(10, 4, LogicalWorker(v)));
  EXPECT_EQ(sizes, (std::vector<std::uint64_t>{3, 3, 2, 2}));
  EXPECT_EQ(part_size(2, 4, LogicalWorker(1)), 1u);
  EXPECT_EQ(part_size(2, 4, LogicalWorker(2)), 0u);
}

TEST(Batch, parts_lie_side_by_side_and_cover_the_step) {
  for (std::uint32_t parts = 1; parts <= 17; ++parts) {
    for (std::uint64_t samples = 0; samples <= 70; ++samples) {
      std::uint64_t end = 0;
      for (std::uint32_t v = 0; v < parts; ++v) {
        EXPECT_EQ(part_begin(samples, parts, LogicalWorker(v)), end);
        end += part_size(samples, parts, LogicalWorker(v));
      }
      EXPECT_EQ(end, samples);
    }
  }
}

TEST(Batch, default_number_of_logical_workers_is_a_power_of_two_up_to_16) {
  EXPECT_EQ(default_logical_workers(1), 1u);
  EXPECT_EQ(default_logical_workers(63), 1u);
  EXPECT_EQ(default_logical_workers(64), 2u);
  EXPECT_EQ(default_logical_workers(255), 4u);
  EXPECT_EQ(default_logical_workers(256), 8u);
  EXPECT_EQ(default_logical_workers(512), 16u);
  EXPECT_EQ(default_logical_workers(~std::uint64_t{0}), 16u);
}

TEST(Batch, a_size_is_useful_when_it_is_faster_than_every_smaller_one) {
  EXPECT_EQ(useful_sizes(1), (Sizes{1}));
  EXPECT_EQ(useful_sizes(8), (Sizes{1, 2, 3, 4, 8}));
  EXPECT_EQ(useful_sizes(12), (Sizes{1, 2, 3, 4, 6, 12}));
  EXPECT_EQ(useful_sizes(16), (Sizes{1, 2, 3, 4, 6, 8, 16}));
}

TEST(Batch, more_logical_workers_than_samples_are_refused) {
  EXPECT_TRUE(validate(undivided_batch(8, 8), 8).ok());
  EXPECT_EQ(validate(undivided_batch(8, 9), 9).error().message,
            "cannot split a batch of 8 among 9 logical workers: some would never get a sample. Use "
            "at most 8 logical workers or a larger batch.");
  Batch linear = undivided_batch(8, 9);
  linear.policy = BatchPolicy::kLinear;  // grows with members: parts are empty only for a while
  EXPECT_TRUE(validate(linear, 9).ok());
}

TEST(Batch, micro_batches_must_hold_the_largest_part) {
  const Batch batch{.global = 100, .micro = 8, .accumulate = 3};  // parts of 25
  EXPECT_EQ(validate(batch, 4).error().message,
            "a part of 25 samples does not fit into 3 micro batches of 8: it needs 4 of them.");
  EXPECT_TRUE(validate({.global = 100, .micro = 8, .accumulate = 4}, 4).ok());
  EXPECT_FALSE(validate({.global = 100, .micro = 0, .accumulate = 4}, 4).ok());
  EXPECT_FALSE(validate(batch, 0).ok());
  EXPECT_FALSE(validate(batch, kLogicalWorkersMax + 1).ok());
}

TEST(Batch, reads_what_it_wrote) {
  const Batch batch{BatchPolicy::kCapped, 256, 16, 2};
  EXPECT_EQ(json_line(batch), R"({"accumulate":2,"global":256,"micro":16,"policy":"capped"})");
  EXPECT_EQ(batch_from(Json(batch)).value(), batch);
}

TEST(Batch, says_which_policy_was_probably_meant) {
  EXPECT_EQ(parse_batch_policy("adaptiv").error().message,
            "there is no batch policy \"adaptiv\": it is one of fixed, linear, capped and "
            "adaptive. Did you mean adaptive?");
}

}  // namespace
}  // namespace edl::model
