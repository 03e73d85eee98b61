#include "edl/data/idx.h"

#include <gtest/gtest.h>

namespace edl::data {
namespace {

Bytes bytes(std::initializer_list<int> values) {
  Bytes out;
  for (const int value : values) out.push_back(static_cast<std::byte>(value));
  return out;
}

template <class Value>
std::vector<Value> row(const Array& array, std::uint64_t i) {
  std::vector<Value> out(row_bytes(array) / sizeof(Value));
  copy_row(array, i, std::as_writable_bytes(std::span(out)));
  return out;
}

std::string refusal(const Bytes& file) {
  const auto array = parse_idx(file);
  return array.ok() ? "" : array.error().message;
}

TEST(Idx, rows_are_where_the_header_says) {
  const Bytes file = bytes({0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 3, 1, 2, 3, 4, 5, 255});
  const Array array = parse_idx(file).value();
  EXPECT_EQ(array.dtype, Dtype::kU8);
  EXPECT_EQ(array.shape, (Shape{2, 1, 3}));
  EXPECT_EQ(row<std::uint8_t>(array, 0), (std::vector<std::uint8_t>{1, 2, 3}));
  EXPECT_EQ(row<std::uint8_t>(array, 1), (std::vector<std::uint8_t>{4, 5, 255}));
}

TEST(Idx, numbers_of_several_bytes_are_turned_around) {
  const Bytes whole = bytes({0, 0, 12, 1, 0, 0, 0, 2, 0, 0, 1, 2, 255, 255, 255, 254});
  const Array array = parse_idx(whole).value();
  EXPECT_EQ(row<std::int32_t>(array, 0), std::vector<std::int32_t>{258});
  EXPECT_EQ(row<std::int32_t>(array, 1), std::vector<std::int32_t>{-2});
  const Bytes real = bytes({0, 0, 13, 2, 0, 0, 0, 1, 0, 0, 0, 2, 0x3F, 0xC0, 0, 0, 0xC0, 0, 0, 0});
  EXPECT_EQ(row<float>(parse_idx(real).value(), 0), (std::vector<float>{1.5f, -2.0f}));
}

TEST(Idx, what_does_not_fit_its_header_is_refused) {
  EXPECT_NE(refusal(bytes({0, 0, 8})).find("not IDX"), std::string::npos);
  EXPECT_NE(refusal(bytes({1, 0, 8, 0})).find("not IDX"), std::string::npos);
  EXPECT_NE(refusal(bytes({0, 0, 10, 0, 1})).find("type of numbers 10"), std::string::npos);
  EXPECT_NE(refusal(bytes({0, 0, 8, 2, 0, 0, 0, 1})).find("inside its IDX header"),
            std::string::npos);
  const std::string cut = refusal(bytes({0, 0, 8, 1, 0, 0, 0, 3, 1, 2}));
  EXPECT_NE(cut.find("2 bytes"), std::string::npos) << cut;
  EXPECT_NE(refusal(bytes({0, 0, 8, 1, 0, 0, 0, 3, 1, 2, 3, 4})).find("4 bytes"),
            std::string::npos);
}

TEST(Idx, sizes_whose_product_overflows_are_refused) {
  Bytes file = bytes({0, 0, 8, 8});
  for (int i = 0; i < 8; ++i) {
    for (const int one : {1, 0, 0, 0}) file.push_back(static_cast<std::byte>(one));
  }
  EXPECT_NE(refusal(file).find("more bytes than there can be"), std::string::npos);
  // One size of 0 does not hide the others.
  std::fill_n(file.begin() + 4, 4, std::byte{0});
  EXPECT_NE(refusal(file).find("more bytes than there can be"), std::string::npos);
}

TEST(Idx, more_dimensions_than_the_limit_are_refused) {
  Bytes file = bytes({0, 0, 8, 33});
  for (int i = 0; i < 33; ++i) {
    for (const int one : {0, 0, 0, 1}) file.push_back(static_cast<std::byte>(one));
  }
  file.push_back(std::byte{7});
  EXPECT_NE(refusal(file).find("33 dimensions"), std::string::npos) << refusal(file);
}

}  // namespace
}  // namespace edl::data
