#include "edl/collective/elements.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "edl/base/random.h"

namespace edl::collective {
namespace {

// The nearest of all 65,536, ties to even: slow and plain.
template <class Value>
std::uint16_t nearest(float wanted, Value value, std::uint16_t infinity) {
  std::uint16_t best = 0;
  double distance = INFINITY;
  for (std::uint32_t bits = 0; bits < infinity; ++bits) {
    const double off = std::abs(static_cast<double>(value(static_cast<std::uint16_t>(bits))) -
                                std::abs(static_cast<double>(wanted)));
    if (off < distance || (off == distance && bits % 2 == 0)) {
      distance = off;
      best = static_cast<std::uint16_t>(bits);
    }
  }
  return static_cast<std::uint16_t>(best | (std::signbit(wanted) ? 0x8000 : 0));
}

TEST(Elements, every_small_number_comes_back) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto small = static_cast<std::uint16_t>(bits);
    if (!std::isnan(f16_value(small))) {
      EXPECT_EQ(f16_bits(f16_value(small)), small);
    } else {
      EXPECT_TRUE(std::isnan(f16_value(f16_bits(f16_value(small)))));
    }
    if (!std::isnan(bf16_value(small))) {
      EXPECT_EQ(bf16_bits(bf16_value(small)), small);
    } else {
      EXPECT_TRUE(std::isnan(bf16_value(bf16_bits(bf16_value(small)))));
    }
  }
}

TEST(Elements, rounding_is_to_the_nearest_and_ties_to_even) {
  Random random(1);
  for (int i = 0; i < 300; ++i) {
    const float scale = std::ldexp(1.0F, static_cast<int>(random.between(-26, 15)));
    const float value = scale * static_cast<float>(random.between(-2000, 2000)) / 1024;
    if (std::abs(value) < 65504) {
      EXPECT_EQ(f16_bits(value), nearest(value, f16_value, 0x7c00)) << value;
    }
    EXPECT_EQ(bf16_bits(value), nearest(value, bf16_value, 0x7f80)) << value;
  }
  EXPECT_EQ(f16_bits(65519.0F), 0x7bff);
  EXPECT_EQ(f16_bits(65520.0F), 0x7c00);
  EXPECT_EQ(f16_bits(-INFINITY), 0xfc00);
  EXPECT_EQ(f16_bits(0x1p-25F), 0x0000);  // a tie, to even
  EXPECT_EQ(f16_bits(0x1.8p-24F), 0x0002);
}

TEST(Elements, sums_do_not_depend_on_alignment) {
  Random random(2);
  for (const Element element : {Element::kF32, Element::kF64, Element::kI64}) {
    const std::size_t bytes = 37 * element_bytes(element);
    Bytes left(bytes + 8);
    Bytes right(bytes + 8);
    for (std::size_t i = 0; i < bytes; ++i) {
      left[i] = static_cast<std::byte>(random.below(64));
      right[i] = static_cast<std::byte>(random.below(64));
    }
    Bytes expected(bytes);
    add(element, ConstBytes(left).first(bytes), ConstBytes(right).first(bytes), expected);
    for (std::size_t shift = 1; shift < 8; ++shift) {
      Bytes moved(bytes + 8);
      std::memcpy(moved.data() + shift, left.data(), bytes);
      const ByteSpan place = ByteSpan(moved).subspan(shift, bytes);
      add(element, place, ConstBytes(right).first(bytes), place);  // onto itself
      EXPECT_EQ(copy_bytes(place), expected);
    }
  }
}

TEST(Elements, small_numbers_are_added_wide_and_rounded_once) {
  // 2048 + 1 + 1: in float16 each step would round back to 2048.
  const std::uint16_t parts[] = {f16_bits(2048), f16_bits(1), f16_bits(1)};
  std::array<float, 3> wide{};
  widen(Element::kF16, std::as_bytes(std::span(parts)), std::as_writable_bytes(std::span(wide)));
  const float sum = wide[0] + wide[1] + wide[2];
  std::uint16_t rounded = 0;
  narrow(Element::kF16, std::as_bytes(std::span(&sum, 1)),
         std::as_writable_bytes(std::span(&rounded, 1)));
  EXPECT_EQ(f16_value(rounded), 2050.0F);
}

// One number after the other, in the order that the header promises.
template <class T>
void expect_folds(Element element, float share, bool has_other) {
  Random random(7);
  for (const std::size_t count : {0, 1, 15, 16, 17, 64, 1000}) {
    for (std::size_t others = 0; others <= 6; ++others) {
      const auto some = [&] {
        std::vector<T> out(count);
        for (T& one : out) one = static_cast<T>(static_cast<double>(random.below(1 << 20)) / 3);
        return out;
      };
      const std::vector<T> numbers = some();
      const std::vector<T> other = some();
      const float other_share = element == Element::kI64 ? 1 : share * 3;
      std::vector<std::vector<T>> sums;
      std::vector<const std::byte*> places;
      for (std::size_t i = 0; i < others; ++i) sums.push_back(some());
      for (const auto& sum : sums) places.push_back(std::as_bytes(std::span(sum)).data());
      std::vector<T> expected(count);
      for (std::size_t i = 0; i < count; ++i) {
        expected[i] = numbers[i] * static_cast<T>(share);
        if (has_other) {
          const T product = other[i] * static_cast<T>(other_share);
          expected[i] = expected[i] + product;
        }
        for (const auto& sum : sums) expected[i] = expected[i] + sum[i];
      }
      std::vector<T> apart(count);
      std::vector<T>& into = sums.empty() ? apart : sums.back();  // often it is the last of them
      Addends addends{.one = {std::as_bytes(std::span(numbers)).data(), share}, .sums = places};
      if (has_other) addends.other = {std::as_bytes(std::span(other)).data(), other_share};
      fold(element, addends, std::as_writable_bytes(std::span(into)));
      EXPECT_EQ(into, expected) << count << " with " << others;
    }
  }
}

TEST(Elements, folding_is_multiplying_and_adding_in_order) {
  for (const bool has_other : {false, true}) {
    expect_folds<float>(Element::kF32, 0.1F, has_other);
    expect_folds<double>(Element::kF64, 0.1F, has_other);
    expect_folds<std::uint64_t>(Element::kI64, 1, has_other);
  }
}

TEST(Elements, a_squared_norm_is_the_sum_of_squares) {
  const std::vector<float> f32{3, -4, 0.5, 12, 0, 1, 1, 1, 1, 2};
  EXPECT_DOUBLE_EQ(squared_norm(Element::kF32, std::as_bytes(std::span(f32))), 177.25);
  const std::vector<double> f64{1e200, 2};
  EXPECT_EQ(squared_norm(Element::kF64, std::as_bytes(std::span(f64))),
            std::numeric_limits<double>::infinity());
  const std::vector<std::uint16_t> bf16{bf16_bits(3), bf16_bits(-4)};
  EXPECT_DOUBLE_EQ(squared_norm(Element::kBf16, std::as_bytes(std::span(bf16))), 25);
  const std::vector<std::uint16_t> f16{f16_bits(0.5F), f16_bits(2)};
  EXPECT_DOUBLE_EQ(squared_norm(Element::kF16, std::as_bytes(std::span(f16))), 4.25);
  EXPECT_DOUBLE_EQ(squared_norm(Element::kF32, {}), 0);
}

}  // namespace
}  // namespace edl::collective
