#include "edl/torch/arrays.h"

#include <gtest/gtest.h>

namespace edl::torch {
namespace {

using data::Dtype;

// An array that owns copies of these numbers.
template <class Value>
data::Array array(const std::string& name, Dtype dtype, data::Shape shape,
                  const std::vector<Value>& numbers) {
  const auto owned = std::make_shared<const Bytes>(copy_bytes(std::as_bytes(std::span(numbers))));
  data::Array out = data::array_over(dtype, std::move(shape), *owned).value();
  out.owner = owned;
  out.name = name;
  return out;
}

data::Array images() {
  return array<std::uint8_t>("images", Dtype::kU8, {3, 2, 2},
                             {0, 51, 102, 255, 1, 2, 3, 4, 5, 6, 7, 8});
}
data::Array labels() { return array<std::uint8_t>("labels", Dtype::kU8, {3}, {7, 8, 9}); }

bool is_same(const ::torch::Tensor& one, const ::torch::Tensor& other) {
  return one.scalar_type() == other.scalar_type() && one.equal(other);
}

std::string refusal(const Result<data::Array>& x, const Result<data::Array>& y) {
  const auto made = arrays(x, y);
  return made.ok() ? "" : made.error().message;
}

TEST(Arrays, samples_come_as_asked_for_in_any_order) {
  const auto set = arrays(images(), labels()).value();
  EXPECT_EQ(set->size(), 3u);
  const std::vector<std::uint64_t> samples{2, 0, 2};
  const Batch batch = set->batch(samples, {}).value();
  EXPECT_TRUE(is_same(
      batch.x, ::torch::tensor({5.f, 6.f, 7.f, 8.f, 0.f, 51.f, 102.f, 255.f, 5.f, 6.f, 7.f, 8.f})
                   .view({3, 2, 2})));
  EXPECT_TRUE(is_same(batch.y, ::torch::tensor({9, 7, 9}, ::torch::kInt64)));
}

TEST(Arrays, x_is_scaled) {
  const auto set = arrays(images(), labels(), {.x_scale = 1.0 / 255}).value();
  const Batch batch = whole(*set).value();
  EXPECT_EQ(batch.x.sizes(), (std::vector<std::int64_t>{3, 2, 2}));
  EXPECT_FLOAT_EQ(batch.x[0][0][1].item<float>(), 0.2f);
  EXPECT_FLOAT_EQ(batch.x[0][1][1].item<float>(), 1);
  EXPECT_EQ(batch.y.size(0), 3);
}

TEST(Arrays, types_that_can_be_trained_on_stay_as_they_are) {
  const auto words = array<std::int64_t>("words", Dtype::kI64, {2, 2}, {1, 2, 3, 1LL << 40});
  const auto targets = array<double>("targets", Dtype::kF64, {2, 1}, {0.5, -1});
  const Batch batch = whole(*arrays(words, targets).value()).value();
  EXPECT_TRUE(
      is_same(batch.x, ::torch::tensor({1L, 2L, 3L, 1L << 40}, ::torch::kInt64).view({2, 2})));
  EXPECT_TRUE(is_same(batch.y, ::torch::tensor({0.5, -1.0}, ::torch::kFloat64).view({2, 1})));
}

TEST(Arrays, narrow_types_are_widened) {
  const auto halves = array<std::uint16_t>("halves", Dtype::kF16, {2}, {0x3C00, 0xC000});
  const auto shorts = array<std::int16_t>("shorts", Dtype::kI16, {2}, {-3, 300});
  const Batch batch = whole(*arrays(halves, shorts).value()).value();
  EXPECT_TRUE(is_same(batch.x, ::torch::tensor({1.f, -2.f})));
  EXPECT_TRUE(is_same(batch.y, ::torch::tensor({-3, 300}, ::torch::kInt64)));
}

TEST(Arrays, what_is_no_data_set_is_refused_with_the_names_of_the_files) {
  const auto two = array<std::uint8_t>("two labels", Dtype::kU8, {2}, {1, 2});
  EXPECT_EQ(refusal(images(), two),
            "images has 3 samples, but two labels has 2: each sample needs a row in both");
  EXPECT_EQ(refusal(images(), array<std::uint8_t>("one", Dtype::kU8, {}, {1})),
            "one: is one number; a data set has rows");
  EXPECT_EQ(refusal(array<std::uint8_t>("none", Dtype::kU8, {0, 4}, {}), labels()),
            "none: has no samples");
  EXPECT_EQ(refusal(data::idx_file("/nowhere/x"), data::idx_file("/nowhere/y")),
            "cannot open /nowhere/x: No such file or directory");
  EXPECT_EQ(refusal(images(), data::idx_file("/nowhere/y")),
            "cannot open /nowhere/y: No such file or directory");
}

}  // namespace
}  // namespace edl::torch
