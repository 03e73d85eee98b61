#include "edl/data/csv.h"

#include <gtest/gtest.h>

namespace edl::data {
namespace {

template <class Value>
std::vector<Value> numbers(const Array& array) {
  std::vector<Value> out(array.bytes.size() / sizeof(Value));
  std::memcpy(out.data(), array.bytes.data(), array.bytes.size());
  return out;
}

std::string refusal(std::string_view words, const CsvOptions& options = {}) {
  const auto array = parse_csv(words, options);
  return array.ok() ? "" : array.error().message;
}

TEST(Csv, lines_are_rows) {
  const Array array = parse_csv("1,2.5,-3e2\n 4 , +5,\"6\"\r\n\n7,8,9", {}).value();
  EXPECT_EQ(array.dtype, Dtype::kF32);
  EXPECT_EQ(array.shape, (Shape{3, 3}));
  EXPECT_EQ(numbers<float>(array), (std::vector<float>{1, 2.5f, -300, 4, 5, 6, 7, 8, 9}));
}

TEST(Csv, a_header_is_passed_over_and_columns_are_chosen) {
  CsvOptions options{.has_header = true, .separator = '\t', .columns = {2, 0}};
  const std::string_view words =
      "\xEF\xBB\xBF"
      "a\tb\tc\n1\tx\t3\n4\t\t6\n";
  EXPECT_EQ(numbers<float>(parse_csv(words, options).value()), (std::vector<float>{3, 1, 6, 4}));
  options.columns = {2};
  options.dtype = Dtype::kI64;
  const Array labels = parse_csv(words, options).value();
  EXPECT_EQ(labels.shape, Shape{2});
  EXPECT_EQ(numbers<std::int64_t>(labels), (std::vector<std::int64_t>{3, 6}));
}

TEST(Csv, an_empty_first_field_moves_no_other) {
  const CsvOptions options{.separator = '\t', .columns = {1}};
  EXPECT_EQ(numbers<float>(parse_csv("\t1\t2\n3\t4\t5\n", options).value()),
            (std::vector<float>{1, 4}));
}

TEST(Csv, a_wrong_field_is_told_by_line_and_column) {
  EXPECT_EQ(refusal("1,2\n\n3,x\n"), "line 3, column 2: \"x\" is not a number");
  EXPECT_EQ(refusal("1,2\n3,\n"), "line 2, column 2: \"\" is not a number");
  EXPECT_EQ(refusal("1,2\n3,4 5\n"), "line 2, column 2: \"4 5\" is not a number");
  EXPECT_EQ(refusal("1,2\n3\n"), "line 2: has 1 columns, but the first row has 2");
  EXPECT_EQ(refusal("1\n2.5\n", {.dtype = Dtype::kI64}),
            "line 2, column 1: \"2.5\" is not a whole number");
  EXPECT_EQ(refusal("width,height\n1,2\n"),
            "line 1, column 1: \"width\" is not a number; if this line names the columns, set "
            "has_header");
  EXPECT_EQ(refusal("1\n1e39\n"),
            "line 2, column 1: \"1e39\" is too large for float32; read it as kF64");
  EXPECT_EQ(refusal("1\n1e39\n", {.dtype = Dtype::kF64}), "");
  EXPECT_NE(refusal("1\n1e400\n", {.dtype = Dtype::kF64}), "");
}

TEST(Csv, what_cannot_be_read_at_all_is_refused) {
  EXPECT_EQ(refusal("1,2\n", {.columns = {2}}), "line 1: has 2 columns; there is no column 3");
  EXPECT_EQ(refusal("a,b\n", {.has_header = true}), "has no rows of numbers");
  EXPECT_EQ(refusal(""), "has no rows of numbers");
  EXPECT_NE(refusal("1,2\n", {.bytes_max = 3}).find("has 4 bytes; the limit is 3"),
            std::string::npos);
  EXPECT_NE(refusal("1\n", {.dtype = Dtype::kU8}).find("not as uint8"), std::string::npos);
}

}  // namespace
}  // namespace edl::data
