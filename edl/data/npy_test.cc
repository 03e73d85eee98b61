#include "edl/data/npy.h"

#include <gtest/gtest.h>

#include "edl/base/text.h"

namespace edl::data {
namespace {

std::string number_text(std::uint64_t value, std::size_t width) {
  std::string out;
  for (std::size_t i = 0; i < width; ++i) out += static_cast<char>(value >> 8 * i & 0xFF);
  return out;
}

std::string npy(int version, const std::string& header, const std::string& numbers) {
  return "\x93NUMPY" + number_text(static_cast<std::uint64_t>(version), 1) + number_text(0, 1) +
         number_text(header.size(), version == 1 ? 2 : 4) + header + numbers;
}

std::string header(const std::string& descr, const std::string& shape,
                   const std::string& order = "False") {
  return text("{'descr': '", descr, "', 'fortran_order': ", order, ", 'shape': ", shape,
              ", }   \n");
}

std::string refusal(const std::string& file) {
  const auto array = parse_npy(bytes_of(file));
  return array.ok() ? "" : array.error().message;
}

bool is_refused_for(const std::string& file, std::string_view why) {
  return refusal(file).find(why) != std::string::npos;
}

TEST(Npy, all_versions_are_read) {
  for (const int version : {1, 2, 3}) {
    const std::string file =
        npy(version, header("<i2", "(2, 3)"), std::string("\1\0\2\0\3\0\4\0\5\0\6\1", 12));
    const Array array = parse_npy(bytes_of(file)).value();
    EXPECT_EQ(array.dtype, Dtype::kI16);
    EXPECT_EQ(array.shape, (Shape{2, 3}));
    std::vector<std::int16_t> row(3);
    copy_row(array, 1, std::as_writable_bytes(std::span(row)));
    EXPECT_EQ(row, (std::vector<std::int16_t>{4, 5, 262})) << version;
  }
}

TEST(Npy, shapes_are_those_of_python) {
  const auto shape_of = [](const std::string& shape, std::size_t bytes) {
    const std::string file = npy(1, header("|u1", shape), std::string(bytes, 'x'));
    return parse_npy(bytes_of(file)).value().shape;
  };
  EXPECT_EQ(shape_of("()", 1), Shape{});
  EXPECT_EQ(shape_of("(3,)", 3), Shape{3});
  EXPECT_EQ(shape_of("(3L, 2L)", 6), (Shape{3, 2}));
  EXPECT_EQ(shape_of("(0, 4)", 0), (Shape{0, 4}));
}

TEST(Npy, keys_come_in_any_order) {
  const std::string file =
      npy(1, "{\"shape\": (1,), \"fortran_order\": True, \"descr\": \"<f8\"}", "12345678");
  EXPECT_EQ(parse_npy(bytes_of(file)).value().dtype, Dtype::kF64);
}

TEST(Npy, what_is_not_read_is_refused_with_the_call_that_helps) {
  EXPECT_TRUE(is_refused_for(npy(1, header("<f4", "(2, 2)", "True"), std::string(16, 'x')),
                             "ascontiguousarray"));
  EXPECT_TRUE(is_refused_for(npy(1, header(">f4", "(1,)"), "1234"), "astype('<f4')"));
  EXPECT_TRUE(is_refused_for(npy(1, header("<u4", "(1,)"), "1234"), "'<i8' for labels"));
  EXPECT_TRUE(is_refused_for(npy(1, header("|O", "(1,)"), "1234"), "\"|O\""));
  const std::string fields = "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }";
  EXPECT_TRUE(is_refused_for(npy(1, fields, "1234"), "array[FIELD]"));
  EXPECT_TRUE(is_refused_for(npy(4, header("<f4", "(1,)"), "1234"), "version 4"));
}

TEST(Npy, what_does_not_fit_its_header_is_refused) {
  EXPECT_TRUE(is_refused_for(npy(1, header("<f4", "(2,)"), "1234"), "4 bytes"));
  EXPECT_TRUE(is_refused_for(npy(1, header("<f4", "(1,)"), "12345"), "5 bytes"));
  EXPECT_TRUE(is_refused_for(npy(1, header("<f4", "(4294967296, 4294967296)"), "1234"),
                             "more bytes than there can be"));
  EXPECT_TRUE(
      is_refused_for(npy(1, header("<f4", "(99999999999999999999,)"), "1234"), "no number"));
  EXPECT_TRUE(is_refused_for(npy(1, header("<f4", "(-1,)"), "1234"), "no number"));
}

TEST(Npy, a_broken_header_is_refused) {
  EXPECT_TRUE(is_refused_for("\x93NUMPX", "not NPY"));
  const std::string whole = npy(2, header("<f4", "(1,)"), "1234");
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_NE(refusal(whole.substr(0, length)), "") << length;
  }
  EXPECT_EQ(refusal(whole), "");
  EXPECT_TRUE(is_refused_for(npy(1, "{'descr': '<f4', 'shape': (1,)}", "1234"), "missing"));
  EXPECT_TRUE(is_refused_for(npy(1, "{'descr': '<f4', 'colour': 3}", "1234"), "colour"));
  EXPECT_TRUE(is_refused_for(npy(1, header("<f4", "(1,)") + "x", "1234"), "follows"));
  EXPECT_TRUE(is_refused_for(npy(2, std::string(70000, ' '), ""), "the limit is 65536"));
}

}  // namespace
}  // namespace edl::data
